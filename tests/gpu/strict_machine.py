"""The machine of the stand-in: its GPUs with their memory, and what is counted."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


class OutOfMemoryError(MemoryError):
    """As `cupy.cuda.memory.OutOfMemoryError`."""


class CUDARuntimeError(RuntimeError):
    """As `cupy.cuda.runtime.CUDARuntimeError`."""


class Unnoticed(AssertionError):
    """Something that NumPy refuses, and that a GPU would compute nonsense of without a word."""


@dataclass
class Counters:
    """What went over the bus, and how often the host waited for a device."""

    to_device: list[tuple[int, ...]] = field(default_factory=list)
    """The shapes of arrays that were copied to a device."""
    to_host: list[tuple[int, ...]] = field(default_factory=list)
    peer: list[tuple[int, ...]] = field(default_factory=list)
    synchronizations: int = 0
    kernels: int = 0
    graphs: int = 0
    """How often a captured graph ran; its launches are no kernels of their own."""


@dataclass
class Pool:
    """The memory of one device."""

    total: int
    limit: int = 0
    used: int = 0
    outside: int = 0
    """Memory that was taken without the pool."""
    peak: int = 0

    def take(self, size: int) -> None:
        limit = self.limit or self.total
        if self.used + size > limit:
            text = f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} bytes"
            raise OutOfMemoryError(f"{text}, limit set to: {limit:,} bytes).")
        self.used += size
        self.peak = max(self.peak, self.used)


@dataclass
class PrivatePool(Pool):
    """A pool beside the device's own; what it has taken it keeps until it is told to give it back."""

    device: Pool | None = None

    def take(self, size: int) -> None:
        super().take(size)
        assert self.device is not None
        more = self.peak - self.kept
        if more > 0 and self.device.peak + self.device.outside + more > self.device.total:
            self.used -= size
            self.peak = self.kept
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")
        self.device.outside += max(more, 0)
        self.kept = self.peak

    kept: int = 0

    def give_back(self) -> None:
        assert self.device is not None
        self.device.outside -= self.kept - self.used
        self.peak = self.kept = self.used


class Machine:
    """The GPUs of the stand-in; the current device and stream are in `strict_cuda`."""

    def __init__(self) -> None:
        self._own = threading.local()
        self.hosts: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        """The memory of arrays by its address, for libraries that are given addresses."""
        self.reset(1)

    def wait(self, really: bool = True) -> None:
        """Notes that the host waits for a device."""
        if really:
            from tests.gpu import strict_capture

            strict_capture.refuse(
                CUDARuntimeError,
                "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing",
            )
            self.counters.synchronizations += 1

    @property
    def allocator(self) -> Pool:
        """The pool from which this thread takes memory of the current device."""
        found: Callable[[], Pool] | None = getattr(self._own, "allocator", None)
        return self.pools[self.current] if found is None else found()

    @contextmanager
    def allocating(self, pool: Callable[[], Pool] | None) -> Iterator[None]:
        outer, self._own.allocator = getattr(self._own, "allocator", None), pool
        try:
            yield
        finally:
            self._own.allocator = outer

    def without_charge(self) -> Any:
        """For what a graph makes on the way to memory that it has."""
        return self.allocating(lambda: Pool(1 << 60))

    def reset(self, devices: int, memory: int = 1 << 30) -> None:
        self.pools = [Pool(memory) for _ in range(devices)]
        self.counters = Counters()

    @property
    def current(self) -> int:
        from tests.gpu import strict_cuda

        return strict_cuda.current_device()


machine = Machine()


class Memory:
    """A part of a device's memory, given back with its last array."""

    __slots__ = ("__weakref__", "device", "pool", "size")

    def __init__(self, size: int) -> None:
        from tests.gpu import strict_capture

        self.device = machine.current
        self.size = 0
        self.pool = machine.allocator
        if self.pool is machine.pools[self.device]:
            strict_capture.refuse(
                CUDARuntimeError, "cudaErrorStreamCaptureUnsupported: memory that is not the capture's own"
            )
        self.pool.take(size)
        self.size = size

    def __del__(self) -> None:
        self.pool.used -= self.size
