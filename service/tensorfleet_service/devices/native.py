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

from tensorfleet_service.devices.blocks import thread_count

log = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_NATIVE"


INTERFACE = 3
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


def takes(*arrays: Any) -> bool:
    """Whether the compiled kernels are installed and take these arrays, of which the first must be large."""
    return (
        native is not None
        and arrays[0].size >= LEAST
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


def description() -> str:
    """The kernels that this process has, for people: "NumPy", or "NumPy and compiled (AVX2)"."""
    return "NumPy" if native is None else f"NumPy and compiled ({native.INSTRUCTION_SET})"
