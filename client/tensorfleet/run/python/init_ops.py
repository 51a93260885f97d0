"""What is private in `tensorflow.python.ops.init_ops`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType


def assert_float_dtype(dtype: Any) -> DType:
    """The dtype. Raises ValueError if it is not floating point."""
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found
