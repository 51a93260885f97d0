"""GpuLink: the tensors of one connection that go from GPU to GPU beside it (`devices/ipc.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tensorfleet_service.devices.ipc import Arrived, Chunk, Exports, Imports, Send, Verb

if TYPE_CHECKING:
    from tensorfleet.wire.traffic import Traffic
    from tensorfleet_service.devices.scope import Outgoing, Scope


class GpuLink:
    """What two tasks have of each other's GPU memory.

    Args:
        send: sends a frame of kind GPU.
        stock: the chunks of earlier connections to the task.
        traffic: where the tensors are counted.
        submit: runs what may wait.
        scopes: this task's GPUs by their numbers.
    """

    def __init__(
        self,
        send: Send,
        stock: list[Chunk],
        traffic: Traffic,
        submit: Callable[..., None],
        scopes: Callable[[int], Scope | None],
    ) -> None:
        self._exports = Exports(send, stock, traffic)
        self._imports = Imports(send, traffic)
        self._submit = submit
        self._scopes = scopes

    def put(self, value: Outgoing) -> bytes | None:
        """Where the receiver finds a tensor; None where it has to go through the host's memory."""
        return self._exports.put(value)

    def arrived(self, meta: bytes) -> Arrived:
        """The tensor that a frame tells of. Raises ValueError where it lies in no chunk that was opened."""
        return self._imports.arrived(meta)

    def receive(self, verb: int, chunk: int, meta: bytes) -> None:
        """Handles a frame of kind GPU. Raises ValueError if it is malformed."""
        if verb == Verb.OFFER:
            self._submit(self._imports.open, chunk, meta, self._scopes)
        else:
            self._exports.answered(verb, chunk, meta)

    def stop_sending(self) -> None:
        """Keeps this side's chunks for the next connection."""
        self._exports.close()

    def close(self) -> None:
        """Gives up the other side's chunks; waits for the GPU."""
        self._imports.close()
