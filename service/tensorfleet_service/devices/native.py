"""The compiled kernels of the distribution tensorfleet-kernels, where it is installed.

`native` is its module, or None: then NumPy computes everything. SWITCH=0 leaves it out. It takes contiguous
arrays of float32 and checks what it is given; whoever calls it sees to it that NumPy computes the rest.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

import numpy as np

log = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_NATIVE"


def _load() -> Any:
    if os.environ.get(SWITCH, "1") == "0":
        return None
    try:
        return importlib.import_module("tensorfleet_kernels._native")
    except ModuleNotFoundError:
        return None
    except ImportError as e:
        # A wheel for another C library or processor: slower, but no reason to fail.
        log.warning("tensorfleet-kernels cannot be loaded, NumPy computes in its place: %s", e)
        return None


native: Any = _load()

LEAST = 1 << 12
"""So many elements are worth a call: NumPy takes some microseconds for them in the simplest case."""


def takes(*arrays: Any) -> bool:
    """Whether the compiled kernels are there and are for these arrays, of which the first is a large one."""
    return (
        native is not None
        and arrays[0].size >= LEAST
        and all(type(a) is np.ndarray and a.dtype == np.float32 and a.flags.c_contiguous for a in arrays)
    )


def description() -> str:
    """Which kernels this process has, for people: "NumPy", or "NumPy and compiled (AVX2)"."""
    return "NumPy" if native is None else f"NumPy and compiled ({native.INSTRUCTION_SET})"
