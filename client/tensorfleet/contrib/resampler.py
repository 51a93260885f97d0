"""`tf.contrib.resampler`: images at places between pixels."""

import typing as _typing

from tensorfleet.contrib.nn_functions import resampler as resampler

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["resampler"]
