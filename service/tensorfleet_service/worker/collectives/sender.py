"""ChunkSender: sends a ring's chunks to the next task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.wire.frames import Kind
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.peer import Peer

if TYPE_CHECKING:
    from tensorfleet_service.net.peers import AnyPeer, Peers


class ChunkSender:
    """Sends the chunks of a ring to the next task."""

    __slots__ = ("_peer", "_peers", "_task")

    def __init__(self, peers: Peers | None, task: str) -> None:
        self._peers = peers
        self._task = task
        self._peer: Peer | None = None

    def connect(self) -> None:
        """Raises UnavailableError or UnimplementedError."""
        assert self._peers is not None
        self._peer = streaming(self._peers.get(self._task, timeouts.NEXT_SECONDS))

    def send(self, round_id: int, number: int, array: Any) -> None:
        assert self._peer is not None
        self._peer.tell(Kind.CHUNK, round_id, number, b"", (array,))


def streaming(peer: AnyPeer) -> Peer:
    """The connection, if it can carry collectives; else raises UnimplementedError."""
    if isinstance(peer, Peer):
        return peer
    raise errors.UnimplementedError(
        None,
        None,
        f"Collectives between tasks need the stream transport, but {peer.task} is reached by single calls of "
        "gRPC, as TensorFlow's tasks are.",
    )
