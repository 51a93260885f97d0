"""The compiled kernels of the distribution tensorfleet-kernels, if it is installed.

`native` is its module, or None if NumPy computes everything; SWITCH=0 disables it. Its functions take
contiguous arrays of float32, and check their arguments; for other arrays, their callers use NumPy.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

import numpy as np

from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import thread_count

log = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_NATIVE"


INTERFACE = 7
"""Version of the functions and arguments that this service calls; the module has the same number."""


def _load() -> Any:
    if os.environ.get(SWITCH, "1") == "0":
        return None
    try:
        module = importlib.import_module("tensorfleet_kernels._native")
    except ModuleNotFoundError:
        return None
    except ImportError as e:
        # Such as a wheel for another C library or processor. NumPy is slower, but works.
        log.warning("tensorfleet-kernels cannot be loaded, NumPy computes in its place: %s", e)
        return None
    if getattr(module, "INTERFACE", 1) != INTERFACE:
        log.warning(
            "tensorfleet-kernels is of another version than tensorfleet-service, NumPy computes in its place"
        )
        return None
    return module


native: Any = _load()

LEAST = 1 << 12
"""Number of elements from which a call pays: NumPy takes at least some microseconds for as many."""


def takes(*arrays: Any, least: int | None = None) -> bool:
    """Whether the compiled kernels are installed and take these arrays.

    The first must have `least` elements, where that is given, else LEAST.
    """
    return (
        native is not None
        and arrays[0].size >= (LEAST if least is None else least)
        and all(type(a) is np.ndarray and a.dtype == np.float32 and a.flags.c_contiguous for a in arrays)
    )


def takes_integers(array: Any) -> bool:
    """Whether the compiled kernels are installed and take this array of int32 or int64."""
    return (
        native is not None
        and type(array) is np.ndarray
        and array.size >= LEAST
        and array.dtype in (np.int32, np.int64)
        and array.flags.c_contiguous
    )


def add_rows(table: Any, places: Any, updates: Any) -> bool:
    """Adds updates [n, …] to the rows of a table at `places` [n], in their order; False if NumPy has to.

    Raises:
        ValueError: an index in `places` is outside of the table.
    """
    if not takes(updates, table):
        return False
    count = places.size
    width = updates.size // count
    rows = np.ascontiguousarray(places, np.int64)
    native.add_rows(table, rows, updates, len(table), count, width, thread_count())
    return True


MOST_LEFT = 3 << 16
"""The most elements of the first operand of a product, which is to stay in the second cache: beyond, NumPy's
library, which divides both operands, is faster."""

MOST_INNER = 1 << 10, 1 << 12
"""The greatest inner size of a product whose second operand is given as it is, or transposed. As it is, many
rows of it are read at a time, and the longer they are together, the less of each."""

LEAST_PRODUCT = 1 << 14
"""Number of multiplications of a product from which a call pays."""

DIVIDED_PRODUCT = 1 << 22
"""Number of multiplications from which a product is divided among threads: 50 us for each of two."""


def multiply(a: Any, b: Any, a_is_turned: bool, b_is_turned: bool) -> Any:
    """The product of two matrices, given transposed or not; None if NumPy has to compute it."""
    rows, inner = a.shape[::-1] if a_is_turned else a.shape
    other, columns = b.shape[::-1] if b_is_turned else b.shape
    work = rows * inner * columns
    if (
        work < LEAST_PRODUCT
        or native is None
        or inner != other
        or inner > MOST_INNER[b_is_turned]
        or a.size > MOST_LEFT
        or type(a) is not np.ndarray
        or type(b) is not np.ndarray
        or a.dtype != np.float32
        or b.dtype != np.float32
        or not (a.flags.c_contiguous and b.flags.c_contiguous)
    ):
        return None
    out = empty((rows, columns), np.float32)
    threads = thread_count() if work >= DIVIDED_PRODUCT else 1
    native.multiply(a, b, out, rows, inner, columns, a_is_turned, b_is_turned, threads)
    return out


def description() -> str:
    """The kernels that this process has, for people: "NumPy", or "NumPy and compiled (AVX2)"."""
    return "NumPy" if native is None else f"NumPy and compiled ({native.INSTRUCTION_SET})"
