"""Collectives: the part of a task in the collectives of its devices.

Control messages are small, and one lock keeps them in order: each is sent under the lock under which it was
decided. Chunks of tensors take only the lock of their ring. Waiting members are Futures, which are completed
outside of the lock, as the waiting steps have locks of their own.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from tensorfleet.core import errors
from tensorfleet.wire.frames import Kind
from tensorfleet_service.collectives.call import (
    Call,
    Key,
    Place,
    Verb,
    describe,
    error_fields,
    error_of,
    pack,
    unpack,
)
from tensorfleet_service.collectives.member import CollectiveMember, Group, Running
from tensorfleet_service.collectives.ring import Ring
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.threads.future import Future
from tensorfleet_service.worker.collectives.early import EarlyChunks
from tensorfleet_service.worker.collectives.leader import Leader
from tensorfleet_service.worker.collectives.sender import ChunkSender, streaming

if TYPE_CHECKING:
    from tensorfleet.wire.frames import Frame
    from tensorfleet_service.net.peers import AnyPeer, Peers
    from tensorfleet_service.threads.pool import Pool

log = logging.getLogger(__name__)


class Collectives:
    """The collectives of one task, which is its own leader until `connect` makes it a task of a cluster."""

    def __init__(self, task: str, incarnation: int, pool: Pool) -> None:
        self.here: Place = (task, incarnation)
        self.seconds = timeouts.COLLECTIVE_SECONDS
        self._pool = pool
        self._peers: Peers | None = None
        self._leading = task
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._groups: WeakValueDictionary[tuple[str, int], Group] = WeakValueDictionary()
        self._members: dict[int, CollectiveMember] = {}
        self._running: dict[int, Running] = {}
        self._early = EarlyChunks()
        self._lost_leader: tuple[errors.OpError, float] | None = None
        self._ended: OrderedDict[int, errors.OpError | None] = OrderedDict()
        self._outbox: list[tuple[int, Verb, bytes, Sequence[Any]]] | None = None
        self._closed = False
        self._completed: list[tuple[Future, Any, errors.OpError | None]] = []
        self._deadlines = Deadlines()
        self._leader = Leader(
            self._tell, self.here, self._deadlines, self._call_locked, self._alive, self._tasks
        )

    def connect(self, peers: Peers, leader: str, seconds: float = 0.0) -> None:
        """Makes this task's devices members of groups of a cluster.

        Args:
            leader: the task that brings members together, the same for all tasks.
            seconds: the time that a member without a time of its own waits, 0 for COLLECTIVE_SECONDS.
        """
        self._peers = peers
        self._leading = leader
        self.seconds = seconds or timeouts.COLLECTIVE_SECONDS

    def __len__(self) -> int:
        """The number of records about collectives that have not ended."""
        with self._lock:
            return len(self._members) + len(self._running) + len(self._early) + len(self._leader)

    def close(self) -> None:
        self._closed = True
        self._deadlines.close()

    # Called by kernels

    def group(self, device: str, group_key: int) -> Group:
        """The record of a group; the caller keeps it alive."""
        with self._lock:
            found = self._groups.get((device, group_key))
            if found is None:
                found = self._groups[device, group_key] = Group()
            return found

    def join(self, call: Call, value: Any, group: Group) -> Future:
        """Takes part in a collective of at least two members, with a value in the host's memory.

        The future is completed with the result, an array that the members of this task share.
        """
        call = replace(call, seconds=call.seconds or self.seconds)
        with self._locked():
            number = next(self._numbers)
            future = Future(partial(self._leave, number), self)
            self._members[number] = CollectiveMember(call, value, future, group)
            tensors = (value,) if call.is_small and value is not None else ()
            try:
                self._to_leader(Verb.JOIN, number, {"call": call.to_dict(), "known": group.members}, tensors)
            except errors.OpError as e:
                self._end_member(number, e)
        return future

    def stopped(self, device: str, key: Key, error: errors.OpError) -> None:
        """Tells the leader that a step failed before its collective began, so that nobody waits for it."""
        with self._locked():
            if self._leading != self.here[0] and not isinstance(self._reach(self._leading), Peer):
                return  # without a leader, no member waits
            text = f"{describe(key)}: the step of {device} has failed: {error.message}"
            fields = {"device": device, "group_key": key[0], "instance_key": key[1], "text": text}
            try:
                self._to_leader(Verb.STOPPED, 0, fields)
            except errors.UnavailableError as e:
                log.debug("the leader was not told of a failed step: %s", e.message)

    def waits_for(self, future: Future) -> str:
        """A description of what a member of a collective waits for."""
        with self._locked():
            member = next((m for m in self._members.values() if m.future is future), None)
        if member is None:
            return "a collective, which has ended"
        if member.round_id:
            return f"{member.call.title}: the data of the other members"
        return f"{member.call.title}: the other members, to join at its leader {self._leading}"

    def _leave(self, number: int, future: Future) -> None:
        with self._locked():
            member = self._members.pop(number, None)
            if member is None:
                return
            member.group.failures += 1
            self._end_round(member.round_id)
            text = f"{member.call.title}: the step of its member {member.call.device} has ended before"
            try:
                self._to_leader(Verb.LEAVE, number, {"text": text})
            except errors.OpError as e:
                log.debug("the leader was not told of a member that left: %s", e.message)

    # Called by the connections to other tasks

    def receive(self, peer: Peer, frame: Frame) -> None:
        """Handles a message about collectives. Raises ValueError if it is malformed."""
        try:
            fields = unpack(frame.meta)
            with self._locked():
                if frame.detail in (Verb.START, Verb.FAIL, Verb.RESULT):
                    self._follow(frame.detail, frame.number, fields, frame.tensors)
                else:
                    self._leader.receive(peer, frame.detail, frame.number, fields, frame.tensors)
        except (KeyError, TypeError) as e:
            raise ValueError(f"a message about a collective lacks {e}") from None

    def chunk(self, round_id: int, number: int, array: Any) -> None:
        """Takes a part of a tensor, for a ring that has begun or will begin."""
        running = self._running.get(round_id)
        if running is None:
            with self._lock:
                running = self._running.get(round_id)
                if running is None:
                    if round_id not in self._ended:
                        for dropped, error in self._early.keep(round_id, number, array):
                            self._ended[dropped] = error
                    return
        self._guarded(running.ring, running.ring.receive, number, array)

    def lost(self, peer: AnyPeer) -> None:
        """Handles the end of the connection to another task."""
        place, error = (peer.task, peer.incarnation), peer.lost
        assert error is not None
        with self._locked():
            for round_id, running in list(self._running.items()):
                if running.before == place:
                    self._broken(round_id, error)  # everything that it has sent has been read, but is not all
            if self._leading == self.here[0]:
                self._leader.lost(place, error)
            elif self._leading == place[0]:
                self._leader_lost(error)

    def _leader_lost(self, error: errors.OpError) -> None:
        """Handles the loss of the leader.

        The leader may have ended regularly, after its own part. So data under way gets time to arrive; and a
        leader that restarts gets time to come back, for members that join now.
        """
        self._lost_leader = error, time.monotonic()
        self._early.clear()
        rounds = set(self._running)

        def fail(begun: bool) -> None:
            for number, member in list(self._members.items()):
                if (member.round_id in rounds) if begun else not member.round_id:
                    text = f"{member.call.title}: the group's leader is lost: {error.message}"
                    self._end_member(number, errors.UnavailableError(None, None, text))
                    self._end_round(member.round_id)

        fail(begun=False)
        if rounds:
            self._deadlines.after(timeouts.ARRIVAL_SECONDS, lambda: self._call_locked(fail, True))

    # The lock

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        finally:
            with self._lock:
                completed, self._completed = self._completed, []
            for future, value, error in completed:
                future.complete(value, error)

    def _call_locked(self, function: Callable[..., None], *arguments: Any) -> None:
        with self._locked():
            function(*arguments)

    # Messages

    def _tasks(self) -> list[str]:
        return [] if self._peers is None else list(self._peers.addresses)

    def _alive(self, place: Place) -> bool:
        if place == self.here:
            return True
        peer = self._reach(place[0])
        return peer is not None and peer.incarnation == place[1]

    def _reach(self, task: str) -> AnyPeer | None:
        return None if self._peers is None else self._peers.existing(task)

    def _tell(
        self,
        peer: Peer | None,
        verb: Verb,
        number: int,
        fields: dict[str, Any],
        tensors: Sequence[Any],
    ) -> None:
        """Sends a message as the leader to a member."""
        if peer is None:
            self._follow(verb, number, fields, tensors)
            return
        try:
            peer.tell(Kind.COLLECTIVE, number, verb, pack(fields), tensors)
        except errors.UnavailableError as e:
            log.debug("%s was not told of a collective: %s", peer.task, e.message)
        except errors.ResourceExhaustedError as e:
            if tensors:  # there is no memory for the copy that is sent
                failure = {"joins": fields["joins"], **error_fields(e)}
                self._tell(peer, Verb.FAIL, number, failure, ())

    def _to_leader(
        self, verb: Verb, number: int, fields: dict[str, Any], tensors: Sequence[Any] = ()
    ) -> None:
        """Sends a message as a member to the leader; keeps it until there is a connection."""
        if self._leading == self.here[0]:
            self._leader.receive(None, verb, number, fields, tensors)
            return
        peer = self._reach(self._leading) if self._outbox is None else None
        if peer is not None:
            streaming(peer).tell(Kind.COLLECTIVE, number, verb, pack(fields), tensors)
            return
        if self._outbox is None:
            self._outbox = []
            self._pool.submit(self._find_leader)
        self._outbox.append((number, verb, pack(fields), tensors))

    def _find_leader(self) -> None:
        """Connects to the leader, as long as members need it; then sends their messages."""
        assert self._peers is not None
        started = time.monotonic()
        while not self._closed:
            error: errors.OpError | None = None
            peer: Peer | None = None
            with self._lock:
                first = min((member.call.seconds for member in self._members.values()), default=0.0)
                lost = self._lost_leader
            left = max(first - (time.monotonic() - started), 0.1)
            if lost is not None and self._peers.silence:
                left = min(left, max(lost[1] + self._peers.silence - time.monotonic(), 0.1))
            try:
                peer = streaming(self._peers.get(self._leading, min(left, timeouts.LEADER_SECONDS)))
            except errors.OpError as e:
                error = e
            now = time.monotonic()
            waited = now - started
            with self._locked():
                assert self._outbox is not None
                if peer is not None:
                    self._lost_leader = None
                elif lost is not None and self._peers.silence and now - lost[1] >= self._peers.silence:
                    self._end_unled(lost[0], now - lost[1])
                for number, member in list(self._members.items()):
                    if peer is not None or member.round_id:
                        continue
                    late = waited >= member.call.seconds
                    if late or not isinstance(error, errors.UnavailableError):
                        assert error is not None
                        self._end_member(number, _unreached(member.call, waited, error) if late else error)
                if peer is None and self._members:
                    continue
                outbox, self._outbox = self._outbox, None
                if peer is not None:
                    self._deliver(peer, outbox)
                return

    def _deliver(self, peer: Peer, outbox: Sequence[tuple[int, Verb, bytes, Sequence[Any]]]) -> None:
        """Sends the leader what was kept for it."""
        for number, verb, meta, tensors in outbox:
            try:
                peer.tell(Kind.COLLECTIVE, number, verb, meta, tensors)
            except errors.UnavailableError as e:
                for member in list(self._members):
                    self._end_member(member, e)
                return
            except errors.OpError as e:  # such as no memory for the copy that is sent
                if verb == Verb.JOIN:
                    self._end_member(number, e)

    def _end_unled(self, error: errors.OpError, seconds: float) -> None:
        """Fails the members that joined after the loss of the leader, which has not come back."""
        for number, member in list(self._members.items()):
            if not member.round_id:
                lost = f"the group's leader is lost, for {seconds:.1f} s"
                text = f"{member.call.title}: {lost}: {error.message}"
                self._end_member(number, errors.UnavailableError(None, None, text))

    # Rounds

    def _follow(self, verb: int, round_id: int, fields: dict[str, Any], tensors: Sequence[Any]) -> None:
        """Handles a message of the leader."""
        if verb == Verb.FAIL:
            self._end_round(round_id)
            for number in fields["joins"]:
                self._end_member(number, error_of(fields))
            return
        joins = [int(number) for number in fields["joins"]]
        if verb == Verb.RESULT:
            if len(tensors) != 1:
                raise ValueError(f"the result of a collective came as {len(tensors)} tensors")
            known = [(str(device), int(incarnation)) for device, incarnation in fields["members"]]
            (result,) = tensors
            for number in joins:
                member = self._members.get(number)
                if member is not None and not member.call.may_result_in(result, len(known)):
                    text = f"{member.call.title} has a result {result.dtype}{list(result.shape)}"
                    self._end_member(number, errors.InternalError(None, None, text))
                self._complete(number, result, known)
            return
        if not all(number in self._members for number in joins):
            self._forget_round(round_id)  # a member has left meanwhile, which the leader will be told
            return
        members = [self._members[number] for number in joins]
        for member in members:
            member.round_id = round_id
        places = [(str(task), int(incarnation)) for task, incarnation in fields["tasks"]]
        before = places[fields["position"] - 1]
        following = places[(fields["position"] + 1) % len(places)][0]
        sender = ChunkSender(self._peers, following)
        ring = Ring(
            round_id,
            members[0].call,
            fields["position"],
            fields["counts"],
            fields["source"],
            [member.value for member in members],
            sender.send,
            self._finished,
        )
        for member in members:
            member.value = None
        known = [(str(device), int(incarnation)) for device, incarnation in fields["members"]]
        self._running[round_id] = Running(ring, joins, before, known)
        dropped = self._ended.get(round_id)
        if dropped is not None:
            self._broken(round_id, dropped)
            return
        self._pool.submit(self._begin, ring, self._early.take(round_id), sender if len(places) > 1 else None)

    def _begin(self, ring: Ring, early: list[tuple[int, Any]], sender: ChunkSender | None) -> None:
        def begin() -> None:
            if sender is not None:
                sender.connect()
            ring.begin()
            for number, array in early:
                ring.receive(number, array)

        self._guarded(ring, begin)

    def _guarded(self, ring: Ring, function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function of a ring, whose exceptions end the collective and not the thread."""
        try:
            function(*arguments)
            return
        except Exception as e:
            error = as_op_error(e, f"a collective on {self.here[0]}")
        with self._locked():
            self._broken(ring.round_id, error)

    def _broken(self, round_id: int, error: errors.OpError) -> None:
        """Ends a round here, and has the leader end it for the others."""
        running = self._running.get(round_id)
        if running is None:
            return
        title = next(
            (self._members[n].call.title for n in running.joins if n in self._members), "A collective"
        )
        failed = errors.from_code(error.error_code, f"{title}: {error.message}")
        self._end_round(round_id)
        for number in running.joins:
            self._end_member(number, failed)
        try:
            self._to_leader(Verb.BROKEN, round_id, error_fields(failed))
        except errors.OpError as e:
            log.debug("the leader was not told of a broken collective: %s", e.message)

    def _finished(self, ring: Ring) -> None:
        with self._locked():
            running = self._running.get(ring.round_id)
            if running is None:
                return  # it has failed meanwhile
            result = ring.result
            self._forget_round(ring.round_id)
            for number in running.joins:
                self._complete(number, result, running.members)
            try:
                self._to_leader(Verb.DONE, ring.round_id, {})
            except errors.OpError as e:
                log.debug("the leader was not told of the end of a collective: %s", e.message)

    def _complete(self, number: int, result: Any, members: list[Place]) -> None:
        """Gives a member its result, unless it has left."""
        member = self._members.pop(number, None)
        if member is not None:
            member.group.members = members
            self._completed.append((member.future, result, None))

    def _end_member(self, number: int, error: errors.OpError) -> None:
        member = self._members.pop(number, None)
        if member is not None:
            member.group.failures += 1
            member.group.members = []
            # Each gets its own exception, as it gets a traceback where it is raised.
            self._completed.append((member.future, None, errors.from_code(error.error_code, error.message)))

    def _end_round(self, round_id: int) -> None:
        running = self._running.get(round_id)
        if running is not None:
            running.ring.end()
        if round_id:
            self._forget_round(round_id)

    def _forget_round(self, round_id: int) -> None:
        self._running.pop(round_id, None)
        self._early.take(round_id)
        self._ended[round_id] = None
        if len(self._ended) > limits.REMEMBERED_ROUNDS:
            self._ended.popitem(last=False)


def _unreached(call: Call, seconds: float, error: errors.OpError) -> errors.OpError:
    return errors.DeadlineExceededError(
        None, None, f"{call.title}: its leader was not reached within {seconds:.1f} s: {error.message}"
    )
