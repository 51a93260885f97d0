"""UndoneRounds: what becomes of rounds that have counted for some members, and not for another one's step.

No exchange of messages lets all members end a round in the same way if each may end at any moment: whoever
sends the last one cannot know that it arrives. So a member whose step fails tells the others of every round
that they may have counted: of the one that it waits in, and of those that its step has the results of. Where
such a round has counted, the step that it has counted in fails; if that has ended already, the group's next
collective there fails in its place, once, and says so. Whoever is told of a failed step is told after the
others have heard, so steps that begin later do not meet it.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.collectives.call import Key, Place, Verb, describe, error_fields, error_of
from tensorfleet_service.collectives.member import Undone
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.net import limits, timeouts

if TYPE_CHECKING:
    from tensorfleet_service.collectives.member import CollectiveMember, Counted, Group
    from tensorfleet_service.net.peer import Peer
    from tensorfleet_service.threads.deadlines import Deadlines
    from tensorfleet_service.worker.collectives.connections import Connections
    from tensorfleet_service.worker.collectives.leader_link import LeaderLink
    from tensorfleet_service.worker.collectives.records import Records
    from tensorfleet_service.worker.collectives.standing_rounds import Fail


NOT_COUNTED = "does not count"
"""What a step says that fails in place of an earlier one."""


class UndoneRounds:
    """Tells other tasks of failed steps, and hears of theirs; under the lock, but for `when_heard`.

    Args:
        fail: ends the member with this number by an error.
        take_back: has a device count a round as one that it has not taken part in.
    """

    def __init__(
        self,
        records: Records,
        connections: Connections,
        link: LeaderLink,
        deadlines: Deadlines,
        fail: Fail,
        take_back: Callable[[str, Key, int], None],
    ) -> None:
        self._records = records
        self._connections = connections
        self._link = link
        self._deadlines = deadlines
        self._fail = fail
        self._take_back = take_back
        self._numbers = itertools.count(1)
        self._undone: OrderedDict[int, tuple[int, Key, errors.OpError]] = OrderedDict()  # by rounds
        self._asked: dict[int, set[Place]] = {}  # who has not answered
        self._waiting: list[tuple[set[int], Callable[[], None]]] = []
        self._closed = False

    def close(self) -> None:
        """Waits for nobody any more: the deadlines of those that do not answer have ended, too."""
        self._closed = True
        for number in list(self._asked):
            self._forget(number)

    # Of this task's steps

    def tell(self, tasks: Iterable[Place], round_id: int, key: Key, step: int, error: errors.OpError) -> None:
        """Tells the tasks of a round that it has not counted for a member here, and for its step."""
        fields = {"key": key, "step": step} | error_fields(error)
        connections = self._connections
        number = next(self._numbers)
        asked: set[Place] = set()
        unreached = []
        for place in dict.fromkeys(tasks):
            peer = connections.stream(place)
            if peer is not None:
                connections.tell(peer, Verb.UNDONE, round_id, fields | {"ask": number})
                asked.add(place)
            elif place != connections.here:
                unreached.append(place)
        leader = self._link.peer()
        if unreached and leader is not None:
            # The leader's word reaches these before the result of any later round with this task.
            connections.tell(leader, Verb.UNDONE, round_id, fields | {"ask": number, "tasks": unreached})
            asked.add((leader.task, leader.incarnation))
        self._ask(number, asked)
        self.undo(round_id, fields)

    def leave(self, number: int, member: CollectiveMember, error: errors.OpError) -> None:
        """Tells the leader of a member that leaves; a round that it has answered already is undone by it."""
        fields = error_fields(error) | {"step": member.step}
        leader = self._link.peer()
        if leader is not None:
            fields["ask"] = asked = next(self._numbers)
            self._ask(asked, {(leader.task, leader.incarnation)})
        self._link.tell(Verb.LEAVE, number, fields)

    def step_failed(self, step: int, error: errors.OpError) -> None:
        """Tells the others of the rounds whose results a failed step has had."""
        if not step:
            return  # the body of a function: it is not known which step it is of
        for _, _, group in self._records.groups():
            if group.undone is not None and group.undone.step == step:
                group.undone = None  # it has failed, as it had to
            if group.told is not None and group.told[0] == step and NOT_COUNTED not in error.message:
                group.undone = group.told[1]  # the step has ended for another reason, and said nothing of it
                group.told = None
        counted = self._take_counted(step)
        self._give_back(counted)
        for device, key, found in counted:
            text = f"the step of its member {device} has failed after it: {error.message}"
            places = [(task_of(device), incarnation) for device, incarnation in found.members]
            self.tell(places, found.round_id, key, step, errors.AbortedError(None, None, text))

    def _take_counted(self, step: int) -> list[tuple[str, Key, Counted]]:
        """Removes and returns the rounds that have counted in a step, with their devices and keys."""
        return [
            (device, (group_key, instance_key), found)
            for device, group_key, group in self._records.groups()
            for instance_key, found in group.take_counted(step)
        ]

    def _give_back(self, counted: list[tuple[str, Key, Counted]]) -> None:
        for device, key, found in counted:
            self._take_back(device, key, found.round_id)

    def _ask(self, number: int, places: set[Place]) -> None:
        if places and not self._closed:
            self._asked[number] = places
            self._deadlines.after(
                timeouts.HEARD_SECONDS, lambda: self._records.call_locked(self._forget, number)
            )

    def when_heard(self, function: Callable[[], None]) -> None:
        """Calls a function when the others have heard of the steps that have failed until now.

        It does not wait for those that are lost, nor longer than HEARD_SECONDS. The function is called
        without the lock, by this thread or another one, and must not block.
        """
        if self._asked:
            with self._records.locked():
                if self._asked:
                    self._waiting.append((set(self._asked), function))
                    return
        function()

    def heard(self, place: Place, number: int) -> None:
        """Handles that a task has heard."""
        missing = self._asked.get(number)
        if missing is not None:
            missing.discard(place)
            if not missing:
                self._forget(number)

    def lost(self, place: Place) -> None:
        """Handles that a task is lost."""
        for number in list(self._asked):
            self.heard(place, number)

    def _forget(self, number: int) -> None:
        if self._asked.pop(number, None) is None:
            return
        waiting, self._waiting = self._waiting, []
        for numbers, function in waiting:
            numbers.discard(number)
            if numbers:
                self._waiting.append((numbers, function))
            else:
                self._records.afterwards(function)

    # Of the steps of others

    def receive(self, peer: Peer, round_id: int, fields: dict[str, Any]) -> None:
        """Handles that a round has not counted for a member of another task, and answers.

        Args:
            fields: with "tasks" to which this one, the leader, is to hand it on.
        """
        self.undo(round_id, fields)
        about = {name: fields[name] for name in ("key", "step", "code", "text")}
        for task, incarnation in fields.get("tasks", ()):
            other = self._connections.stream((str(task), int(incarnation)))
            if other is not None:
                self._connections.tell(other, Verb.UNDONE, round_id, about)
        if "ask" in fields:
            self._connections.tell(peer, Verb.HEARD, int(fields["ask"]), {})

    def undo(self, round_id: int, fields: dict[str, Any]) -> None:
        """Fails the steps of this task that a round has counted in, or what comes after them."""
        group_key, instance_key = (int(part) for part in fields["key"])
        step, error = int(fields["step"]), error_of(fields)
        # Its last data, or its result, may come by another connection, and later.
        self._undone[round_id] = step, (group_key, instance_key), error
        if len(self._undone) > limits.REMEMBERED_ROUNDS:
            self._undone.popitem(last=False)
        for device, key, group in self._records.groups():
            found = group.counted.get(instance_key) if key == group_key else None
            if found is not None and found.round_id == round_id and (found.step != step or not step):
                self._undo(device, group, found.step, (group_key, instance_key), error)

    def _undo(self, device: str, group: Group, step: int, key: Key, error: errors.OpError) -> None:
        if step:
            counted = self._take_counted(step)  # a step is undone once, whatever it has counted
        else:  # it is not known what else is of the same step
            counted = [(device, key, group.counted.pop(key[1]))]
        undone = Undone(step, key, error)
        own = [
            (number, member)
            for number, member in self._records.members.items()
            if (step and member.step == step) or (member.group is group and member.call.device == device)
        ]
        own.sort(key=lambda each: each[1].step != step)
        group.undone = undone
        for number, member in own:
            if member.step != step and group.undone is not undone:
                continue  # the one before has been told
            refusal = self.refusal(member, group)
            if refusal is not None:
                call = member.call
                text = f"{call.title}: the step of its member {call.device} has failed: {error.message}"
                told = errors.AbortedError(None, None, text)
                self._fail(number, refusal, told=told)
                if member.is_known:
                    self._link.tell(Verb.LEAVE, number, error_fields(told))
        self._give_back(counted)

    def of_result(self, round_id: int, member: CollectiveMember) -> errors.OpError | None:
        """The error for a member that gets its result, if that does not count."""
        found = self._undone.get(round_id)
        if found is None:
            return None
        step, key, error = found
        if step and member.step == step:
            return None
        return _ended(member, key, error)

    def refusal(self, member: CollectiveMember, group: Group | None = None) -> errors.OpError | None:
        """The error for a member that comes, or waits, after something was undone; None where nothing was."""
        group = group or member.group
        undone = group.undone
        if undone is None:
            return None
        why = undone.error.message
        if undone.step and member.step == undone.step:
            return _ended(member, undone.key, undone.error)
        group.undone, group.told = None, (member.step, undone)
        text = f"{member.call.title}: the last result of {describe(undone.key)} {NOT_COUNTED}: {why}"
        return errors.from_code(undone.error.error_code, text)


def _ended(member: CollectiveMember, key: Key, error: errors.OpError) -> errors.OpError:
    text = f"{member.call.title}: {describe(key)} has failed for another member: {error.message}"
    return errors.from_code(error.error_code, text)
