"""A task's records of its devices in collectives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tensorfleet.core import errors
from tensorfleet_service.collectives.call import Call, Key, Place
from tensorfleet_service.collectives.standing import Standing
from tensorfleet_service.threads.future import Future

_numbers = itertools.count(1)

_REMEMBERED_KEYS = 1_000
"""Collectives of a group whose last rounds are remembered."""


class Counted(NamedTuple):
    """A round that a member has the result of, in the step with this number, or 0."""

    round_id: int
    step: int
    members: list[Place]


class Undone(NamedTuple):
    """A collective whose result does not count, as another member's step has failed.

    Attributes:
        step: the number of the step here that has had the result.
        key: of the collective.
        error: why.
    """

    step: int
    key: Key
    error: errors.OpError


class Group:
    """A device's record of one of its groups, kept as long as a kernel of a session refers to it.

    Attributes:
        counted: the last round of each collective that the device has the result of, by instance key.
        undone: what the step that it has counted in, or the device's next collective, has to fail for.
        told: the number of the last step that had to fail for such a thing of an earlier one, and that.
        members: the members of the last successful collective, with the incarnations of their tasks.
        failures: the number of its collectives that have failed here.
        communicator: the device's part of the group's NCCL communicator, once there is one.
        number: that of the record among those of the process, from 1 on.
    """

    __slots__ = ("__weakref__", "communicator", "counted", "failures", "members", "number", "told", "undone")

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.communicator: Any = None
        self.members: list[Place] = []
        self.failures = 0
        self.counted: dict[int, Counted] = {}
        self.undone: Undone | None = None
        self.told: tuple[int, Undone] | None = None

    def count(self, instance_key: int, counted: Counted) -> None:
        """Notes a round that has counted."""
        self.members = counted.members
        self.counted[instance_key] = counted
        if len(self.counted) > _REMEMBERED_KEYS:
            del self.counted[next(iter(self.counted))]

    def take_counted(self, step: int) -> list[tuple[int, Counted]]:
        """Removes and returns the rounds that have counted in a step, with their instance keys."""
        found = [(key, counted) for key, counted in self.counted.items() if counted.step == step]
        for key, _ in found:
            del self.counted[key]
        return found


@dataclass(slots=True)
class CollectiveMember:
    """A device of this task in a collective that has not ended.

    Attributes:
        standing: the leave by which it has begun without the leader.
        began: the monotonic time of that.
        is_known: whether the leader has been told of it.
        step: the number of its step, 0 if it has none.
    """

    call: Call
    value: Any
    future: Future
    group: Group
    round_id: int = 0
    standing: Standing | None = None
    began: float = 0.0
    is_known: bool = True
    step: int = 0

    @property
    def small(self) -> Sequence[Any]:
        """The tensor that goes to the leader with the request to join, if one does."""
        return (self.value,) if self.call.is_small and self.value is not None else ()


class Round(Protocol):
    """What brings the members' data together: a ring, an exchange, or NCCL."""

    @property
    def round_id(self) -> int: ...
    def receive(self, number: int, array: Any) -> None: ...
    def needs(self, position: int) -> bool: ...
    def end(self) -> None: ...


@dataclass(slots=True)
class Running:
    """A ring, or an exchange, that this task takes part in.

    Attributes:
        joins: the task's members.
        tasks: all tasks that take part, in their order.
        members: all members.
    """

    data: Round
    joins: list[int]
    tasks: list[Place]
    members: list[Place]


class Collectives(Protocol):
    """A task's part in collectives, as its kernels see it (`worker/collectives/service.py`)."""

    def group(self, device: str, group_key: int) -> Group:
        """A device's record of one of its groups."""
        ...

    def join(self, call: Call, value: Any, group: Group) -> Future:
        """Takes part with a value; the Future gets the result."""
        ...

    def stopped(self, device: str, key: Key, error: errors.OpError) -> None:
        """Notes that a step failed before the device came to its collective."""
        ...
