"""`tf.estimator.inputs`: input functions of arrays and data frames."""

import typing as _typing

from tensorfleet.estimator.numpy_io import (
    numpy_input_fn as numpy_input_fn,
    pandas_input_fn as pandas_input_fn,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["numpy_input_fn", "pandas_input_fn"]
