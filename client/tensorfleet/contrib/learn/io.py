"""`tf.contrib.learn.io`: arrays and data frames as input functions."""

import typing as _typing

from tensorfleet.contrib.array_inputs import (
    extract_pandas_data as extract_pandas_data,
    extract_pandas_labels as extract_pandas_labels,
    extract_pandas_matrix as extract_pandas_matrix,
    numpy_input_fn as numpy_input_fn,
    pandas_input_fn as pandas_input_fn,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
