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
from tensorfleet_service.devices.blocks import MOST_AT_ONCE, thread_count

log = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_NATIVE"


INTERFACE = 10
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


def add_rows(table: Any, places: Any, updates: Any, subtracted: bool = False) -> bool:
    """Adds updates [n, …] to the rows of a table at `places` [n], in their order; False if NumPy has to.

    Args:
        subtracted: they are taken away from the rows.

    Raises:
        ValueError: an index in `places` is outside of the table.
    """
    if not takes(updates, table):
        return False
    count = places.size
    width = updates.size // count
    rows = np.ascontiguousarray(places, np.int64)
    native.add_rows(table, rows, updates, len(table), count, width, subtracted, thread_count())
    return True


MOST_LEFT = 1 << 20
"""The most elements of the first operand of a product of any shape.

Beyond, NumPy's library, which copies blocks of both operands, is 10 to 20 percent faster with AVX2, and where
the first has to be turned, from twice as many on with AVX-512, too.
"""

SHORT_SIDE = 1 << 9
"""The most rows, or columns, of a product whose first operand is larger than that."""

LEAST_PRODUCT = 1 << 14
"""Number of multiplications of a product from which a call pays."""

LEAST_SIDE, LEAST_OF_NARROW = 4, 1 << 21
"""A result of fewer rows or columns is NumPy's up to so many multiplications, as nothing is copied there; one
of a single row or column is so always."""

DIVIDED_PRODUCT = 1 << 22
"""Number of multiplications from which a product is divided among threads: 40 us for each of two.

A thread that still spins comes within a few of them; to wake one takes as long as its part.
"""


AS_IT_IS, TRANSPOSED, PANELS = range(3)
"""Forms of the second operand of a product."""


def _takes_large(left: int, rows: int, columns: int, a_is_turned: bool) -> bool:
    is_wide = bool(native.INSTRUCTION_SET == "AVX-512")
    if a_is_turned:
        return is_wide and left <= 2 * MOST_LEFT
    return is_wide or min(rows, columns) <= SHORT_SIDE


def multiply(a: Any, b: Any, a_is_turned: bool, b_is_turned: bool, panels: Any = None) -> Any:
    """The product of two matrices, given transposed or not; None if NumPy has to compute it.

    Args:
        panels: what `pack` has made of b, if anything. It saves time, and changes no bit.
    """
    rows, inner = a.shape[::-1] if a_is_turned else a.shape
    other, columns = b.shape[::-1] if b_is_turned else b.shape
    work = rows * inner * columns
    if (
        work < LEAST_PRODUCT
        or native is None
        or inner != other
        or work > MOST_AT_ONCE
        or (a.size > MOST_LEFT and not _takes_large(a.size, rows, columns, a_is_turned))
        or (min(rows, columns) < LEAST_SIDE and (work < LEAST_OF_NARROW or min(rows, columns) < 2))
        or type(a) is not np.ndarray
        or type(b) is not np.ndarray
        or a.dtype != np.float32
        or b.dtype != np.float32
        or not (a.flags.c_contiguous and b.flags.c_contiguous)
    ):
        return None
    out = empty((rows, columns), np.float32)
    threads = thread_count() if work >= DIVIDED_PRODUCT else 1
    if panels is not None:
        native.multiply(a, panels, out, rows, inner, columns, a_is_turned, PANELS, threads)
    else:
        native.multiply(a, b, out, rows, inner, columns, a_is_turned, b_is_turned, threads)
    return out


MOST_PACKED = 1 << 22
"""The most elements of a matrix that is kept packed."""


def pack(b: Any, is_turned: bool) -> Any:
    """A matrix of float32 as products read it; None if they read it as it is.

    Products of few rows take up to a third of their time for that, so it pays where several share an operand.
    """
    if not takes(b) or b.ndim != 2 or b.size > MOST_PACKED:
        return None
    inner, columns = b.shape[::-1] if is_turned else b.shape
    width = native.PANEL_COLUMNS
    panels = empty((-(-columns // width), inner, width), np.float32)
    native.pack_matrix(b, panels, inner, columns, is_turned, thread_count())
    return panels


def description() -> str:
    """The kernels that this process has, for people: "NumPy", or "NumPy and compiled (AVX2)"."""
    return "NumPy" if native is None else f"NumPy and compiled ({native.INSTRUCTION_SET})"
