"""A task's records of its devices in collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tensorfleet.core import errors
from tensorfleet_service.collectives.call import Call, Key, Place
from tensorfleet_service.collectives.ring import Ring
from tensorfleet_service.threads.future import Future


class Group:
    """A device's record of one of its groups, kept as long as a kernel of a session refers to it.

    Attributes:
        members: the members of the last successful collective, with the incarnations of their tasks.
        failures: the number of its collectives that have failed here.
    """

    __slots__ = ("__weakref__", "failures", "members")

    def __init__(self) -> None:
        self.members: list[Place] = []
        self.failures = 0


@dataclass(slots=True)
class CollectiveMember:
    """A device of this task in a collective that has not ended."""

    call: Call
    value: Any
    future: Future
    group: Group
    round_id: int = 0


@dataclass(slots=True)
class Running:
    """A ring that this task takes part in.

    Attributes:
        joins: the task's members.
        before: the task that it receives from.
        members: all members.
    """

    ring: Ring
    joins: list[int]
    before: Place
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
