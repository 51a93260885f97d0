"""Standing rounds: a group that has met once meets again without asking its leader.

After a round that the leader began, its members' next collectives of the same call are the rounds with the
next numbers. Each device counts them for itself, and takes part in one at a time, so all count the same. A
member that has come begins at once. Only where the others let it wait does it tell the leader, which then
knows of it as of any other member: it ends the round if one of them is lost, fails or never comes, and begins
a new round with those who came by another way.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorfleet_service.collectives.call import Call, Place
from tensorfleet_service.collectives.exchange import suits

_MASK = (1 << 63) - 1


@dataclass(slots=True, eq=False)
class Standing:
    """A device's leave to begin its next round of a collective.

    Attributes:
        base: the number of the round that the leader began.
        call: the device's call in it.
        members: the devices, in the order of their ranks, with the incarnations of their tasks.
        tasks: their tasks.
        position: the device's rank.
        rounds: how many rounds the device has begun since.
        join: the number of its join of the round under way, else 0.
    """

    base: int
    call: Call
    members: list[Place]
    tasks: list[Place]
    position: int
    rounds: int = 0
    join: int = 0

    def round_id(self, later: int = 0) -> int:
        """The number of the round that was begun last, or of one after it."""
        return (self.base + self.rounds + later) & _MASK


def standing(base: int, call: Call, members: list[Place], tasks: list[Place]) -> Standing | None:
    """The leave that a round gives to one of its members; None for groups that meet by the leader each time.

    These are groups with several members on a task, broadcasts, whose sender could be any number of rounds
    ahead of the others, and small tensors of many tasks.
    """
    if len(set(tasks)) != len(tasks) or len(tasks) < 2 or call.kind == "broadcast":
        return None
    if call.is_small and not suits(call, len(tasks)):
        return None
    position = next((i for i, (device, _) in enumerate(members) if device == call.device), None)
    return None if position is None else Standing(base, call, members, tasks, position)
