"""The compiled kernels of the distribution tensorfleet-kernels, where it is installed.

`native` is its module, or None: then NumPy computes everything. SWITCH=0 leaves it out. It takes contiguous arrays
of float32 and checks what it is given; whoever calls it sees to it that NumPy computes the rest.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

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


def description() -> str:
    """Which kernels this process has, for people: "NumPy", or "NumPy and compiled (AVX2)"."""
    return "NumPy" if native is None else f"NumPy and compiled ({native.INSTRUCTION_SET})"
