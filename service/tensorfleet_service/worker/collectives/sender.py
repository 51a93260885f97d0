"""ChunkSender: sends the chunks of a collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.wire.frames import Kind
from tensorfleet_service.collectives.call import Place
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.peer import Peer

if TYPE_CHECKING:
    from tensorfleet_service.net.peers import AnyPeer, Peers


class ChunkSender:
    """Sends the chunks of a ring to the next task, or those of an exchange to all others."""

    __slots__ = ("_connected", "_peers", "_tasks")

    def __init__(self, peers: Peers | None, tasks: Sequence[Place]) -> None:
        self._peers = peers
        self._tasks = tasks
        self._connected: list[Peer] = []

    def connect(self) -> None:
        """Raises UnavailableError or UnimplementedError."""
        assert self._peers is not None
        self._connected = [streaming(self._peers.get(task, timeouts.NEXT_SECONDS)) for task, _ in self._tasks]

    def is_connected(self) -> bool:
        """Whether all of the tasks are connected, by these processes of theirs."""
        if self._peers is None:
            return False
        found = []
        for task, incarnation in self._tasks:
            peer = self._peers.existing(task)
            if not isinstance(peer, Peer) or peer.incarnation != incarnation:
                return False
            found.append(peer)
        self._connected = found
        return True

    def send(self, round_id: int, number: int, array: Any) -> None:
        for peer in self._connected:
            peer.tell(Kind.CHUNK, round_id, number, b"", (array,))


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
