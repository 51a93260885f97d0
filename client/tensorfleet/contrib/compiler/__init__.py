"""`tf.contrib.compiler`: there is no compiler to choose."""

import typing as _typing

from tensorfleet.contrib.compiler import jit as jit, xla as xla

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "jit",
            "xla",
        ),
    )

__all__ = ["jit", "xla"]
