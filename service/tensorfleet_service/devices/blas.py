"""Matrix products: NumPy's library on one thread, and large products divided among the kernels' threads.

OpenBLAS lets its threads spin while they wait for each other. Several tasks on one machine, or several steps
in one process, then take each other's cores: small products were seen to take ten times as long. So the
library gets one thread in processes that run graphs, and large products are divided among the threads of the
kernels, which sleep when they have nothing to do.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import threading
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tensorfleet.core.environment import integer
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import MOST_AT_ONCE, in_parallel, split, thread_count
from tensorfleet_service.threads import unlocked

log = logging.getLogger(__name__)

THREADS_VARIABLE = "TENSORFLEET_BLAS_THREADS"
LARGE_PRODUCT = 1 << 24
"""Number of multiplications from which dividing a product pays: 0.4 ms at 90 GFLOP/s, 2 ms at 18.

Handing a part to another thread, and packing the other operand again for it, takes some 0.05 ms. If that
thread has no core, as another task uses it, the product takes that much longer.
"""

LEAST_PART = 1 << 22
"""The least number of multiplications in a part of a product."""

WARM_SHAPES = ((320, 320, 320), (512, 320, 512))
"""Rows, inner size and columns of the first products.

Together they touch all parts of the library's buffer that later products of up to 512 rows use; which parts a
product uses depends on its shape.
"""

WARM_SECONDS = 5.0
"""Limit on the time for which the threads of the first products wait for each other, in seconds."""

_PREFIXES = ("", "scipy_")
_SUFFIXES = ("", "64_")


@functools.cache
def limit_threads() -> bool:
    """Gives NumPy's OpenBLAS one thread, or as many as THREADS_VARIABLE says.

    Returns whether that was possible; another library keeps its own threads.
    """
    count = integer(THREADS_VARIABLE, 1)
    package = Path(np.__file__).parent
    for path in (*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")):
        library = ctypes.CDLL(str(path))
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                name = f"{prefix}openblas_set_num_threads{suffix}"
                if hasattr(library, name):
                    getattr(library, name)(count)
                    if count == 1:
                        warm_up()
                    return count == 1
    log.debug("NumPy's matrix products keep their own number of threads")
    return False


def warm_up() -> None:
    """Computes products on as many threads at once as will do so later.

    OpenBLAS packs operands into a buffer for each call under way, of memory that is mapped but not yet
    touched. Its kernels were seen to compute small products at a quarter to half of their rate until a larger
    one had been computed: they prefetch beyond the packed data, and a page that is not there costs a walk
    through the page tables each time, which is slow on a virtual machine.
    """
    count = thread_count()
    together = threading.Barrier(count)

    def multiply() -> None:
        operands = [(np.ones((m, k), np.float32), np.ones((k, n), np.float32)) for m, k, n in WARM_SHAPES]
        try:
            together.wait(WARM_SECONDS)
        except threading.BrokenBarrierError:
            log.debug("the first products were not made at the same time")
        for a, b in operands:
            np.matmul(a, b)

    threads = []
    try:
        for _ in range(count - 1):
            thread = threading.Thread(target=multiply, daemon=True)
            thread.start()
            threads.append(thread)
    except RuntimeError:
        together.abort()  # no more threads can be started: those that there are go on
    multiply()
    for thread in threads:
        thread.join()


def large_product(a: Any, b: Any) -> Any:
    """The product of two large matrices, by rows or columns on several threads."""
    if type(a) is not np.ndarray or a.shape[1] != b.shape[0]:
        return a @ b
    rows, columns = a.shape[0], b.shape[1]
    parts = _parts(max(rows, columns), rows * columns * a.shape[1])
    if parts < 2 or (not _is_long(parts) and (thread_count() < 2 or not limit_threads())):
        return unlocked.matmul(a, b)
    result = empty((rows, columns), np.result_type(a, b))
    run: Callable[[tuple[int, int]], None]
    if rows >= columns:

        def run(part: tuple[int, int]) -> None:
            unlocked.matmul(a[part[0] : part[1]], b, result[part[0] : part[1]])
    else:

        def run(part: tuple[int, int]) -> None:
            unlocked.matmul(a, b[:, part[0] : part[1]], result[:, part[0] : part[1]])

    in_parallel(run, split(max(rows, columns), parts))
    return result


def _parts(size: int, multiplications: int) -> int:
    """The number of parts into which a product is divided along a dimension of this size."""
    many = max(2 * thread_count(), multiplications // (MOST_AT_ONCE // 2))
    return min(size, many, max(1, multiplications // LEAST_PART))


def _is_long(parts: int) -> bool:
    """Whether a product is divided so that it can end with its step, too."""
    return parts > 2 * thread_count()


def batch_product(a: Any, b: Any) -> Any:
    """`numpy.matmul` of batches of matrices, divided among threads if they are large.

    Raises:
        ValueError: the shapes do not fit.
    """
    if type(a) is not np.ndarray or min(a.ndim, b.ndim) < 2 or max(a.ndim, b.ndim) < 3:
        return a @ b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = batch[0] if batch else 0
    work = prod(batch) * prod(a.shape[-2:]) * b.shape[-1]
    is_small = prod(batch) * a.shape[-2] * b.shape[-1] <= unlocked.SMALL_RESULT
    if work < LARGE_PRODUCT or a.shape[-1] != b.shape[-2]:
        return a @ b  # or the error that says what is wrong
    if not is_small and (count < 2 or thread_count() < 2 or not limit_threads()):
        return a @ b
    result = empty((*batch, a.shape[-2], b.shape[-1]), np.result_type(a, b))
    left, right = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    if is_small:
        for place in np.ndindex(batch):
            result[place] = large_product(left[place], right[place])
        return result

    def run(part: tuple[int, int]) -> None:
        where = slice(*part)
        np.matmul(left[where], right[where], out=result[where])

    in_parallel(run, split(count, _parts(count, work)))
    return result
