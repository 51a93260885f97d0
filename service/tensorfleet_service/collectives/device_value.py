"""What a member of a collective on a GPU brings: its tensor, where that is, and the GPU's queue."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tensorfleet_service.devices.scope import staged


class DeviceValue:
    """A member's tensor on a GPU, and the stream on which it is computed and its result is used.

    Attributes:
        array: the tensor; None for one that is received.
        stream: the stream that was current for the member.
        device: the GPU's number in this process.
    """

    __slots__ = ("array", "device", "stream", "xp")

    def __init__(self, xp: Any, array: Any) -> None:
        self.xp = xp
        self.array = array if array is None else xp.ascontiguousarray(array).reshape(array.shape)
        self.stream = xp.cuda.get_current_stream()
        self.device = xp.cuda.Device()

    @property
    def nbytes(self) -> int:
        """The size of the tensor in bytes; 0 for one that is received."""
        return 0 if self.array is None else int(self.array.nbytes)

    def to_host(self) -> Any:
        """The tensor in the host's memory; None if there is none. Waits for it."""
        if self.array is None:
            return None
        with self.device, self.stream:
            return staged(self.xp, self.array)

    def take(self, result: Any) -> Any:
        """A result in the memory of the member's GPU."""
        with self.device, self.stream:
            return self.xp.asarray(result)


def on_host(value: Any) -> Any:
    """A member's tensor in the host's memory; None for one that is received."""
    return value.to_host() if isinstance(value, DeviceValue) else value


def gpu_of(xp: Any) -> str:
    """What identifies the current GPU among those of all machines; "" where there is no NCCL for it."""
    if xp is np:
        return ""
    if library() is None:
        return ""
    properties = xp.cuda.runtime.getDeviceProperties(xp.cuda.Device().id)
    return bytes(properties["uuid"]).hex()


@functools.cache
def library() -> Any:
    """CuPy's bindings of NCCL; None where CuPy or the library is not installed."""
    try:
        from cupy.cuda import nccl  # which `cupy.cuda` has only once it is imported
    except ImportError:
        return None
    return nccl if nccl.available else None
