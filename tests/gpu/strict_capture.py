"""Stream capture of the stand-in: launches are recorded, not run, and a graph runs them on the same memory.

In a capture no memory changes, and what the recorded launches would have made is nonsense until the graph
runs. What CUDA or CuPy refuse in a capture ends it: waits of the host, copies from and to the host, products
by CuPy's cuBLAS, work on the legacy stream; and so does memory that is not of the capture's own pool. A graph
that runs on memory that was given back is told of, which a GPU does not do.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.gpu.strict_array import CUDARuntimeError, Memory, Unnoticed, machine, ndarray

_own = threading.local()
_recordings: dict[int, Recording] = {}


class Recording:
    """A capture that is under way on a stream."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.thread = threading.get_ident()
        self.is_valid = True
        self.launches: list[Callable[[], None]] = []
        self._made: weakref.WeakSet[Memory] = weakref.WeakSet()
        self.needs: list[weakref.ref[Memory]] = []
        """The memory that the launches work on, but for what they have made."""
        self.hosts: list[Any] = []

    def launch(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Records a launch, whose results have shapes and memory but no values yet."""
        given = list(_arrays((args, kwargs)))
        before = [np.array(array._host) for array in given]
        with _inside():
            found = function(*args, **kwargs)
        for array, values in zip(given, before, strict=True):
            if array._host.flags.writeable:
                array._host[...] = values
        results = [a for a in _arrays(found) if not any(a._memory is b._memory for b in given)]
        for array in given:
            if array._memory not in self._made:
                self.needs.append(weakref.ref(array._memory))
        self._made.update(array._memory for array in results)
        targets = [array._host for array in results]
        own_args, own_kwargs = _ghosts(args), _ghosts(kwargs)

        def run() -> None:
            made = function(*own_args, **own_kwargs)
            fresh = [array for array in _arrays(made) if not isinstance(array._memory, _Place)]
            for target, array in zip(targets, fresh, strict=True):
                target[...] = array._host

        self.launches.append(run)
        self.hosts += targets
        return found


class Graph:
    """As `cupy.cuda.Graph`."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        for host in recording.hosts:
            host[...] = np.nan if host.dtype.kind in "fc" else 77

    def launch(self, stream: Any = None) -> None:
        if any(reference() is None for reference in self._recording.needs):
            raise Unnoticed("a graph works on memory that was given back")
        kernels = machine.counters.kernels
        with _inside(), machine.without_charge():
            for run in self._recording.launches:
                run()
        machine.counters.kernels = kernels
        machine.counters.graphs += 1


def begin(stream: int) -> None:
    if stream in (0, 1):
        raise RuntimeError("cannot capture on the default (legacy) stream")
    if stream in _recordings:
        raise CUDARuntimeError(
            "cudaErrorIllegalState: the operation cannot be performed in the present state"
        )
    _recordings[stream] = Recording(stream)


def end(stream: int) -> Graph:
    recording = _recordings.pop(stream, None)
    if recording is None:
        raise CUDARuntimeError(
            "cudaErrorIllegalState: the operation cannot be performed in the present state"
        )
    if not recording.is_valid:
        raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: operation failed due to a previous error")
    return Graph(recording)


def of_stream(stream: int) -> Recording | None:
    return _recordings.get(stream)


def current() -> Recording | None:
    """The capture of the stream that is current."""
    if not _recordings:
        return None
    from tests.gpu import strict_cuda

    stream = strict_cuda.get_current_stream().ptr
    if not stream and any(r.thread == threading.get_ident() for r in _recordings.values()):
        raise CUDARuntimeError("cudaErrorStreamCaptureImplicit: the legacy stream is used during a capture")
    return _recordings.get(stream)


def refuse(error: type[Exception], text: str) -> None:
    """Raises an error, which ends the capture, if the current stream is captured."""
    recording = current()
    if recording is not None:
        recording.is_valid = recording.is_valid and error is not CUDARuntimeError
        raise error(text)


def launched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls are recorded while the current stream is captured."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        recording = current() if _recordings and not getattr(_own, "inside", False) else None
        return function(*args, **kwargs) if recording is None else recording.launch(function, args, kwargs)

    return call


@contextmanager
def _inside() -> Iterator[None]:
    outer, _own.inside = getattr(_own, "inside", False), True
    try:
        yield
    finally:
        _own.inside = outer


def _arrays(value: Any) -> Iterator[ndarray]:
    if isinstance(value, ndarray):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _arrays(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)


class _Place:
    """Memory as an argument that a graph keeps sees it: it keeps the bytes, but is no owner of them."""

    def __init__(self, device: int) -> None:
        self.device = device


def _ghosts(value: Any) -> Any:
    if isinstance(value, ndarray):
        ghost = ndarray.__new__(ndarray)
        ghost._host, ghost._memory, ghost.base = value._host, _Place(value._memory.device), None
        return ghost
    if isinstance(value, dict):
        return {key: _ghosts(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and any(True for _ in _arrays(value)):
        return type(value)([_ghosts(part) for part in value])
    return value
