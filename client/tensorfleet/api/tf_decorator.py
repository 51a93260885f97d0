"""`tf.flags.tf_decorator`: wrappers of functions that can be found, taken off and put around others again."""

import typing as _typing

from tensorfleet.api.decorators import (
    TFDecorator as TFDecorator,
    fullargspec_to_signature as fullargspec_to_signature,
    make_decorator as make_decorator,
    rewrap as rewrap,
    unwrap as unwrap,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
