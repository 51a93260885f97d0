"""Elementwise work on large arrays: in blocks that fit the cache, on as many threads as there are cores.

NumPy makes one pass over memory for each operation, during which other threads can run. So it saves most of
the time to run a chain of operations over blocks that stay in the cache, on all cores. With much smaller
blocks, the calls would take the time, of which only one thread makes one at a time.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from tensorfleet_service.threads.running import RUNNING, check as check_step

BLOCK_BYTES = 1 << 18
"""The size of a block of one array."""

MOST_AT_ONCE = 1 << 36
"""Number of multiplications that one call without a look at the step may take: seconds on one core."""

SHARES = 4
"""The number of parts for each thread into which work is divided."""


@functools.cache
def thread_count() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _threads() -> ThreadPoolExecutor:
    # One less, as the caller is a thread, too.
    return ThreadPoolExecutor(
        max(1, thread_count() - 1),
        thread_name_prefix="kernel",
        initializer=functools.partial(np.seterr, all="ignore"),
    )


def submit(function: Callable[..., Any], *arguments: Any) -> None:
    """Calls a function on one of the kernels' threads, once one has nothing else to do; it must not raise.

    Where no thread can be started it is called late, or never: the caller has to do without.
    """
    # By then it is in the queue, where one of the threads that there are may find it.
    with suppress(RuntimeError):
        _threads().submit(function, *arguments)


def in_parallel(function: Callable[[Any], None], parts: Sequence[Any]) -> None:
    """Calls `function` with each of the parts, on several threads, and waits for all.

    The threads take the parts one by one, so that one without a core does not delay the others; there should
    be more parts than threads. `function` must not wait for other work, as all kernels of the process share
    the threads. It may call `threads.running.check`, as each thread computes for the caller's step meanwhile.

    Raises:
        OpError: the step has ended.
    """
    # The interpreter's lock makes each step of the iterator atomic.
    job = [(function, iter(parts), RUNNING.step)]
    helpers = min(thread_count(), len(parts)) - 1
    futures: list[Future[None]] = [Future() for _ in range(helpers)]
    for future in futures:
        submit(_help, future, job)
    try:
        _work(job)
    finally:
        errors = [future.exception() for future in futures if not future.cancel()]
        job.clear()  # requests that no thread has taken yet stay queued, and must not keep the arrays alive
    for error in errors:
        if error is not None:
            raise error


_Job = list[tuple[Callable[[Any], None], Iterator[Any], Any]]


def _help(future: Future[None], job: _Job) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        RUNNING.step = job[0][2]
        _work(job)
    except BaseException as e:
        RUNNING.step = None
        future.set_exception(e)
    else:
        RUNNING.step = None
        future.set_result(None)


def _work(job: _Job) -> None:
    function, parts, _ = job[0]
    for part in parts:
        check_step()
        function(part)


def shares(size: int, least: int = 1) -> list[tuple[int, int]]:
    """Ranges (begin, end) of `size` items, SHARES for each thread, but of at least `least` items."""
    return split(size, min(SHARES * thread_count(), max(thread_count(), size // least)))


def split(size: int, parts: int) -> list[tuple[int, int]]:
    """At most `parts` ranges (begin, end) of `size` items, of nearly equal length."""
    step = -(-size // parts)
    return [(begin, min(begin + step, size)) for begin in range(0, size, step)]


_own = threading.local()


def scratch(count: int, size: int, dtype: Any) -> list[Any]:
    """Temporary arrays of `size` elements each, which are reused at the next call on the same thread."""
    bytes_needed = size * np.dtype(dtype).itemsize
    known: list[Any] = _own.__dict__.setdefault("buffers", [])
    while len(known) < count:
        known.append(np.empty(0, np.uint8))
    for i in range(count):
        if known[i].nbytes < bytes_needed:
            known[i] = np.empty(max(bytes_needed, BLOCK_BYTES), np.uint8)
    return [known[i][:bytes_needed].view(dtype) for i in range(count)]


def each_block(function: Callable[..., None], arrays: Sequence[Any], count: int) -> None:
    """Calls `function(temporaries, *blocks)` over flat blocks of arrays of one size, on several threads.

    Args:
        function: works on the blocks, in place; it does not know their positions.
        arrays: contiguous arrays of the same number of elements.
        count: the number of temporary arrays that it needs, with a block's shape and the first array's dtype.
    """
    first = arrays[0]
    if first.nbytes <= 2 * BLOCK_BYTES or not isinstance(first, np.ndarray):
        # On a GPU, an array is one block.
        function([np.empty_like(first) for _ in range(count)], *arrays)
        return
    flat = [array.reshape(-1) for array in arrays]
    block = BLOCK_BYTES // first.itemsize

    def run(part: tuple[int, int]) -> None:
        temporaries = scratch(count, block, first.dtype)
        begin, end = part
        for at in range(begin, end, block):
            stop = min(at + block, end)
            function([t[: stop - at] for t in temporaries], *[array[at:stop] for array in flat])

    in_parallel(run, shares(first.size))
