"""Connections: the ways of a task's messages about collectives to the other tasks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.wire.frames import Kind
from tensorfleet_service.collectives.call import Place, Verb, error_fields, pack
from tensorfleet_service.net.peer import Peer

if TYPE_CHECKING:
    from tensorfleet_service.net.peers import AnyPeer, Peers

log = logging.getLogger(__name__)


class Connections:
    """The connections that there are to other tasks.

    Attributes:
        here: the task.
        peers: the tasks of its cluster; None until it belongs to one.
    """

    def __init__(self, here: Place) -> None:
        self.here = here
        self.peers: Peers | None = None

    def tasks(self) -> list[str]:
        """All tasks of the cluster."""
        return [] if self.peers is None else list(self.peers.addresses)

    def existing(self, task: str) -> AnyPeer | None:
        """The connection to a task; None where there is none."""
        return None if self.peers is None else self.peers.existing(task)

    def stream(self, place: Place) -> Peer | None:
        """The stream to this process of a task; None where there is none, as to this task itself."""
        peer = self.existing(place[0])
        return peer if isinstance(peer, Peer) and peer.incarnation == place[1] else None

    def is_alive(self, place: Place) -> bool:
        """Whether this process of a task is connected, or is this one."""
        if place == self.here:
            return True
        peer = self.existing(place[0])
        return peer is not None and peer.incarnation == place[1]

    def tell(
        self, peer: Peer, verb: Verb, number: int, fields: dict[str, Any], tensors: Sequence[Any] = ()
    ) -> None:
        """Sends a message to a member; if that cannot be, the end of its connection says so to all."""
        try:
            peer.tell(Kind.COLLECTIVE, number, verb, pack(fields), tensors)
        except errors.UnavailableError as e:
            log.debug("%s was not told of a collective: %s", peer.task, e.message)
        except errors.ResourceExhaustedError as e:
            if tensors:  # there is no memory for the copy that is sent
                self.tell(peer, Verb.FAIL, number, {"joins": fields["joins"], **error_fields(e)})
