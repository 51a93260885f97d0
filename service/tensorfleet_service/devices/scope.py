"""What makes a GPU current for the code of its partitions, and hands its tensors to another GPU.

All partitions of a GPU queue their kernels on one stream of the task, as in TensorFlow: what one of them
writes, such as a variable, the next one reads in the order of the calls. Copies between two GPUs are ordered
by events; the host waits for neither.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import numpy as np

from tensorfleet.wire.limits import SHARED_FROM_BYTES
from tensorfleet_service.devices.memory import readable


class Scope:
    """A GPU and its stream, current for a thread inside of `with`; it may be entered again, by any thread."""

    __slots__ = ("__weakref__", "_device", "_stream", "number", "xp")

    def __init__(self, xp: Any, number: int) -> None:
        self.number = number
        self.xp = xp
        self._device = xp.cuda.Device(number)
        with self._device:
            self._stream = xp.cuda.Stream(non_blocking=True)

    def __enter__(self) -> None:
        self._device.__enter__()
        self._stream.__enter__()

    def __exit__(self, *error: Any) -> None:
        if isinstance(error[1], self.xp.cuda.memory.OutOfMemoryError) and not hasattr(error[1], "__notes__"):
            error[1].add_note(pool_state(self.xp))  # while this is the current device
        try:
            self._stream.__exit__(*error)
        finally:
            self._device.__exit__(*error)

    def share(self, value: Any) -> Any:
        """A value for another GPU of the task; what is in the host's memory is handed over as it is."""
        return Handed(self.xp, value, self._stream) if isinstance(value, self.xp.ndarray) else value

    def outgoing(self, value: Any, target: int) -> Any:
        """A value for GPU number `target` of another task; small ones go through the host's memory."""
        if isinstance(value, self.xp.ndarray):
            sent = Outgoing(self.xp, value, self.number, target)
            return sent if value.nbytes >= SHARED_FROM_BYTES else sent.to_host()
        return value

    def around(self, function: Callable[..., Any], waits: bool) -> Callable[..., Any]:
        """A plan's function, or generator function where it `waits`, that runs in this scope."""
        if waits:
            return lambda step, args: _Scoped(self, function(step, args))

        def run(step: Any, args: Any) -> Any:
            with self:
                return function(step, args)

        return run


def pool_state(xp: Any) -> str:
    """A sentence about the memory of the GPU that is current."""
    pool = xp.get_default_memory_pool()
    limit = pool.get_limit()
    bound = f", which may hold {readable(limit)} (per_process_gpu_memory_fraction)" if limit else ""
    used, held = readable(pool.used_bytes()), readable(pool.total_bytes())
    return f"{used} are in arrays, {held} in the task's pool{bound}."


class Shared:
    """A tensor on its way to a GPU of this task that is still in memory of the sender's."""

    __slots__ = ("__weakref__",)

    def take(self) -> Any:
        """The tensor in the memory of the GPU that is current, copied on its stream."""
        raise NotImplementedError


class Outgoing:
    """A tensor of a GPU on its way to a GPU of another task.

    Attributes:
        gpu: the number of the GPU whose memory it is in.
        target: the number of the GPU in its task.
    """

    __slots__ = ("array", "gpu", "target", "xp")

    def __init__(self, xp: Any, array: Any, gpu: int, target: int) -> None:
        self.xp = xp
        self.array = array
        self.gpu = gpu
        self.target = target

    def wait(self) -> None:
        """Waits for what is queued on the current stream."""
        self.xp.cuda.get_current_stream().synchronize()

    def to_host(self) -> Any:
        """The tensor in pinned memory of the host."""
        return staged(self.xp, self.array)


def staged(xp: Any, array: Any) -> Any:
    """An array's copy in the host's memory; what is large goes to pinned memory, which is used again."""
    if array.nbytes < SHARED_FROM_BYTES:
        found = xp.asnumpy(array)
        return found if found.ndim else found[()]
    pinned = np.frombuffer(xp.cuda.alloc_pinned_memory(array.nbytes), array.dtype, array.size)
    return array.get(out=pinned.reshape(array.shape))


class Handed(Shared):
    """A tensor of one GPU on its way to another one of the same task."""

    __slots__ = ("_array", "_ready", "_stream", "_xp")

    def __init__(self, xp: Any, array: Any, stream: Any) -> None:
        self._xp = xp
        self._array = array
        self._stream = stream
        self._ready = stream.record()

    def take(self) -> Any:
        stream = self._xp.cuda.get_current_stream()
        stream.wait_event(self._ready)
        found = self._xp.asarray(self._array)
        # The memory of the original may be used again only after the copy.
        self._stream.wait_event(stream.record())
        return found


class _Scoped(Generator[Any, Any, Any]):
    """A plan's generator that runs in a scope."""

    __slots__ = ("_generator", "_scope")

    def __init__(self, scope: Scope, generator: Generator[Any, Any, Any]) -> None:
        self._scope = scope
        self._generator = generator

    def send(self, value: Any) -> Any:
        with self._scope:
            return self._generator.send(value)

    def throw(self, *error: Any) -> Any:
        with self._scope:
            return self._generator.throw(*error)

    def close(self) -> None:
        with self._scope:
            self._generator.close()

    @property
    def gi_frame(self) -> FrameType | None:
        frame: FrameType | None = getattr(self._generator, "gi_frame", None)
        return frame

    @property
    def gi_yieldfrom(self) -> Any:
        return getattr(self._generator, "gi_yieldfrom", None)


def gpu_number(device: bytes) -> int | None:
    """The number of a GPU by its full device name, as attributes have it; None for other devices."""
    _, is_gpu, number = device.partition(b"/device:GPU:")
    return int(number) if is_gpu else None
