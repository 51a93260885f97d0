"""LeaderLink: the way of a task's members to the leader of its groups, which may have to be found first."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.wire.frames import Kind
from tensorfleet_service.collectives.call import Call, Key, Verb, pack
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.worker.collectives.sender import streaming

if TYPE_CHECKING:
    from tensorfleet_service.threads.deadlines import Deadlines
    from tensorfleet_service.threads.pool import Pool
    from tensorfleet_service.worker.collectives.connections import Connections
    from tensorfleet_service.worker.collectives.leader import Leader
    from tensorfleet_service.worker.collectives.records import Records

log = logging.getLogger(__name__)


class LeaderLink:
    """Sends messages to the leader, in the order in which they were decided, under the lock of `records`.

    Args:
        own: leads if the leader is this task.
        fail: ends the member with this number by an error.

    Attributes:
        task: the leader.
    """

    def __init__(
        self,
        records: Records,
        connections: Connections,
        own: Leader,
        pool: Pool,
        deadlines: Deadlines,
        fail: Callable[[int, errors.OpError], None],
    ) -> None:
        self.task = connections.here[0]
        self._records = records
        self._connections = connections
        self._own = own
        self._pool = pool
        self._deadlines = deadlines
        self._fail = fail
        self._outbox: list[tuple[int, Verb, bytes, Sequence[Any]]] | None = None
        self._lost: tuple[errors.OpError, float] | None = None
        self._closed = False

    def close(self) -> None:
        """Looks for the leader no more."""
        self._closed = True

    @property
    def is_here(self) -> bool:
        """Whether this task is the leader."""
        return self.task == self._connections.here[0]

    def peer(self) -> Peer | None:
        """The stream to the leader; None where there is none yet, or this task leads."""
        peer = self._connections.existing(self.task)
        return peer if isinstance(peer, Peer) and self._outbox is None else None

    def send(self, verb: Verb, number: int, fields: dict[str, Any], tensors: Sequence[Any] = ()) -> None:
        """Sends a message; keeps it until there is a connection. Raises OpError if it cannot be sent."""
        if self.is_here:
            self._own.receive(None, verb, number, fields, tensors)
            return
        peer = self._connections.existing(self.task) if self._outbox is None else None
        if peer is not None:
            streaming(peer).tell(Kind.COLLECTIVE, number, verb, pack(fields), tensors)
            return
        if self._outbox is None:
            try:
                self._pool.submit(self._find)
            except (RuntimeError, MemoryError) as e:
                raise as_op_error(e, "the search for the leader of a collective") from None
            self._outbox = []
        self._outbox.append((number, verb, pack(fields), tensors))

    def tell(self, verb: Verb, number: int, fields: dict[str, Any]) -> None:
        """Tells the leader of an end, which it notices itself if it cannot be told."""
        try:
            self.send(verb, number, fields)
        except errors.OpError as e:
            log.debug("the leader was not told of the end of a collective: %s", e.message)

    def stopped(self, device: str, key: Key, text: str) -> None:
        """Tells the leader of a device that will not come."""
        if not self.is_here and not isinstance(self._connections.existing(self.task), Peer):
            return  # without a leader, no member waits
        fields = {"device": device, "group_key": key[0], "instance_key": key[1], "text": text}
        try:
            self.send(Verb.STOPPED, 0, fields)
        except errors.UnavailableError as e:
            log.debug("the leader was not told of a failed step: %s", e.message)

    def lost(self, error: errors.OpError) -> None:
        """Handles the loss of the leader.

        The leader may have ended regularly, after its own part. So data under way gets time to arrive; and a
        leader that restarts gets time to come back, for members that join now.
        """
        self._lost = error, time.monotonic()
        rounds = set(self._records.running)
        kept = {number for number, verb, *_ in self._outbox or () if verb == Verb.JOIN}

        def fail(begun: bool) -> None:
            for number, member in list(self._records.members.items()):
                if number in kept and not member.round_id:
                    continue  # it goes to the next connection
                if (member.round_id in rounds) if begun else not member.round_id:
                    text = f"{member.call.title}: the group's leader is lost: {error.message}"
                    self._fail(number, errors.UnavailableError(None, None, text))
                    self._records.end_round(member.round_id)

        fail(begun=False)
        if self._outbox is not None:
            joins = Verb.JOIN, Verb.LATE
            waiting = self._records.members
            self._outbox[:] = [each for each in self._outbox if each[1] not in joins or each[0] in waiting]
        if rounds:
            self._deadlines.after(timeouts.ARRIVAL_SECONDS, lambda: self._records.call_locked(fail, True))

    def _find(self) -> None:
        """Connects to the leader, as long as members need it; then sends their messages."""
        records, peers = self._records, self._connections.peers
        assert peers is not None
        started = time.monotonic()
        while not self._closed:
            error: errors.OpError | None = None
            peer: Peer | None = None
            with records.locked():
                first = min((member.call.seconds for member in records.members.values()), default=0.0)
                lost = self._lost
            left = max(first - (time.monotonic() - started), 0.1)
            if lost is not None and peers.silence:
                left = min(left, max(lost[1] + peers.silence - time.monotonic(), 0.1))
            try:
                peer = streaming(peers.get(self.task, min(left, timeouts.LEADER_SECONDS)))
            except Exception as e:
                error = as_op_error(e, f"a connection to {self.task}")
            now = time.monotonic()
            waited = now - started
            with records.locked():
                assert self._outbox is not None
                if peer is not None:
                    self._lost = None
                elif lost is not None and peers.silence and now - lost[1] >= peers.silence:
                    self._end_unled(lost[0], now - lost[1])
                for number, member in list(records.members.items()):
                    if peer is not None or member.round_id:
                        continue
                    late = waited >= member.call.seconds
                    if late or not isinstance(error, errors.UnavailableError):
                        assert error is not None
                        self._give_up(number, _unreached(member.call, waited, error) if late else error)
                if peer is None and any(not member.round_id for member in records.members.values()):
                    continue
                outbox, self._outbox = self._outbox, None
                if peer is not None:
                    self._deliver(peer, outbox)
                return

    def _give_up(self, number: int, error: errors.OpError) -> None:
        """Fails a member whose request is kept for the leader, which begins no round with it if it comes."""
        self._fail(number, error)
        self.tell(Verb.LEAVE, number, {"text": error.message})

    def _deliver(self, peer: Peer, outbox: Sequence[tuple[int, Verb, bytes, Sequence[Any]]]) -> None:
        """Sends the leader what was kept for it."""
        for number, verb, meta, tensors in outbox:
            try:
                peer.tell(Kind.COLLECTIVE, number, verb, meta, tensors)
            except errors.UnavailableError as e:
                for waiting, member in list(self._records.members.items()):
                    if not member.round_id:
                        self._fail(waiting, e)
                return
            except errors.OpError as e:  # such as no memory for the copy that is sent
                if verb == Verb.JOIN:
                    self._fail(number, e)

    def _end_unled(self, error: errors.OpError, seconds: float) -> None:
        """Fails the members that joined after the loss of the leader, which has not come back."""
        for number, member in list(self._records.members.items()):
            if not member.round_id:
                lost = f"the group's leader is lost, for {seconds:.1f} s"
                text = f"{member.call.title}: {lost}: {error.message}"
                self._give_up(number, errors.UnavailableError(None, None, text))


def _unreached(call: Call, seconds: float, error: errors.OpError) -> errors.OpError:
    return errors.DeadlineExceededError(
        None, None, f"{call.title}: its leader was not reached within {seconds:.1f} s: {error.message}"
    )
