"""How many threads NumPy's matrix products use.

OpenBLAS divides one product among its threads, and products of several threads then get into each other's
way. Kernels that divide the work themselves ask for one thread each meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

_PREFIXES = ("", "scipy_")
_SUFFIXES = ("", "64_")


@functools.cache
def _controls() -> tuple[Callable[[int], None], Callable[[], int]] | None:
    """(set, get) the number of threads of the OpenBLAS that NumPy brought along; None without it."""
    package = Path(np.__file__).parent
    for path in (*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")):
        library = ctypes.CDLL(str(path))
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                set_name = f"{prefix}openblas_set_num_threads{suffix}"
                get_name = f"{prefix}openblas_get_num_threads{suffix}"
                if hasattr(library, set_name) and hasattr(library, get_name):
                    return getattr(library, set_name), getattr(library, get_name)
    return None


_lock = threading.Lock()
_users = 0
_before = 0


@contextlib.contextmanager
def one_blas_thread() -> Iterator[bool]:
    """Matrix products use one thread each, in the whole process; False where that cannot be arranged."""
    global _users, _before
    controls = _controls()
    if controls is None:
        yield False
        return
    set_threads, get_threads = controls
    with _lock:
        if not _users:
            _before = get_threads()
            set_threads(1)
        _users += 1
    try:
        yield True
    finally:
        with _lock:
            _users -= 1
            if not _users:
                set_threads(_before)
