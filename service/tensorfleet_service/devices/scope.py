"""What makes a GPU current for the code of its partitions, and hands its tensors to another GPU.

All partitions of a GPU queue their kernels on one stream of the task, as in TensorFlow: what one of them
writes, such as a variable, the next one reads in the order of the calls. Copies between two GPUs are ordered
by events; the host waits for neither.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

from tensorfleet_service.devices.memory import readable


class Scope:
    """A GPU and its stream, current for a thread inside of `with`; it may be entered again, by any thread."""

    __slots__ = ("_device", "_stream", "_xp", "number")

    def __init__(self, xp: Any, number: int) -> None:
        self.number = number
        self._xp = xp
        self._device = xp.cuda.Device(number)
        with self._device:
            self._stream = xp.cuda.Stream(non_blocking=True)

    def __enter__(self) -> None:
        self._device.__enter__()
        self._stream.__enter__()

    def __exit__(self, *error: Any) -> None:
        if isinstance(error[1], self._xp.cuda.memory.OutOfMemoryError) and not hasattr(error[1], "__notes__"):
            error[1].add_note(pool_state(self._xp))  # while this is the current device
        try:
            self._stream.__exit__(*error)
        finally:
            self._device.__exit__(*error)

    def share(self, value: Any) -> Any:
        """A value for another GPU of the task; what is in the host's memory is handed over as it is."""
        return Shared(self._xp, value, self._stream) if isinstance(value, self._xp.ndarray) else value

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
    """A tensor of one GPU on its way to another one of the same task."""

    __slots__ = ("_array", "_ready", "_stream", "_xp")

    def __init__(self, xp: Any, array: Any, stream: Any) -> None:
        self._xp = xp
        self._array = array
        self._stream = stream
        self._ready = stream.record()

    def take(self) -> Any:
        """The tensor in the memory of the GPU that is current, copied on its stream."""
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


def is_gpu(device: bytes) -> bool:
    """Whether a full device name, as attributes have it, is that of a GPU."""
    return b"/device:GPU:" in device
