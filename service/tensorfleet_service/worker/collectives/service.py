"""Collectives: the part of a task in the collectives of its devices.

Control messages are small, and one lock keeps them in order: each is sent under the lock under which it was
decided. Chunks of tensors take only the lock of their ring. Waiting members are Futures, which are completed
outside of the lock, as the waiting steps have locks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.collectives.call import (
    Call,
    Key,
    Place,
    Verb,
    describe,
    error_fields,
    error_of,
    unpack,
)
from tensorfleet_service.collectives.device_value import DeviceValue, on_host
from tensorfleet_service.collectives.exchange import Exchange
from tensorfleet_service.collectives.member import CollectiveMember, Counted, Group, Running
from tensorfleet_service.collectives.ring import Ring
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.executor.step import Step
from tensorfleet_service.net import timeouts
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.running import RUNNING
from tensorfleet_service.worker.collectives.connections import Connections
from tensorfleet_service.worker.collectives.gpu_rounds import GpuRounds
from tensorfleet_service.worker.collectives.host_rounds import HostRounds
from tensorfleet_service.worker.collectives.leader import Leader
from tensorfleet_service.worker.collectives.leader_link import LeaderLink
from tensorfleet_service.worker.collectives.nccl import NcclRound
from tensorfleet_service.worker.collectives.records import Records
from tensorfleet_service.worker.collectives.standing_rounds import StandingRounds
from tensorfleet_service.worker.collectives.undone_rounds import UndoneRounds

if TYPE_CHECKING:
    from tensorfleet.wire.frames import Frame
    from tensorfleet_service.net.peer import Peer
    from tensorfleet_service.net.peers import AnyPeer, Peers
    from tensorfleet_service.threads.pool import Pool


class Collectives:
    """The collectives of one task, which is its own leader until `connect` makes it a task of a cluster."""

    def __init__(self, task: str, incarnation: int, pool: Pool) -> None:
        self.seconds = timeouts.COLLECTIVE_SECONDS
        self._pool = pool
        self._deadlines = Deadlines()
        self._records = Records()
        self._connections = Connections((task, incarnation))
        self._leader = Leader(
            self._tell,
            self._connections.here,
            self._deadlines,
            self._records.call_locked,
            self._connections.is_alive,
            self._connections.tasks,
        )
        self._link = LeaderLink(
            self._records, self._connections, self._leader, pool, self._deadlines, self._end_member
        )
        self._host_rounds = HostRounds(self._records, self._connections, self._finished, self._broken)
        self._gpu_rounds = GpuRounds(self._finished, self._gpu_round_failed)
        self._undone = UndoneRounds(
            self._records,
            self._connections,
            self._link,
            self._deadlines,
            self._end_member,
            lambda *where: self._standing.take_back(*where),
        )
        self._standing = StandingRounds(
            self._records,
            self._connections,
            self._link,
            self._host_rounds,
            pool,
            self._deadlines,
            self._end_member,
            self._undone.tell,
        )

    def connect(self, peers: Peers, leader: str, seconds: float = 0.0) -> None:
        """Makes this task's devices members of groups of a cluster.

        Args:
            leader: the task that brings members together, the same for all tasks.
            seconds: the time that a member without a time of its own waits, 0 for COLLECTIVE_SECONDS.
        """
        self._connections.peers = peers
        self._link.task = leader
        self.seconds = seconds or timeouts.COLLECTIVE_SECONDS

    def __len__(self) -> int:
        """The number of records about collectives that have not ended."""
        with self._records.locked():
            return len(self._records) + len(self._leader)

    def close(self) -> None:
        self._link.close()
        with self._records.locked():
            self._undone.close()
        self._deadlines.close()

    # Called by kernels

    def group(self, device: str, group_key: int) -> Group:
        """The record of a group; the caller keeps it alive."""
        return self._records.group(device, group_key)

    def join(self, call: Call, value: Any, group: Group) -> Future:
        """Takes part in a collective of at least two members, with a value in the host's memory, or a GPU's.

        The future is completed with the result, an array that the members of this task share; on a GPU where
        all members are, with one on that GPU.
        """
        if not call.seconds:
            call = replace(call, seconds=self.seconds)
        if isinstance(value, DeviceValue) and self._standing.serves(call):
            value = value.to_host()
        step = RUNNING.step
        with self._records.locked():
            number = next(self._records.numbers)
            step_id = step.id if isinstance(step, Step) else 0
            future = Future(partial(self._leave, number, step_id), self)
            member = CollectiveMember(call, value, future, group, step=step_id)
            refusal = self._undone.refusal(member) if group.undone is not None else None
            self._records.members[number] = member
            if refusal is not None:
                self._end_member(number, refusal)
                return future
            begin = self._standing.begin(number, member)
            if begin is None:
                try:
                    self._link.send(Verb.JOIN, number, self._standing.request(member), member.small)
                except errors.OpError as e:
                    self._end_member(number, e)
        if begin is not None:
            begin()
        return future

    def stopped(self, device: str, key: Key, error: errors.OpError) -> None:
        """Tells the leader that a step failed before its collective began, so that nobody waits for it."""
        with self._records.locked():
            text = f"{describe(key)}: the step of {device} has failed: {error.message}"
            self._link.stopped(device, key, text)
            self._standing.stopped(device, key, text)

    def waits_for(self, future: Future) -> str:
        """A description of what a member of a collective waits for."""
        with self._records.locked():
            member = next((m for m in self._records.members.values() if m.future is future), None)
        if member is None:
            return "a collective, which has ended"
        if member.round_id:
            return f"{member.call.title}: the data of the other members"
        return f"{member.call.title}: the other members, to join at its leader {self._link.task}"

    def _leave(self, number: int, step_id: int, future: Future) -> None:
        """Takes a member out whose step has failed."""
        with self._records.locked():
            member = self._records.members.pop(number, None)
            if member is None:
                self._undone.step_failed(step_id, errors.AbortedError(None, None, "it has ended"))
                return
            member.group.failures += 1
            self._records.end_round(member.round_id)
            text = f"{member.call.title}: the step of its member {member.call.device} has ended before"
            error = errors.AbortedError(None, None, text)
            self._standing.failed(number, member, error)
            if member.is_known:
                self._undone.leave(number, member, error)

    def step_failed(self, step_id: int, error: errors.OpError) -> None:
        """Tells the other members that what they have from a step does not count."""
        with self._records.locked():
            self._undone.step_failed(step_id, error)

    def when_heard(self, function: Callable[[], None]) -> None:
        """Calls a function once the other members have heard of the steps that have failed until now."""
        self._undone.when_heard(function)

    # Called by the connections to other tasks

    def receive(self, peer: Peer, frame: Frame) -> None:
        """Handles a message about collectives. Raises ValueError if it is malformed."""
        try:
            fields = unpack(frame.meta)
            with self._records.locked():
                if frame.detail in (Verb.START, Verb.FAIL, Verb.RESULT):
                    self._follow(frame.detail, frame.number, fields, frame.tensors)
                elif frame.detail == Verb.VOID:
                    self._standing.voided(frame.number, fields)
                elif frame.detail == Verb.UNDONE:
                    self._undone.receive(peer, frame.number, fields)
                elif frame.detail == Verb.HEARD:
                    self._undone.heard((peer.task, peer.incarnation), frame.number)
                else:
                    self._leader.receive(peer, frame.detail, frame.number, fields, frame.tensors)
        except KeyError as e:
            raise ValueError(f"a message about a collective lacks {e}") from None
        except (IndexError, TypeError, OverflowError) as e:
            raise ValueError(f"a message about a collective contradicts itself: {e}") from None

    def chunk(self, round_id: int, number: int, array: Any) -> None:
        """Takes a part of a tensor, for a ring that has begun or will begin."""
        running = self._records.taker(round_id, number, array)
        if running is not None:
            self._host_rounds.receive(running.data, number, array)

    def lost(self, peer: AnyPeer) -> None:
        """Handles the end of the connection to another task."""
        place, error = (peer.task, peer.incarnation), peer.lost
        assert error is not None
        with self._records.locked():
            self._undone.lost(place)
            self._standing.lost(place)
            for round_id, running in list(self._records.running.items()):
                if place in running.tasks and running.data.needs(running.tasks.index(place)):
                    # Everything that it has sent has been read, but is not all.
                    gone = [
                        device
                        for device, incarnation in running.members
                        if (task_of(device), incarnation) == place
                    ]
                    text = f"it has lost its member {', '.join(gone)}: {error.message}"
                    self._broken(round_id, errors.from_code(error.error_code, text))
            if self._link.is_here:
                self._leader.lost(place, error)
            elif self._link.task == place[0]:
                self._records.early.clear()
                self._standing.leader_lost()
                self._link.lost(error)

    # Messages of the leader

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
        else:
            self._connections.tell(peer, verb, number, fields, tensors)

    def _follow(self, verb: int, round_id: int, fields: dict[str, Any], tensors: Sequence[Any]) -> None:
        """Handles a message of the leader."""
        if verb == Verb.UNDONE:
            self._undone.undo(round_id, fields)
            return
        if verb == Verb.FAIL:
            self._records.end_round(round_id)
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
                member = self._records.members.get(number)
                if member is not None and not member.call.may_result_in(result, len(known)):
                    text = f"{member.call.title} has a result {result.dtype}{list(result.shape)}"
                    self._end_member(number, errors.InternalError(None, None, text))
                self._complete(number, result, round_id, known)
                if member is not None and len(joins) == 1:
                    tasks = [(task_of(device), incarnation) for device, incarnation in known]
                    self._standing.allow(round_id, 0, member.call, known, tasks)
            return
        if not all(number in self._records.members for number in joins):
            self._records.forget_round(round_id)  # a member has left meanwhile, which the leader will be told
            return
        members = [self._records.members[number] for number in joins]
        for member in members:
            self._standing.overruled(member)
            member.round_id = round_id
        places = [(str(task), int(incarnation)) for task, incarnation in fields["tasks"]]
        known = [(str(device), int(incarnation)) for device, incarnation in fields["members"]]
        if "nccl" in fields:
            self._begin_on_gpus(self._gpu_rounds.make(round_id, members, fields), joins, places, known)
            return
        if any(isinstance(member.value, DeviceValue) for member in members):
            self._pool.submit(self._begin_with_copies, round_id, members, fields)
            return
        position, counts = int(fields["position"]), [int(count) for count in fields["counts"]]
        values = [member.value for member in members]
        for member in members:
            member.value = None
        data, sender = self._host_rounds.make(
            round_id, members[0].call, position, places, counts, fields["source"], values
        )
        begin = self._host_rounds.open(data, sender if len(places) > 1 else None, joins, places, known)
        if begin is None:
            return
        if len(joins) == 1:
            self._standing.allow(round_id, joins[0], members[0].call, known, places)
        self._pool.submit(begin)

    def _begin_with_copies(
        self, round_id: int, members: Sequence[CollectiveMember], fields: dict[str, Any]
    ) -> None:
        """Begins a round once the tensors of its members are in the host's memory."""
        error = None
        try:
            for member in members:
                member.value = on_host(member.value)
        except Exception as e:
            error = as_op_error(e, f"a collective on {self._connections.here[0]}")
        with self._records.locked():
            if error is None:
                self._follow(Verb.START, round_id, fields, ())
                return
            for number in fields["joins"]:
                self._end_member(number, error)
            self._link.tell(Verb.BROKEN, round_id, error_fields(error))

    def _begin_on_gpus(
        self, ring: NcclRound, joins: list[int], places: list[Place], known: list[Place]
    ) -> None:
        self._records.begin_round(ring.round_id, Running(ring, joins, places, known))
        try:
            self._gpu_rounds.add(ring)
        except RuntimeError as e:  # there is no thread
            self._gpu_round_failed(ring, e)

    def _gpu_round_failed(self, ring: NcclRound, error: BaseException) -> None:
        with self._records.locked():
            self._broken(ring.round_id, as_op_error(error, f"a collective on {self._connections.here[0]}"))

    # The ends of rounds and members

    def _broken(self, round_id: int, error: errors.OpError) -> None:
        """Ends a round here, and has the leader end it for the others."""
        running = self._records.running.get(round_id)
        if running is None:
            return
        title = next(
            (self._records.members[n].call.title for n in running.joins if n in self._records.members),
            "A collective",
        )
        failed = errors.from_code(error.error_code, f"{title}: {error.message}")
        self._records.end_round(round_id)
        stands = False
        for number in running.joins:
            member = self._records.members.get(number)
            if member is not None and member.standing is not None:
                stands = True
                if member.is_known:
                    self._link.tell(Verb.LEAVE, number, error_fields(failed))
            self._end_member(number, failed)
        if not stands:
            self._link.tell(Verb.BROKEN, round_id, error_fields(failed))

    def _finished(self, ring: Ring | Exchange | NcclRound) -> None:
        with self._records.locked():
            running = self._records.running.get(ring.round_id)
            if running is None:
                return  # it has failed meanwhile
            results = ring.results if isinstance(ring, NcclRound) else [ring.result] * len(running.joins)
            self._records.forget_round(ring.round_id)
            stands = False
            for number, result in zip(running.joins, results, strict=True):
                member = self._records.members.get(number)
                if member is not None and member.standing is not None:
                    stands = True
                    if member.is_known:
                        self._link.tell(Verb.LEFT, number, {})
                self._complete(number, result, ring.round_id, running.members)
            if not stands:
                self._link.tell(Verb.DONE, ring.round_id, {})

    def _complete(self, number: int, result: Any, round_id: int, members: list[Place]) -> None:
        """Gives a member its result, unless it has left."""
        member = self._records.members.get(number)
        if member is None:
            return
        error = self._undone.of_result(round_id, member)
        if error is not None:
            self._end_member(number, error)
        else:
            del self._records.members[number]
            self._standing.completed(number, member)
            member.group.count(member.call.instance_key, Counted(round_id, member.step, members))
            self._records.complete(member, result, None)

    def _end_member(
        self,
        number: int,
        error: errors.OpError,
        tells: bool = True,
        told: errors.OpError | None = None,
    ) -> None:
        """Ends a member with an error; see `Fail`."""
        member = self._records.members.pop(number, None)
        if member is not None:
            if member.standing is not None:
                self._records.end_round(member.round_id)
            self._standing.failed(number, member, (told or error) if tells else None)
            member.group.failures += 1
            member.group.members = []
            # Each gets its own exception, as it gets a traceback where it is raised.
            own = errors.from_code(error.error_code, error.message)
            self._records.complete(member, None, own)
