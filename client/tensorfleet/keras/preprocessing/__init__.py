"""`tf.keras.preprocessing`: images, sequences and texts as arrays."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from tensorfleet.keras.preprocessing import (
        image as image,
        sequence as sequence,
        text as text,
    )
else:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "image",
            "sequence",
            "text",
        ),
    )
