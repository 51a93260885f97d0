"""Leader: brings the members of each collective together, starts it, and ends it for all if one cannot go on.

One task of the cluster is the leader. It keeps state only about collectives that have not ended: the members
that have come, and the tasks that are not done. Its methods are called under the lock of the task's
`Collectives`, and its messages reach every task in the order in which they were sent.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
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
    order,
)
from tensorfleet_service.collectives.ring import combine
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.net import limits
from tensorfleet_service.worker.collectives import nccl
from tensorfleet_service.worker.collectives.led_rounds import Join, LedRound

if TYPE_CHECKING:
    from tensorfleet_service.net.peer import Peer
    from tensorfleet_service.threads.deadlines import Deadlines

_REMEMBERED_STOPS = 100

_LEADING_JOBS = ("chief", "master", "worker")

Send = Callable[["Peer | None", Verb, int, dict[str, Any], Sequence[Any]], None]
"""Sends a message with tensors to a task, or to this one for None; those to lost peers are dropped."""


def choose(tasks: Iterable[str], configured: str) -> str:
    """The leader: `ConfigProto.experimental.collective_group_leader`, else the first chief, master or worker,
    else the first of all tasks.

    Raises:
        InvalidArgumentError: the configured task is not in the cluster.
    """
    names = {order(task)[:3]: task for task in tasks}
    if configured:
        found = names.get(order(configured)[:3])
        if found is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"collective_group_leader {configured} is not a task of the cluster, which has "
                f"{', '.join(sorted(names.values()))}",
            )
        return found
    jobs = [job for job in _LEADING_JOBS if any(name[0] == job for name in names)]
    return names[min(name for name in names if not jobs or name[0] == jobs[0])]


class Leader:
    """The rounds of all groups.

    Args:
        send: see `Send`.
        here: the leader's own task.
        deadlines: calls `expire`, by way of `locked`, a function that calls another one under the lock.
        alive: whether a task's process is still connected.
        tasks: all tasks of the cluster.
    """

    def __init__(
        self,
        send: Send,
        here: Place,
        deadlines: Deadlines,
        locked: Callable[..., None],
        alive: Callable[[Place], bool],
        tasks: Callable[[], Iterable[str]],
    ) -> None:
        self._send = send
        self._here = here
        self._deadlines = deadlines
        self._locked = locked
        self._alive = alive
        self._tasks = tasks
        # Several for one key if a device has come again before the others, as steps may overlap.
        self._pending: dict[Key, list[LedRound]] = {}
        self._rounds: dict[int, LedRound] = {}
        self._joins: dict[tuple[Place, int], LedRound] = {}
        self._communicators: dict[int, tuple[list[tuple[str, int, int]], str]] = {}
        # What may be undone: small rounds by their members' joins, and others that have failed for some.
        self._answered: OrderedDict[tuple[Place, int], LedRound] = OrderedDict()
        self._failed: OrderedDict[int, tuple[LedRound, errors.OpError, int]] = OrderedDict()
        self._stops: deque[tuple[float, Key, str, str]] = deque(maxlen=_REMEMBERED_STOPS)

    def __len__(self) -> int:
        return len(self._rounds) + len(self._pending) + len(self._joins)

    def receive(
        self,
        peer: Peer | None,
        verb: int,
        number: int,
        fields: dict[str, Any],
        tensors: Sequence[Any] = (),
    ) -> None:
        """Handles a message from a task; None is this one."""
        place = self._here if peer is None else (peer.task, peer.incarnation)
        match verb:
            case Verb.JOIN | Verb.LATE:
                self._join(Join.of_message(peer, place, verb, number, fields, tensors))
            case Verb.LEAVE:
                error = error_of({"code": errors.ABORTED} | fields)
                self._leave(place, number, error, int(fields.get("step", 0)))
                if peer is not None and "ask" in fields:
                    self._send(peer, Verb.HEARD, int(fields["ask"]), {}, ())
            case Verb.LEFT:
                self._left(place, number)
            case Verb.DONE:
                self._done(place[0], number)
            case Verb.BROKEN:
                if number in self._rounds:
                    self._fail(self._rounds[number], errors.from_code(fields["code"], fields["text"]))
            case Verb.STOPPED:
                key = fields["group_key"], fields["instance_key"]
                self._note_stop(key, fields["device"], fields["text"])
                for waiting in list(self._pending.get(key, ())):
                    if fields["device"] not in waiting.joins:
                        self._fail(waiting, errors.AbortedError(None, None, fields["text"]))
            case _:
                raise ValueError(f"the leader of a collective has received a message of kind {verb}")

    def _leave(self, place: Place, number: int, error: errors.OpError, step: int) -> None:
        found = self._joins.get((place, number))
        if found is not None:
            self._note_stop(found.key, found.device_of(place, number), error.message)
            self._fail(found, error, step=step)
            return
        answered = self._answered.get((place, number))
        if answered is not None:
            # It has left before it got its result, which has counted for the others.
            others = [
                join for join in answered.joins.values() if (join.place, join.number) != (place, number)
            ]
            self._undo(answered, others, error, step)

    def _undo(self, ended: LedRound, done: Iterable[Join], error: errors.OpError, step: int) -> None:
        """Tells members that have their results of a round that it has failed for another one."""
        fields = {"key": ended.key, "step": step} | error_fields(error)
        for peer in {join.place: join.peer for join in done}.values():
            self._send(peer, Verb.UNDONE, ended.id, fields, ())

    def _join(self, join: Join) -> None:
        call = join.call
        for device, incarnation in join.known:
            if not self._alive((task_of(device), incarnation)):
                self._refuse(
                    join, errors.UnavailableError(None, None, f"{call.title} has lost its member {device}")
                )
                return
        now = time.monotonic()
        for at, key, device, text in self._stops:
            # Who stopped when the leader did not know yet that this member waits.
            if key == call.key and device != call.device and now - at < join.age:
                self._refuse(join, errors.AbortedError(None, None, text))
                return
        pending = self._pending.setdefault(call.key, [])
        for other in pending:
            found = other.joins.get(call.device)
            if found is not None and found.call.name != call.name:
                self._refuse(join, _twice(found.call, call))
                return
        waiting = next(
            (
                other
                for other in pending
                if call.device not in other.joins and all(map(join.may_meet, other.joins.values()))
            ),
            None,
        )
        if waiting is None:
            waiting = LedRound(secrets.randbits(63), call.key, started=now - join.age)
            self._rounds[waiting.id] = waiting
            pending.append(waiting)
        first = next(iter(waiting.joins.values()), join)
        waiting.joins[call.device] = join
        self._joins[join.place, join.number] = waiting
        text = first.call.difference(call)
        if text:
            self._fail(waiting, errors.InvalidArgumentError(None, None, f"{call.title}: {text}"))
            return
        self._limit(waiting, max(call.seconds - join.age, 0.0))
        if len(waiting.joins) == call.group_size:
            self._start(waiting)

    def _limit(self, waiting: LedRound, seconds: float) -> None:
        """Ends the round after `seconds`, unless it has ended before."""
        if waiting.deadline is not None:
            if waiting.deadline.time <= time.monotonic() + seconds:
                return
            waiting.deadline.cancel()
        waiting.deadline = self._deadlines.after(seconds, lambda: self._locked(self._expire, waiting))

    def _start(self, complete: LedRound) -> None:
        self._settle(complete)
        ranks = [complete.joins[device] for device in sorted(complete.joins, key=order)]
        senders = [join.call.device for join in ranks if join.call.sends]
        if ranks[0].call.kind == "broadcast" and len(senders) != 1:
            names = ", ".join(senders) or "none"
            text = f"{describe(complete.key)} needs one sender, but has {len(senders)}: {names}"
            self._fail(complete, errors.InvalidArgumentError(None, None, text))
            return
        places = list(dict.fromkeys(join.place for join in ranks))
        twice = len({task for task, _ in places}) != len(places)
        if twice:  # a task has restarted, and its earlier joins have not been failed yet
            self._fail(
                complete, errors.AbortedError(None, None, f"{describe(complete.key)}: a task restarted")
            )
            return
        members = [(join.call.device, join.place[1]) for join in ranks]
        if ranks[0].base and all(join.base == ranks[0].base for join in ranks):
            complete.stands = True  # they have begun it themselves, and say when they are done
            complete.active = {task for task, _ in places}
            return
        communicator = self._communicator_of(complete.key[0], ranks)
        if ranks[0].call.is_small:
            self._answer(complete, ranks, members)
            return
        complete.active = {task for task, _ in places}
        for position, place in enumerate(places):
            own = [join for join in ranks if join.place == place]
            start = {
                "joins": [join.number for join in own],
                "tasks": places,
                "position": position,
                "counts": [sum(join.place == other for join in ranks) for other in places],
                "source": places.index(complete.joins[senders[0]].place) if senders else 0,
                "members": members,
            }
            if communicator is not None:
                start["nccl"] = {
                    "id": communicator,
                    "ranks": [ranks.index(join) for join in own],
                    "source": next((i for i, join in enumerate(ranks) if join.call.sends), 0),
                }
            self._send(own[0].peer, Verb.START, complete.id, start, ())

    def _communicator_of(self, group_key: int, ranks: list[Join]) -> str | None:
        """The id of the NCCL communicator of these members; None where they use the ring.

        It is that of the group's last round, unless a round has failed since, or a device has a new record of
        the group, as in a new session: an id serves to connect all of the members once.
        """
        if ranks[0].call.is_small or not nccl.serves([join.call for join in ranks]):
            return None
        members = [(join.call.device, join.place[1], join.record) for join in ranks]
        known = self._communicators.pop(group_key, None)
        found = known[1] if known is not None and known[0] == members else nccl.new_id()
        if found is not None:
            self._communicators[group_key] = members, found
            if len(self._communicators) > limits.REMEMBERED_COMMUNICATORS:
                del self._communicators[next(iter(self._communicators))]
        return found

    def _answer(self, complete: LedRound, ranks: list[Join], members: list[Place]) -> None:
        """Computes the result of small tensors and sends it to all: the way through the ring is longer."""
        try:
            result = combine(ranks[0].call, [join.value for join in ranks])
        except Exception as e:
            self._fail(complete, as_op_error(e, f"{describe(complete.key)} on {self._here[0]}"))
            return
        self._forget(complete)
        for join in complete.joins.values():
            join.value = None
            _remember(self._answered, (join.place, join.number), complete)
        for joins in complete.by_task():
            fields = {"joins": [join.number for join in joins], "members": members}
            self._send(joins[0].peer, Verb.RESULT, complete.id, fields, (result,))

    def _done(self, task: str, round_id: int) -> None:
        running = self._rounds.get(round_id)
        if running is not None:
            running.active.discard(task)
            if not running.active:
                self._forget(running)
        elif round_id in self._failed:  # for the others, before it could be told
            failed, error, step = self._failed[round_id]
            self._undo(failed, failed.done(task), error, step)

    def _left(self, place: Place, number: int) -> None:
        """Handles the end of a standing round on a task."""
        found = self._joins.get((place, number))
        if found is None:
            return
        if found.stands:
            self._done(place[0], found.id)
            return
        device = found.device_of(place, number)
        if found.active:
            text = f"{describe(found.key)}: its member {device} has ended it with others"
            self._fail(found, errors.AbortedError(None, None, text))
            return
        del found.joins[device], self._joins[place, number]
        if not found.joins:
            self._forget(found)

    def _note_stop(self, key: Key, device: str, text: str) -> None:
        """Remembers for a moment who will not come, for members that have waited without the leader."""
        self._stops.append((time.monotonic(), key, device, text))

    def _settle(self, settled: LedRound) -> None:
        """Removes a round from those that members may join."""
        pending = self._pending.get(settled.key, [])
        if settled in pending:
            pending.remove(settled)
            if not pending:
                del self._pending[settled.key]

    def _forget(self, ended: LedRound) -> None:
        del self._rounds[ended.id]
        self._settle(ended)
        for join in ended.joins.values():
            self._joins.pop((join.place, join.number), None)
        if ended.deadline is not None and ended.deadline.pending:
            ended.deadline.cancel()

    def _fail(
        self, failed: LedRound, error: errors.OpError, lost: Place | None = None, step: int = 0
    ) -> None:
        """Ends a round for all members that have come, because of a lost task, or of a member's step."""
        self._communicators.pop(failed.key[0], None)
        self._forget(failed)
        if failed.active and not failed.stands and failed.active != {lost and lost[0]}:
            self._undo(failed, failed.done(), error, step)
            for join in failed.joins.values():
                join.value = None
            _remember(self._failed, failed.id, (failed, error, step))
        for joins in failed.by_task():
            self._send(joins[0].peer, Verb.FAIL, failed.id, _failure(joins, error), ())

    def _refuse(self, join: Join, error: errors.OpError) -> None:
        """Fails a single member."""
        self._send(join.peer, Verb.FAIL, 0, _failure([join], error), ())

    def lost(self, place: Place, error: errors.OpError) -> None:
        """Fails the collectives that a lost process of a task has joined, or is known to belong to.

        Except those that are done on it: a task that still lacks its data notices the loss itself.
        """
        for found in list(self._rounds.values()):
            members = {(join.call.device, join.place[1]) for join in found.joins.values()}
            if not found.active:
                members.update(member for join in found.joins.values() for member in join.known)
            elif place[0] not in found.active:
                continue
            gone = [device for device, incarnation in members if (task_of(device), incarnation) == place]
            if gone:
                names = ", ".join(sorted(gone, key=order))
                text = f"{describe(found.key)} has lost its member {names}: {error.message}"
                self._fail(found, errors.UnavailableError(None, None, text), lost=place)

    def _expire(self, late: LedRound) -> None:
        if late.id not in self._rounds:
            return
        joins = sorted(late.joins, key=order)
        seconds = time.monotonic() - late.started
        if late.active:
            text = f"is not done on {', '.join(sorted(late.active, key=order))} after {seconds:.1f} s"
        else:
            size = late.joins[joins[0]].call.group_size
            text = (
                f"has waited {seconds:.1f} s: {len(joins)} of {size} members have come "
                f"({', '.join(joins)}), and {self._missing(late, joins)}"
            )
        self._fail(late, errors.DeadlineExceededError(None, None, f"{describe(late.key)} {text}"))

    def _missing(self, late: LedRound, joins: Sequence[str]) -> str:
        """The missing members of the group's last collective, else the tasks without a member here."""
        known = {device for join in late.joins.values() for device, _ in join.known} - late.joins.keys()
        if known:
            return f"these have not: {', '.join(sorted(known, key=order))}"
        jobs = {order(device)[0] for device in joins}
        here = {join.place[0] for join in late.joins.values()}
        absent = [t for t in self._tasks() if t not in here and order(t)[0] in jobs]
        if absent:
            return f"none of {', '.join(sorted(absent, key=order))}"
        return "no other device of these tasks"


def _remember(records: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    records[key] = value
    if len(records) > limits.REMEMBERED_GROUPS:
        records.popitem(last=False)


def _failure(joins: Sequence[Join], error: errors.OpError) -> dict[str, Any]:
    return {"joins": [join.number for join in joins], **error_fields(error)}


def _twice(first: Call, second: Call) -> errors.OpError:
    return errors.InvalidArgumentError(
        None,
        None,
        f"{second.title}: '{second.name}' on {second.device} runs while '{first.name}' there waits in "
        "the same collective. Give each collective its own instance_key.",
    )
