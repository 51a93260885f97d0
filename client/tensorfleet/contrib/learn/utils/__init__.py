"""`tf.contrib.learn.utils`: inputs of served models."""

import typing as _typing

from tensorfleet.contrib.learn.utils import input_fn_utils as input_fn_utils

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("input_fn_utils",))

__all__ = ["input_fn_utils"]
