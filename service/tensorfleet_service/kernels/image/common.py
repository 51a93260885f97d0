"""Checks and types that kernels of images share."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorfleet_service.kernels.values import invalid, shape_text

Array = np.ndarray[Any, Any]


def check_rank(value: Any, rank: int, name: str) -> None:
    if value.ndim != rank:
        raise invalid(f"{name} must be {rank}-dimensional, got shape {shape_text(value.shape)}")


def positive_size(size: Any, name: str = "size") -> tuple[int, int]:
    """Height and width.

    Raises:
        InvalidArgumentError: it is not a vector of two positive numbers.
    """
    if size.shape != (2,):
        raise invalid(f"{name} must be a vector of two elements, got shape {shape_text(size.shape)}")
    height, width = map(int, size)
    if height <= 0 or width <= 0:
        raise invalid(f"output dimensions must be positive: {name} is {height} x {width}")
    return height, width


def check_memory(shape: tuple[int, ...], dtype: Any) -> None:
    """Checks that there can be a result of this shape, before what is as long as its sides is made.

    Raises:
        InvalidArgumentError: it has more bytes than a number of 64 bits counts.
        MemoryError: there is no memory for it.
    """
    if prod(shape) * np.dtype(dtype).itemsize >= 1 << 63:
        raise invalid(f"A result of shape {shape_text(shape)} is too large")
    np.empty(shape, dtype)
