"""Matrix products: NumPy's library on one thread, large products divided among ours.

OpenBLAS lets its threads spin while they wait for each other. Several tasks on one machine, or several steps
in one process, then take each other's cores: small products were seen to take ten times as long. So the
library gets one thread in processes that run graphs, and a product that is worth it is divided among the
threads of the kernels, which sleep when they have nothing to do.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np

from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import in_parallel, split, thread_count

log = logging.getLogger(__name__)

THREADS_VARIABLE = "TENSORFLEET_BLAS_THREADS"
LARGE_PRODUCT = 2**34
"""The product of two matrices' sizes from which dividing pays: some 25 million multiplications, 0.2 ms."""

_PREFIXES = ("", "scipy_")
_SUFFIXES = ("", "64_")


@functools.cache
def limit_threads() -> bool:
    """Gives the OpenBLAS that NumPy brought along one thread, or as many as THREADS_VARIABLE says.

    Returns whether that could be arranged: with another library, products are left to its own threads.
    """
    count = int(os.environ.get(THREADS_VARIABLE, "1"))
    package = Path(np.__file__).parent
    for path in (*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")):
        library = ctypes.CDLL(str(path))
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                name = f"{prefix}openblas_set_num_threads{suffix}"
                if hasattr(library, name):
                    getattr(library, name)(count)
                    return count == 1
    log.debug("NumPy's matrix products keep their own number of threads")
    return False


def large_product(a: Any, b: Any) -> Any:
    """The product of two large matrices, by rows or columns on several threads."""
    if type(a) is not np.ndarray or thread_count() < 2 or not limit_threads() or a.shape[1] != b.shape[0]:
        return a @ b
    rows, columns = a.shape[0], b.shape[1]
    if max(rows, columns) < 2 * thread_count():
        return a @ b
    result = empty((rows, columns), np.result_type(a, b))
    if rows >= columns:

        def run(part: tuple[int, int]) -> None:
            np.matmul(a[part[0] : part[1]], b, out=result[part[0] : part[1]])
    else:

        def run(part: tuple[int, int]) -> None:
            np.matmul(a, b[:, part[0] : part[1]], out=result[:, part[0] : part[1]])

    in_parallel(run, split(max(rows, columns), 2 * thread_count()))
    return result
