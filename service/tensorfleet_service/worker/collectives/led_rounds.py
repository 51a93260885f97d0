"""The leader's records of collectives that have not ended: the members that have come to each of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tensorfleet_service.collectives.call import Call, Key, Place, Verb

if TYPE_CHECKING:
    from tensorfleet_service.net.peer import Peer
    from tensorfleet_service.threads.deadlines import Deadline


@dataclass(slots=True)
class Join:
    """A member that has come.

    Attributes:
        peer: its task's connection, None on the leader's own task.
        value: its tensor, where it is small and not to be received.
        after: the last standing round that it has begun before, by its base and number.
        base, rounds: the standing round that it has begun itself; 0 if it has not.
        age: the time that it has waited, in seconds.
        record: the number of the device's record of the group, which has its part of a communicator.
        step: the number of the member's step.
    """

    peer: Peer | None
    place: Place
    number: int
    call: Call
    known: list[Place]
    value: Any
    after: tuple[int, int] | None = None
    base: int = 0
    rounds: int = 0
    age: float = 0.0
    record: int = 0
    step: int = 0

    @classmethod
    def of_message(
        cls,
        peer: Peer | None,
        place: Place,
        verb: int,
        number: int,
        fields: dict[str, Any],
        tensors: Sequence[Any],
    ) -> Join:
        """The member that a JOIN or LATE tells of.

        Raises:
            ValueError, KeyError, TypeError: the message is malformed.
        """
        known = [(str(device), int(incarnation)) for device, incarnation in fields["known"]]
        call = Call.from_dict(fields["call"])
        join = cls(peer, place, number, call, known, _small_value(call, tensors))
        join.record, join.step = int(fields.get("record", 0)), int(fields.get("step", 0))
        if fields["after"] is not None:
            base, rounds = fields["after"]
            join.after = int(base), int(rounds)
        if verb == Verb.LATE:
            join.base, join.rounds = int(fields["base"]), int(fields["rounds"])
            join.age = max(0.0, float(fields["age"]))  # 0 for NaN
        return join

    def may_meet(self, other: Join) -> bool:
        """Whether the other member may be in the same round, and does not come from the one of this."""
        if self.base and other.base == self.base:
            return self.rounds == other.rounds
        return not (self._is_behind(other) or other._is_behind(self))

    def _is_behind(self, other: Join) -> bool:
        """Whether this member is in a standing round that the other one has begun before."""
        return (
            self.base != 0
            and other.after is not None
            and (other.after[0] == self.base and other.after[1] >= self.rounds)
        )


@dataclass(slots=True, eq=False)
class LedRound:
    """A collective that has not ended.

    Attributes:
        joins: the members that have come, by device.
        active: the tasks that are not done yet, once it has begun.
        stands: whether its members have begun it themselves.
    """

    id: int
    key: Key
    joins: dict[str, Join] = field(default_factory=dict)
    active: set[str] = field(default_factory=set)
    started: float = field(default_factory=time.monotonic)
    stands: bool = False
    deadline: Deadline | None = None

    def done(self, task: str = "") -> list[Join]:
        """The members on tasks that are done, or those on this one."""
        if not self.active and not task:
            return []
        return [
            join
            for join in self.joins.values()
            if (join.place[0] == task if task else join.place[0] not in self.active)
        ]

    def device_of(self, place: Place, number: int) -> str:
        """The device that has come by a join, whose number is one among those of its task."""
        return next(
            device for device, join in self.joins.items() if (join.place, join.number) == (place, number)
        )

    def by_task(self) -> Iterable[list[Join]]:
        """The members that have come, those of a task together."""
        tasks: dict[Place, list[Join]] = {}
        for join in self.joins.values():
            tasks.setdefault(join.place, []).append(join)
        return tasks.values()


def _small_value(call: Call, tensors: Sequence[Any]) -> Any:
    """The tensor that came with a request to join; None where none belongs there.

    Raises:
        ValueError: there is one too many or too few, or it is not what the request says.
    """
    has_value = call.is_small and (call.kind != "broadcast" or call.sends)
    if len(tensors) != has_value:
        raise ValueError(f"a request to join a collective came with {len(tensors)} tensors")
    if not has_value:
        return None
    (value,) = tensors
    if value.shape != call.shape or value.dtype != call.dtype:
        raise ValueError(f"a request to join a collective came with a tensor {value.dtype}{value.shape}")
    return value
