"""StandingRounds: a task's part in rounds that begin without the leader (`collectives/standing.py`)."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tensorfleet.core import errors
from tensorfleet_service.collectives.call import Call, Key, Place, Verb, error_fields, error_of
from tensorfleet_service.collectives.device_value import DeviceValue
from tensorfleet_service.collectives.standing import Standing, standing
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.worker.collectives.sender import ChunkSender

if TYPE_CHECKING:
    from tensorfleet_service.collectives.member import CollectiveMember
    from tensorfleet_service.threads.deadlines import Deadlines
    from tensorfleet_service.threads.pool import Pool
    from tensorfleet_service.worker.collectives.connections import Connections
    from tensorfleet_service.worker.collectives.host_rounds import HostRounds
    from tensorfleet_service.worker.collectives.leader_link import LeaderLink
    from tensorfleet_service.worker.collectives.records import Records

log = logging.getLogger(__name__)

_AT_ONCE_BYTES = 1 << 20
"""Bytes of a tensor up to which the thread that joins sends it itself."""

_Where = tuple[str, Key]
"""A device and a collective."""


class Fail(Protocol):
    """Ends the member with this number by an error.

    It tells the others of its round of this error or, if given, `told`, unless `tells` is false.
    """

    def __call__(
        self,
        number: int,
        error: errors.OpError,
        tells: bool = True,
        told: errors.OpError | None = None,
    ) -> None: ...


class StandingRounds:
    """The leaves of a task's devices to begin rounds; under the lock of `records`, but for `serves`."""

    def __init__(
        self,
        records: Records,
        connections: Connections,
        link: LeaderLink,
        rounds: HostRounds,
        pool: Pool,
        deadlines: Deadlines,
        fail: Fail,
        tell_undone: Callable[[Sequence[Place], int, Key, int, errors.OpError], None],
    ) -> None:
        self._records = records
        self._connections = connections
        self._link = link
        self._rounds = rounds
        self._pool = pool
        self._deadlines = deadlines
        self._fail = fail
        self._tell_undone = tell_undone
        self._leaves: OrderedDict[_Where, Standing] = OrderedDict()
        self._retired: OrderedDict[_Where, Standing] = OrderedDict()
        self._watching = False

    def __len__(self) -> int:
        """The number of leaves."""
        return len(self._leaves)

    def serves(self, call: Call) -> bool:
        """Whether the device's next round may begin without the leader."""
        return (call.device, call.key) in self._leaves

    def allow(self, base: int, join: int, call: Call, members: list[Place], tasks: list[Place]) -> None:
        """Lets a device begin its next rounds without the leader, after one that the leader has begun.

        Args:
            base: the number of that round.
            join: the device's join, if this round has not ended.
        """
        found = standing(base, call, members, tasks)
        if found is None:
            return
        where = call.device, call.key
        self._retire(where)
        if any(
            other.call.key == call.key and other.call.device == call.device and number != join
            for number, other in self._records.members.items()
        ):
            # Steps overlap, so the devices do not count the same: all of them go by the leader.
            self._records.forget_round(found.round_id(1))
            self._void(found, found.round_id(1))
            return
        found.join = join
        self._leaves[where] = found
        if len(self._leaves) > limits.REMEMBERED_GROUPS:
            oldest = next(iter(self._leaves))
            dropped = self._retire(oldest)
            assert dropped is not None
            self._void(dropped, dropped.round_id(1))
        here = self._connections.here
        if not join and any(self._connections.existing(task) is None for task, _ in tasks if task != here[0]):
            self._pool.submit(self._connect, [task for task in tasks if task != here])

    def _connect(self, tasks: Sequence[Place]) -> None:
        """Makes the connections by which later rounds go."""
        try:
            ChunkSender(self._connections.peers, tasks).connect()
        except errors.OpError as e:
            log.debug("a group goes on by its leader: %s", e.message)

    def begin(self, number: int, member: CollectiveMember) -> Callable[[], None] | None:
        """Begins a round if the member may; returns the function that sends its data, without the lock.

        Returns:
            None where the member has to ask the leader.
        """
        call = member.call
        where = call.device, call.key
        found = self._leaves.get(where)
        if found is None:
            return None
        if found.join or found.call.difference(call) or isinstance(member.value, DeviceValue):
            self._retire(where)
            self._void(found, found.round_id(1))
            before = self._records.members.get(found.join)
            if before is not None and not before.is_known:
                self._tell_late(found.join, before)  # first, as it came first
            return None
        counts = [1] * len(found.tasks)
        data, sender = self._rounds.make(
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
        self._leaves.move_to_end(where)
        begin = self._rounds.open(data, None, [number], found.tasks, found.members)
        if begin is None:
            return _nothing
        if not self._watching:
            self._watch()
        if member.value.nbytes <= _AT_ONCE_BYTES:
            return begin
        self._pool.submit(begin)
        return _nothing

    def _watch(self) -> None:
        self._watching = True
        self._deadlines.after(timeouts.LATE_SECONDS, lambda: self._records.call_locked(self._look_for_late))

    def _look_for_late(self) -> None:
        """Tells the leader of members that wait for others for long."""
        now = time.monotonic()
        self._watching = False
        for number, member in list(self._records.members.items()):
            if member.is_known:
                continue
            if now - member.began >= timeouts.LATE_SECONDS:
                self._tell_late(number, member)
            else:
                self._watching = True
        if self._watching:
            self._watch()

    def _tell_late(self, number: int, member: CollectiveMember, left: bool = False) -> None:
        """Tells the leader of a member that waits; it leaves the round that it waits in, or stays in it."""
        found = member.standing
        assert found is not None
        member.is_known = True
        fields = self.request(member) | {
            "known": found.members,
            "base": found.base,
            "rounds": found.rounds,
            "age": time.monotonic() - member.began,
        }
        if left:
            self._records.end_round(member.round_id)
            if found.round_id() == member.round_id:
                found.rounds -= 1
            member.round_id = 0
        try:
            self._link.send(Verb.LATE, number, fields, member.small)
        except errors.OpError as e:
            self._fail(number, e)

    def request(self, member: CollectiveMember) -> dict[str, Any]:
        """What the leader is told of a member that comes.

        With it goes the last round that the device has begun and not given up: others may still be in it.
        """
        found = self._retired.get((member.call.device, member.call.key))
        return {
            "call": member.call.to_dict(),
            "known": member.group.members,
            "after": None if found is None else (found.base, found.rounds),
            "record": member.group.number,
            "step": member.step,
        }

    def completed(self, number: int, member: CollectiveMember) -> None:
        """Handles the end of a member that has its result."""
        if member.standing is not None:
            self._records.end_round(member.round_id)  # unless the result is that of this round
        found = self._leaves.get((member.call.device, member.call.key))
        if found is not None and found.join == number:
            found.join = 0

    def overruled(self, member: CollectiveMember) -> None:
        """Handles that the leader begins another round with a member that has begun one itself."""
        if member.standing is not None:
            self._records.end_round(member.round_id)
            self._retire((member.call.device, member.call.key))
            member.standing = None

    def failed(self, number: int, member: CollectiveMember, error: errors.OpError | None) -> None:
        """Ends the leave by which a failed member came; tells the other members if there is an error."""
        found = member.standing
        current = self._leaves.get((member.call.device, member.call.key))
        if current is not None and (current is found or current.join == number):
            found = current
            self._retire((member.call.device, member.call.key))
        if found is not None and member.standing is found and found.round_id() == member.round_id:
            found.rounds -= 1  # it has not taken part
        if found is None or error is None or not member.round_id:
            return
        if not member.is_known:
            # Before others may come again.
            self._link.stopped(member.call.device, member.call.key, error.message)
        self._void(found, member.round_id, error)
        self._tell_undone(found.tasks, member.round_id, member.call.key, member.step, error)

    def take_back(self, device: str, key: Key, round_id: int) -> None:
        """Handles that the result of a round does not count: others may still wait in it."""
        self._retire((device, key))
        found = self._retired.get((device, key))
        if found is not None and found.round_id() == round_id:
            found.rounds -= 1

    def stopped(self, device: str, key: Key, text: str) -> None:
        """Handles that a device will not come."""
        found = self._retire((device, key))
        if found is not None:
            self._void(found, found.round_id(1), errors.AbortedError(None, None, text))

    def lost(self, place: Place) -> None:
        """Ends the leaves of groups with a task that is lost."""
        for where, found in list(self._leaves.items()):
            if place in found.tasks:
                self._retire(where)

    def leader_lost(self) -> None:
        """Ends all leaves."""
        for where in list(self._leaves):
            self._retire(where)

    def _retire(self, where: _Where) -> Standing | None:
        """Ends a leave to begin rounds. One that is under way goes on."""
        found = self._leaves.pop(where, None)
        if found is not None:
            self._records.forget_round(found.round_id(1))  # others may have begun it
            self._retired[where] = found
            self._retired.move_to_end(where)
            if len(self._retired) > limits.REMEMBERED_GROUPS:
                self._retired.popitem(last=False)
        return found

    def _void(self, found: Standing, round_id: int, error: errors.OpError | None = None) -> None:
        """Tells the others that there will be no more of these rounds; with an error, not even this one."""
        fields: dict[str, Any] = {"base": found.base}
        if error is not None:
            fields["error"] = error_fields(error)
        connections = self._connections
        for place in found.tasks:
            peer = connections.stream(place)
            if peer is not None:
                connections.tell(peer, Verb.VOID, round_id, fields)

    def voided(self, round_id: int, fields: dict[str, Any]) -> None:
        """Ends standing rounds that another member has ended."""
        base = int(fields["base"])
        for where, found in list(self._leaves.items()):
            if found.base == base:
                self._retire(where)
        for number, member in list(self._records.members.items()):
            if member.standing is None or member.standing.base != base:
                continue
            left = "error" in fields and member.round_id == round_id
            if not member.is_known:
                # The leader knows whether it waited already when the other one left, or has come since. What
                # that one has sent may still arrive, and is no part of what the leader decides.
                self._tell_late(number, member, left)
            elif left:
                self._link.tell(Verb.LEAVE, number, fields["error"])
                self._fail(number, error_of(fields["error"]), tells=False)


def _nothing() -> None:
    """For data that another thread sends, or nobody."""
