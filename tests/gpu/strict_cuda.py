"""`cupy.cuda` of the stand-in: devices, streams, events, and what the runtime tells about devices."""

from __future__ import annotations

import itertools
import os
import threading
from types import SimpleNamespace
from typing import Any

from tests.gpu import strict_capture, strict_ipc, strict_nccl as nccl
from tests.gpu.strict_array import CUDARuntimeError, OutOfMemoryError, Pool, PrivatePool, machine
from tests.gpu.strict_capture import Graph as Graph
from tests.gpu.strict_ipc import (
    Memory as Memory,
    MemoryPointer as MemoryPointer,
    UnownedMemory as UnownedMemory,
)

_own = threading.local()


def current_device() -> int:
    """The device of this thread."""
    found: int = _own.__dict__.setdefault("device", 0)
    return found


class Device:
    def __init__(self, number: int | Device | None = None) -> None:
        self.id = current_device() if number is None else int(number)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return self.id

    def use(self) -> None:
        if not 0 <= self.id < len(machine.pools):
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        _own.device = self.id

    def __enter__(self) -> Device:
        _own.__dict__.setdefault("devices", []).append(current_device())
        self.use()
        return self

    def __exit__(self, *_: Any) -> None:
        _own.device = _own.devices.pop()

    def synchronize(self) -> None:
        machine.wait()

    @property
    def mem_info(self) -> tuple[int, int]:
        pool = machine.pools[self.id]
        return pool.total - pool.used, pool.total


_numbers = itertools.count(16)  # 0 to 2 are CUDA's own


class Stream:
    """A stream of the device that was current when it was made."""

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.device_id = current_device()
        self.ptr = 0 if null else next(_numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return self.ptr

    def _check(self) -> None:
        if self.ptr and self.device_id != current_device():
            raise RuntimeError(f"a stream of device {self.device_id} is used on device {current_device()}")

    def use(self) -> Stream:
        self._check()
        _streams()[current_device()] = self
        return self

    def __enter__(self) -> Stream:
        self._check()
        _own.__dict__.setdefault("entered", []).append((current_device(), get_current_stream()))
        return self.use()

    def __exit__(self, *_: Any) -> None:
        device, stream = _own.entered.pop()
        _streams()[device] = stream

    def synchronize(self) -> None:
        machine.wait()

    def begin_capture(self, mode: int | None = None) -> None:
        self._check()
        strict_capture.begin(self.ptr)

    def end_capture(self) -> Graph:
        return strict_capture.end(self.ptr)

    def is_capturing(self) -> bool:
        return strict_capture.of_stream(self.ptr) is not None

    def record(self, event: Event | None = None) -> Event:
        self._check()
        assert not self.is_capturing(), "the stand-in has no captures of several streams"
        event = event or Event()
        event.stream = self
        return event

    def wait_event(self, event: Event) -> None:
        assert event.stream is not None, "waits for an event that was not recorded"


Stream.null = Stream(null=True)  # type: ignore[attr-defined]


class Event:
    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.stream: Stream | None = None

    def record(self, stream: Stream | None = None) -> None:
        (stream or get_current_stream()).record(self)

    def synchronize(self) -> None:
        machine.wait()

    @property
    def done(self) -> bool:
        return self.stream is not None and nccl.is_done(self.stream.ptr)


def _streams() -> dict[int, Stream]:
    found: dict[int, Stream] = _own.__dict__.setdefault("streams", {})
    return found


def get_current_stream() -> Stream:
    return _streams().get(current_device(), Stream.null)  # type: ignore[attr-defined,no-any-return]


class MemoryPool:
    """A pool of memory of each device, as in CuPy, where all is about the current one.

    What it has taken is not given back when it is forgotten, but by `free_all_blocks`, which keeps what is in
    use.
    """

    def __init__(self) -> None:
        self._pools: dict[int, PrivatePool] = {}

    def _pool(self) -> Pool:
        number = current_device()
        device = machine.pools[number]
        return self._pools.setdefault(number, PrivatePool(device.total, device=device))

    def malloc(self, size: int) -> Any:
        raise NotImplementedError("the stand-in's arrays take the memory by themselves")

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        pool = self._pool()
        pool.limit = int(pool.total * fraction) if size is None and fraction is not None else size or 0

    def get_limit(self) -> int:
        return self._pool().limit

    def used_bytes(self) -> int:
        return self._pool().used

    def total_bytes(self) -> int:
        return self._pool().peak

    def free_all_blocks(self, stream: Any = None) -> None:
        strict_capture.refuse(CUDARuntimeError, "cudaErrorStreamCaptureUnsupported: cudaFree in a capture")
        pool = self._pool()
        if isinstance(pool, PrivatePool):
            pool.give_back()
        pool.peak = pool.used


class DefaultPool(MemoryPool):
    """The pool that arrays take their memory from."""

    def _pool(self) -> Pool:
        return machine.pools[current_device()]


def using_allocator(allocator: Any) -> Any:
    """As CuPy's; `allocator` is `malloc` of a pool."""
    return machine.allocating(allocator.__self__._pool)


def _properties(number: int) -> dict[str, Any]:
    uuid = b"%8d%8d" % (os.getpid(), number)
    size = machine.pools[number].total
    return {"name": b"stand-in", "totalGlobalMem": size, "major": 9, "minor": 0, "uuid": uuid}


def alloc_pinned_memory(size: int) -> bytearray:
    return bytearray(size)


runtime = SimpleNamespace(
    ipcGetMemHandle=strict_ipc.get_handle,
    ipcOpenMemHandle=strict_ipc.open_handle,
    ipcCloseMemHandle=strict_ipc.close_handle,
    CUDARuntimeError=CUDARuntimeError,
    getDeviceCount=lambda: len(machine.pools),
    getDeviceProperties=_properties,
    memGetInfo=lambda: Device().mem_info,
    deviceCanAccessPeer=lambda a, b: int(a != b),
    deviceEnablePeerAccess=lambda device: None,
    getDevice=current_device,
)
memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
