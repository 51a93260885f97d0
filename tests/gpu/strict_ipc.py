"""Memory of the stand-in outside of the pool, which other processes open by its handle, as by CUDA's IPC.

It is a file in memory, which the other process maps by way of `/proc`. As on a GPU, a process cannot open
its own handles, nor one that it has open; to free memory while another process has it open ends this one.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
import struct
import sys
import weakref
from typing import Any

import numpy as np

from tests.gpu.strict_array import CUDARuntimeError, OutOfMemoryError, machine

_HANDLE = struct.Struct("<IIQ16s")
REFUSED = "STRICT_REFUSES_IPC"
"""The environment variable of a process that may open nothing, as in a container of its own."""

_exported: weakref.WeakValueDictionary[int, Memory] = weakref.WeakValueDictionary()
_opened: dict[int, tuple[bytes, Any, int]] = {}


class Memory:
    """As `cupy.cuda.Memory`."""

    def __init__(self, size: int) -> None:
        self.device = machine.current
        self.size = size
        self._pool = machine.pools[self.device]
        self._pool.outside += size
        if self._pool.outside + self._pool.used > self._pool.total:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")
        self.name = secrets.token_hex(8)
        self.descriptor = os.memfd_create(self.name)
        os.ftruncate(self.descriptor, size)
        self.host = np.frombuffer(mmap.mmap(self.descriptor, size), np.uint8)
        self.ptr = self.host.ctypes.data
        _exported[self.ptr] = self

    def __del__(self) -> None:
        self._pool.outside -= self.size
        if not hasattr(self, "descriptor") or sys.is_finalizing():
            return
        own = os.open(f"/proc/self/fd/{self.descriptor}", os.O_RDWR)
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.write(2, b"memory was freed that another process has open\n")
            os._exit(71)
        os.close(own)
        os.close(self.descriptor)


class UnownedMemory:
    """As `cupy.cuda.UnownedMemory`."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr = ptr
        self.size = size
        self._owner = owner
        self.device = machine.current if device_id < 0 else device_id
        self.host = _opened[ptr][1]
        assert size == self.host.size


class MemoryPointer:
    """As `cupy.cuda.MemoryPointer`."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset
        self._offset = offset

    def _bytes(self, size: int) -> Any:
        """The memory of an array there."""
        assert self._offset + size <= self.mem.size, "an array is outside of its memory"
        return self.mem.host[self._offset : self._offset + size]


def get_handle(ptr: int) -> bytes:
    memory = _exported[ptr]
    handle = _HANDLE.pack(os.getpid(), memory.descriptor, memory.size, memory.name.encode())
    return handle.ljust(64, b"\0")


def open_handle(handle: bytes, flags: int = 1) -> int:
    if os.environ.get(REFUSED):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    pid, descriptor, size, name = _HANDLE.unpack_from(handle)
    if pid == os.getpid():
        raise CUDARuntimeError("cudaErrorDeviceUninitialized: invalid device context")
    if any(other == handle for other, *_ in _opened.values()):
        raise CUDARuntimeError("cudaErrorAlreadyMapped: resource already mapped")
    path = f"/proc/{pid}/fd/{descriptor}"
    try:
        if name.decode() not in os.readlink(path):
            raise OSError("it is another file")
        opened = os.open(path, os.O_RDWR)
    except OSError as e:
        raise CUDARuntimeError(f"cudaErrorInvalidValue: invalid argument ({e})") from None
    fcntl.flock(opened, fcntl.LOCK_SH)
    host = np.frombuffer(mmap.mmap(opened, size), np.uint8)
    _opened[host.ctypes.data] = handle, host, opened
    return int(host.ctypes.data)


def close_handle(ptr: int) -> None:
    _, _, descriptor = _opened.pop(ptr)
    os.close(descriptor)


def opened() -> int:
    """The number of other processes' memories that are open here."""
    return len(_opened)
