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
from tensorfleet_service.collectives.device_value import DeviceValue, on_host
from tensorfleet_service.collectives.exchange import Exchange, suits
from tensorfleet_service.collectives.member import CollectiveMember, Group, Round, Running
from tensorfleet_service.collectives.ring import Ring
from tensorfleet_service.collectives.standing import Standing, standing
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.threads.future import Future
from tensorfleet_service.worker.collectives.early import EarlyChunks
from tensorfleet_service.worker.collectives.leader import Leader
from tensorfleet_service.worker.collectives.nccl import NcclRound, Rounds
from tensorfleet_service.worker.collectives.sender import ChunkSender, streaming

if TYPE_CHECKING:
    from tensorfleet.wire.frames import Frame
    from tensorfleet_service.net.peers import AnyPeer, Peers
    from tensorfleet_service.threads.pool import Pool

log = logging.getLogger(__name__)

_AT_ONCE_BYTES = 1 << 20
"""Bytes of a tensor up to which the thread that joins sends it itself."""


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
        self._standing: OrderedDict[tuple[str, Key], Standing] = OrderedDict()
        self._retired: OrderedDict[tuple[str, Key], Standing] = OrderedDict()
        self._watching = False
        self._closed = False
        self._completed: list[tuple[Future, Any, errors.OpError | None]] = []
        self._gpu_rounds = Rounds(self._gpu_round_failed)
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
        """Takes part in a collective of at least two members, with a value in the host's memory, or a GPU's.

        The future is completed with the result, an array that the members of this task share; on a GPU where
        all members are, with one on that GPU.
        """
        if not call.seconds:
            call = replace(call, seconds=self.seconds)
        if isinstance(value, DeviceValue) and (call.device, call.key) in self._standing:
            value = value.to_host()
        with self._locked():
            number = next(self._numbers)
            future = Future(partial(self._leave, number), self)
            member = CollectiveMember(call, value, future, group)
            self._members[number] = member
            begin = self._begin_standing(number, member)
            if begin is None:
                fields = self._request(member)
                try:
                    self._to_leader(Verb.JOIN, number, fields, _small(member))
                except errors.OpError as e:
                    self._end_member(number, e)
        if begin is not None:
            begin()
        return future

    def stopped(self, device: str, key: Key, error: errors.OpError) -> None:
        """Tells the leader that a step failed before its collective began, so that nobody waits for it."""
        with self._locked():
            text = f"{describe(key)}: the step of {device} has failed: {error.message}"
            self._stop(device, key, text)
            found = self._retire((device, key))
            if found is not None:
                self._void(found, found.round_id(1), errors.AbortedError(None, None, text))

    def _stop(self, device: str, key: Key, text: str) -> None:
        """Tells the leader of a device that will not come."""
        if self._leading != self.here[0] and not isinstance(self._reach(self._leading), Peer):
            return  # without a leader, no member waits
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
            self._give_up(number, member, errors.AbortedError(None, None, text))
            if member.is_known:
                self._tell_leader(Verb.LEAVE, number, {"text": text})

    # Called by the connections to other tasks

    def receive(self, peer: Peer, frame: Frame) -> None:
        """Handles a message about collectives. Raises ValueError if it is malformed."""
        try:
            fields = unpack(frame.meta)
            with self._locked():
                if frame.detail in (Verb.START, Verb.FAIL, Verb.RESULT):
                    self._follow(frame.detail, frame.number, fields, frame.tensors)
                elif frame.detail == Verb.VOID:
                    self._voided(frame.number, fields)
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
        self._guarded(running.data, running.data.receive, number, array)

    def lost(self, peer: AnyPeer) -> None:
        """Handles the end of the connection to another task."""
        place, error = (peer.task, peer.incarnation), peer.lost
        assert error is not None
        with self._locked():
            for where, found in list(self._standing.items()):
                if place in found.tasks:
                    self._retire(where)
            for round_id, running in list(self._running.items()):
                if place in running.tasks and running.data.needs(running.tasks.index(place)):
                    # Everything that it has sent has been read, but is not all.
                    gone = [
                        device
                        for device, incarnation in running.members
                        if (task_of(device), incarnation) == place
                    ]
                    text = f"it has lost its member {', '.join(gone)}: {error.message}"
                    self._broken(round_id, errors.from_code(error.error_code, text))
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
        for where in list(self._standing):
            self._retire(where)
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

    # Standing rounds

    def _let_stand(self, base: int, join: int, call: Call, members: list[Place], tasks: list[Place]) -> None:
        """Lets a device begin its next rounds without the leader, after one that the leader has begun.

        Args:
            join: the device's join, if this round has not ended.
        """
        found = standing(base, call, members, tasks)
        if found is None:
            return
        where = call.device, call.key
        self._retire(where)
        if any(
            other.call.key == call.key and other.call.device == call.device and number != join
            for number, other in self._members.items()
        ):
            # Steps overlap, so the devices do not count the same: all of them go by the leader.
            self._forget_round(found.round_id(1))
            self._void(found, found.round_id(1))
            return
        found.join = join
        self._standing[where] = found
        if len(self._standing) > limits.REMEMBERED_GROUPS:
            oldest = next(iter(self._standing))
            dropped = self._retire(oldest)
            assert dropped is not None
            self._void(dropped, dropped.round_id(1))
        if not join and any(self._reach(task) is None for task, _ in tasks if task != self.here[0]):
            self._pool.submit(self._connect, [task for task in tasks if task != self.here])

    def _connect(self, tasks: Sequence[Place]) -> None:
        """Makes the connections by which later rounds go."""
        try:
            ChunkSender(self._peers, tasks).connect()
        except errors.OpError as e:
            log.debug("a group goes on by its leader: %s", e.message)

    def _begin_standing(self, number: int, member: CollectiveMember) -> Callable[[], None] | None:
        """Begins a round without the leader if the member may; the function that sends its data."""
        call = member.call
        where = call.device, call.key
        found = self._standing.get(where)
        if found is None:
            return None
        if found.join or found.call.difference(call) or isinstance(member.value, DeviceValue):
            self._retire(where)
            self._void(found, found.round_id(1))
            before = self._members.get(found.join)
            if before is not None and not before.is_known:
                self._tell_late(found.join, before)  # first, as it came first
            return None
        counts = [1] * len(found.tasks)
        data, sender = self._data(
            found.round_id(1), call, found.position, found.tasks, counts, 0, [member.value]
        )
        if not sender.is_connected():
            self._retire(where)
            self._void(found, found.round_id(1))
            return None
        found.rounds += 1
        found.join = number
        member.round_id = found.round_id()
        member.standing = found
        member.began = time.monotonic()
        member.is_known = False
        self._standing.move_to_end(where)
        self._running[member.round_id] = Running(data, [number], found.tasks, found.members)
        dropped = self._ended.get(member.round_id)
        if dropped is not None:
            self._broken(member.round_id, dropped)
            return _nothing
        if not self._watching:
            self._watching = True
            self._deadlines.after(timeouts.LATE_SECONDS, lambda: self._call_locked(self._look_for_late))
        begin = partial(self._begin, data, self._early.take(member.round_id))
        if member.value.nbytes <= _AT_ONCE_BYTES:
            return begin
        self._pool.submit(begin)
        return _nothing

    def _look_for_late(self) -> None:
        """Tells the leader of members that wait for others for long."""
        now = time.monotonic()
        self._watching = False
        for number, member in list(self._members.items()):
            if member.is_known:
                continue
            if now - member.began >= timeouts.LATE_SECONDS:
                self._tell_late(number, member)
            else:
                self._watching = True
        if self._watching:
            self._deadlines.after(timeouts.LATE_SECONDS, lambda: self._call_locked(self._look_for_late))

    def _tell_late(self, number: int, member: CollectiveMember) -> None:
        assert member.standing is not None
        member.is_known = True
        fields = self._request(member) | {
            "known": member.standing.members,
            "base": member.standing.base,
            "rounds": member.standing.rounds,
            "age": time.monotonic() - member.began,
        }
        try:
            self._to_leader(Verb.LATE, number, fields, _small(member))
        except errors.OpError as e:
            self._end_member(number, e)

    def _retire(self, where: tuple[str, Key]) -> Standing | None:
        """Ends a leave to begin rounds. One that is under way goes on."""
        found = self._standing.pop(where, None)
        if found is not None:
            self._forget_round(found.round_id(1))  # others may have begun it
            self._retired[where] = found
            self._retired.move_to_end(where)
            if len(self._retired) > limits.REMEMBERED_GROUPS:
                self._retired.popitem(last=False)
        return found

    def _request(self, member: CollectiveMember) -> dict[str, Any]:
        """What the leader is told of a member that comes."""
        group = member.group
        after = self._after(member.call)
        return {
            "call": member.call.to_dict(),
            "known": group.members,
            "after": after,
            "record": group.number,
        }

    def _after(self, call: Call) -> tuple[int, int] | None:
        """The last standing round that a device has begun and not given up: others may still be in it."""
        found = self._retired.get((call.device, call.key))
        return None if found is None else (found.base, found.rounds)

    def _give_up(self, number: int, member: CollectiveMember, error: errors.OpError | None) -> None:
        """Ends the leave by which a failed member came; tells the other members if there is an error."""
        found = member.standing
        current = self._standing.get((member.call.device, member.call.key))
        if current is not None and (current is found or current.join == number):
            found = current
            self._retire((member.call.device, member.call.key))
        if found is not None and member.standing is found and found.round_id() == member.round_id:
            found.rounds -= 1  # it has not taken part
        if found is None or error is None:
            return
        if not member.is_known:
            self._stop(member.call.device, member.call.key, error.message)  # before others may come again
        self._void(found, member.round_id, error)

    def _void(self, found: Standing, round_id: int, error: errors.OpError | None = None) -> None:
        """Tells the others that there will be no more of these rounds; with an error, not even this one."""
        fields: dict[str, Any] = {"base": found.base}
        if error is not None:
            fields["error"] = error_fields(error)
        for task, incarnation in found.tasks:
            if not self._alive((task, incarnation)) or task == self.here[0]:
                continue
            peer = self._reach(task)
            if isinstance(peer, Peer):
                self._tell(peer, Verb.VOID, round_id, fields, ())

    def _voided(self, round_id: int, fields: dict[str, Any]) -> None:
        """Ends standing rounds that another member has ended."""
        base = int(fields["base"])
        for where, found in list(self._standing.items()):
            if found.base == base:
                self._retire(where)
        for number, member in list(self._members.items()):
            if member.standing is None or member.standing.base != base:
                continue
            left = "error" in fields and member.round_id == round_id
            if not member.is_known:
                if left:
                    # What the other one has sent may still arrive, and is no part of what the leader decides.
                    self._end_round(round_id)
                # The leader knows whether it waited already when the other one left, or has come since.
                self._tell_late(number, member)
            elif left:
                self._tell_leader(Verb.LEAVE, number, fields["error"])
                self._end_member(number, error_of(fields["error"]), tells=False)

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
                if member is not None and len(joins) == 1:
                    tasks = [(task_of(device), incarnation) for device, incarnation in known]
                    self._let_stand(round_id, 0, member.call, known, tasks)
            return
        if not all(number in self._members for number in joins):
            self._forget_round(round_id)  # a member has left meanwhile, which the leader will be told
            return
        members = [self._members[number] for number in joins]
        for member in members:
            if member.standing is not None:
                self._end_round(member.round_id)
                self._retire((member.call.device, member.call.key))
                member.standing = None
            member.round_id = round_id
        if "nccl" in fields:
            self._begin_on_gpus(round_id, joins, members, fields)
            return
        if any(isinstance(member.value, DeviceValue) for member in members):
            self._pool.submit(self._begin_with_copies, round_id, members, fields)
            return
        places = [(str(task), int(incarnation)) for task, incarnation in fields["tasks"]]
        known = [(str(device), int(incarnation)) for device, incarnation in fields["members"]]
        position, counts = int(fields["position"]), [int(count) for count in fields["counts"]]
        values = [member.value for member in members]
        for member in members:
            member.value = None
        data, sender = self._data(
            round_id, members[0].call, position, places, counts, fields["source"], values
        )
        self._running[round_id] = Running(data, joins, places, known)
        dropped = self._ended.get(round_id)
        if dropped is not None:
            self._broken(round_id, dropped)
            return
        if len(joins) == 1:
            self._let_stand(round_id, joins[0], members[0].call, known, places)
        self._pool.submit(self._begin, data, self._early.take(round_id), sender if len(places) > 1 else None)

    def _begin_with_copies(
        self, round_id: int, members: Sequence[CollectiveMember], fields: dict[str, Any]
    ) -> None:
        """Begins a round once the tensors of its members are in the host's memory."""
        error = None
        try:
            for member in members:
                member.value = on_host(member.value)
        except Exception as e:
            error = as_op_error(e, f"a collective on {self.here[0]}")
        with self._locked():
            if error is None:
                self._follow(Verb.START, round_id, fields, ())
                return
            for number in fields["joins"]:
                self._end_member(number, error)
            self._tell_leader(Verb.BROKEN, round_id, error_fields(error))

    def _begin_on_gpus(
        self, round_id: int, joins: list[int], members: list[CollectiveMember], fields: dict[str, Any]
    ) -> None:
        """Begins a round that NCCL runs."""
        about = fields["nccl"]
        known = [(str(device), int(incarnation)) for device, incarnation in fields["members"]]
        parts = [
            (member.call, member.value, int(rank), member.group)
            for member, rank in zip(members, about["ranks"], strict=True)
        ]
        for member in members:
            member.value = None
        if not all(isinstance(value, DeviceValue) for _, value, *_ in parts):
            raise ValueError("a collective was to run on GPUs, and has members that are on none")
        ring = NcclRound(round_id, parts, str(about["id"]), len(known), int(about["source"]), self._finished)
        places = [(str(task), int(incarnation)) for task, incarnation in fields["tasks"]]
        self._running[round_id] = Running(ring, joins, places, known)
        try:
            self._gpu_rounds.add(ring)
        except RuntimeError as e:  # there is no thread
            self._broken(round_id, as_op_error(e, f"a collective on {self.here[0]}"))

    def _gpu_round_failed(self, ring: NcclRound, error: BaseException) -> None:
        with self._locked():
            self._broken(ring.round_id, as_op_error(error, f"a collective on {self.here[0]}"))

    def _data(
        self,
        round_id: int,
        call: Call,
        position: int,
        tasks: Sequence[Place],
        counts: Sequence[int],
        source: int,
        values: list[Any],
    ) -> tuple[Ring | Exchange, ChunkSender]:
        """This task's part in the data of a round, and what sends it."""
        if sum(counts) == len(tasks) and suits(call, len(tasks)):
            others = [task for i, task in enumerate(tasks) if i != position]
            sender = ChunkSender(self._peers, others)
            (value,) = values
            return Exchange(round_id, call, position, len(tasks), value, sender.send, self._finished), sender
        sender = ChunkSender(self._peers, [tasks[(position + 1) % len(tasks)]])
        return Ring(round_id, call, position, counts, source, values, sender.send, self._finished), sender

    def _begin(
        self, data: Ring | Exchange, early: list[tuple[int, Any]], sender: ChunkSender | None = None
    ) -> None:
        def begin() -> None:
            if sender is not None:
                sender.connect()
            data.begin()
            for number, array in early:
                data.receive(number, array)

        self._guarded(data, begin)

    def _guarded(self, ring: Round, function: Callable[..., None], *arguments: Any) -> None:
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
        stands = False
        for number in running.joins:
            member = self._members.get(number)
            if member is not None and member.standing is not None:
                stands = True
                if member.is_known:
                    self._tell_leader(Verb.LEAVE, number, error_fields(failed))
            self._end_member(number, failed)
        if not stands:
            self._tell_leader(Verb.BROKEN, round_id, error_fields(failed))

    def _finished(self, ring: Ring | Exchange | NcclRound) -> None:
        with self._locked():
            running = self._running.get(ring.round_id)
            if running is None:
                return  # it has failed meanwhile
            results = ring.results if isinstance(ring, NcclRound) else [ring.result] * len(running.joins)
            self._forget_round(ring.round_id)
            stands = False
            for number, result in zip(running.joins, results, strict=True):
                member = self._members.get(number)
                if member is not None and member.standing is not None:
                    stands = True
                    if member.is_known:
                        self._tell_leader(Verb.LEFT, number, {})
                self._complete(number, result, running.members)
            if not stands:
                self._tell_leader(Verb.DONE, ring.round_id, {})

    def _tell_leader(self, verb: Verb, number: int, fields: dict[str, Any]) -> None:
        """Tells the leader of an end, which it notices itself if it cannot be told."""
        try:
            self._to_leader(verb, number, fields)
        except errors.OpError as e:
            log.debug("the leader was not told of the end of a collective: %s", e.message)

    def _complete(self, number: int, result: Any, members: list[Place]) -> None:
        """Gives a member its result, unless it has left."""
        member = self._members.pop(number, None)
        if member is not None:
            if member.standing is not None:
                self._end_round(member.round_id)  # unless the result is that of this round
            found = self._standing.get((member.call.device, member.call.key))
            if found is not None and found.join == number:
                found.join = 0
            member.group.members = members
            self._completed.append((member.future, result, None))

    def _end_member(self, number: int, error: errors.OpError, tells: bool = True) -> None:
        """Ends a member with an error, of which it tells the other members of a standing round, or not."""
        member = self._members.pop(number, None)
        if member is not None:
            if member.standing is not None:
                self._end_round(member.round_id)
            self._give_up(number, member, error if tells else None)
            member.group.failures += 1
            member.group.members = []
            # Each gets its own exception, as it gets a traceback where it is raised.
            self._completed.append((member.future, None, errors.from_code(error.error_code, error.message)))

    def _end_round(self, round_id: int) -> None:
        running = self._running.get(round_id)
        if running is not None:
            running.data.end()
            if isinstance(running.data, NcclRound):
                self._gpu_rounds.ended(running.data)
        if round_id:
            self._forget_round(round_id)

    def _forget_round(self, round_id: int) -> None:
        self._running.pop(round_id, None)
        self._early.take(round_id)
        self._ended[round_id] = None
        if len(self._ended) > limits.REMEMBERED_ROUNDS:
            self._ended.popitem(last=False)


def _small(member: CollectiveMember) -> Sequence[Any]:
    """What goes to the leader with a request to join."""
    return (member.value,) if member.call.is_small and member.value is not None else ()


def _nothing() -> None:
    """For data that another thread sends, or nobody."""


def _unreached(call: Call, seconds: float, error: errors.OpError) -> errors.OpError:
    return errors.DeadlineExceededError(
        None, None, f"{call.title}: its leader was not reached within {seconds:.1f} s: {error.message}"
    )
