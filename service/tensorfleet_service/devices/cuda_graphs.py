"""Work on a GPU that is captured once as a CUDA graph, and then launched as a whole.

While a stream is captured nothing runs on it, and the host's code goes on as ever: it takes memory and hands
it on. A graph writes to that very memory at each launch, so it has a pool of its own, which it keeps; what
goes in is copied to fixed arrays, and what comes out is copied from them. The task's own stream is not
captured, as other threads use it meanwhile, but one beside it.
"""

from __future__ import annotations

import contextlib
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorfleet_service.devices.cublas import Cublas, products_by
from tensorfleet_service.devices.scope import Scope
from tensorfleet_service.devices.transfer import all_to_host

_lock = threading.Lock()
_counting = threading.Lock()  # of what `_count_all` changes
_held: dict[int, int] = {}


def held_bytes(number: int) -> int:
    """The memory that captured graphs keep on a GPU."""
    return _held.get(number, 0)


class GraphMemory:
    """The pool of one graph on the current GPU; with the task's pool it stays within that one's limit.

    It takes at most half of what is left, as other steps need memory, too.

    Attributes:
        size: the bytes that it keeps, once `settle` was called.
    """

    def __init__(self, xp: Any, number: int) -> None:
        self.size = 0
        self.pool = xp.cuda.MemoryPool()
        self._xp = xp
        self._number = number
        common = xp.get_default_memory_pool()
        free, _ = xp.cuda.runtime.memGetInfo()
        limit = common.get_limit()
        left = min(free, limit - common.total_bytes()) if limit else free
        self.pool.set_limit(size=max(left // 2, 1))

    def settle(self) -> None:
        """Takes what the pool has from what the task's may have."""
        self._count(self.pool.total_bytes())

    def close(self) -> None:
        """Gives the memory back, while its GPU is current and nothing of it is in use."""
        # A pool that is dropped keeps its blocks: they and their arena hold each other.
        self.pool.free_all_blocks()
        self._count(-self.size)

    def _count(self, more: int) -> None:
        self.size += more
        _uncounted.append((self._xp, self._number, more))
        _count_all()


_uncounted: deque[tuple[Any, int, int]] = deque()


def _count_all() -> None:
    """Counts what is left to count, unless somebody is at it, who does that then.

    The garbage collector drops a graph anywhere, also where this thread is counting, so nobody waits here.
    """
    while _uncounted and _counting.acquire(blocking=False):
        try:
            while _uncounted:
                xp, number, more = _uncounted.popleft()
                _held[number] = _held.get(number, 0) + more
                with xp.cuda.Device(number):
                    common = xp.get_default_memory_pool()
                    limit = common.get_limit()
                    if limit:
                        common.set_limit(size=max(limit - more, 1))
        finally:
            _counting.release()


class Graph:
    """A captured graph, with the arrays that it reads and writes.

    Attributes:
        size: the bytes of memory that it keeps.
    """

    __slots__ = ("__weakref__", "_close", "_is_closed", "_lock", "_parts", "_scope", "_to_host", "size")

    def __init__(
        self,
        scope: Scope,
        graph: Any,
        inputs: list[Any],
        outputs: list[Any],
        constants: list[Any],
        memory: GraphMemory,
    ) -> None:
        self.size = memory.size
        self._scope = scope
        self._lock = threading.Lock()
        self._is_closed = False
        self._to_host = all_to_host(scope.xp)
        self._parts: list[Any] = [graph, inputs, outputs, constants]
        self._close = weakref.finalize(self, _close, self._parts, memory, scope)
        self._close.atexit = False

    def close(self) -> None:
        """Gives the memory back, after the run that is under way; it is not run any more."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def run(self, values: Sequence[Any], launch: Callable[[Callable[[], None]], bool]) -> Any:
        """Runs it with other inputs. Returns its outputs in the host's memory, or None where it has not run.

        Args:
            values: an array for each input, of its shape and dtype, in the host's memory.
            launch: calls the function that it is given, or returns False.
        """
        if not self._lock.acquire(blocking=False):
            return None  # another step uses the arrays
        try:
            return self._run(values, launch) if self._parts else None
        finally:
            self._lock.release()
            if self._is_closed:
                self.close()

    def _run(self, values: Sequence[Any], launch: Callable[[Callable[[], None]], bool]) -> Any:
        graph, inputs, outputs, _ = self._parts
        xp = self._scope.xp
        with self._scope:
            for place, value in zip(inputs, values, strict=True):
                xp.copyto(place, xp.asarray(value))
            return self._to_host(outputs) if launch(graph.launch) else None


def _close(parts: list[Any], memory: GraphMemory, scope: Scope) -> None:
    for arrays in parts[1:]:
        arrays.clear()
    parts.clear()
    with scope:
        memory.close()


Function = Callable[[list[Any], Callable[[Any], Any]], Sequence[Any]]


def capture(scope: Scope, inputs: Sequence[tuple[tuple[int, ...], Any]], function: Function) -> Graph | None:
    """The graph of what a function queues; nothing of it runs. None while another one is captured on the GPU.

    Args:
        inputs: the shapes and dtypes of the arrays that the function is given.
        function: is called with these arrays, and with a function that copies a value of the host's memory to
            the
            GPU, which then is the same in each run. Returns the outputs.

    Raises:
        Exception: whatever CUDA, CuPy, cuBLAS or the function raise.
    """
    with _lock:
        tools = _tools.setdefault(scope, _Tools())
    if not tools.lock.acquire(blocking=False):
        return None
    try:
        with scope:
            return _capture(scope, tools, inputs, function)
    finally:
        tools.lock.release()


class _Tools:
    """What captures on one GPU: a stream for it, and cuBLAS on that stream. One capture at a time."""

    __slots__ = ("__weakref__", "cublas", "lock", "stream")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stream: Any = None
        self.cublas: Cublas | None = None

    def prepare(self, xp: Any, number: int) -> Cublas:
        if self.cublas is None:
            self.stream = xp.cuda.Stream(non_blocking=True)
            self.cublas = Cublas(xp, self.stream.ptr)
            weakref.finalize(self, _close_cublas, self.cublas, xp, number).atexit = False
        return self.cublas


_tools: weakref.WeakKeyDictionary[Scope, _Tools] = weakref.WeakKeyDictionary()


def _close_cublas(cublas: Cublas, xp: Any, number: int) -> None:
    with xp.cuda.Device(number):
        cublas.close()


def _capture(
    scope: Scope, tools: _Tools, inputs: Sequence[tuple[tuple[int, ...], Any]], function: Function
) -> Graph:
    xp = scope.xp
    cublas = tools.prepare(xp, scope.number)
    memory = GraphMemory(xp, scope.number)
    constants: list[Any] = []
    given: list[Any] = []
    found: list[Any] = []

    def copied(value: Any) -> Any:
        with scope:  # whose stream is not captured
            constants.append(xp.asarray(value))
        return constants[-1]

    try:
        with xp.cuda.using_allocator(memory.pool.malloc):
            given += [xp.empty(shape, dtype) for shape, dtype in inputs]
            with _captured(xp, tools.stream, found), products_by(cublas):
                # Of a variable the graph knows the address; the array itself stays nobody else's.
                outputs = [detached(xp, value) for value in function(given, copied)]
    except BaseException as e:
        traceback.clear_frames(e.__traceback__)  # they hold arrays of the pool
        for arrays in (constants, given, found):
            arrays.clear()
        memory.close()
        raise
    memory.settle()
    return Graph(scope, found[0], given, outputs, constants, memory)


@contextlib.contextmanager
def _captured(xp: Any, stream: Any, found: list[Any]) -> Iterator[None]:
    """Captures what is queued inside of `with`, and adds the graph to the list."""
    with stream:
        stream.begin_capture()
        try:
            yield
        except BaseException:
            # Ends the capture, and may say once more that it has failed.
            with contextlib.suppress(xp.cuda.runtime.CUDARuntimeError):
                stream.end_capture()
            raise
        found.append(stream.end_capture())


def detached(xp: Any, value: Any) -> Any:
    """Another array of the same memory; what is in the host's memory is left as it is."""
    if not isinstance(value, xp.ndarray):
        return value
    return xp.ndarray(value.shape, value.dtype, value.data, value.strides)
