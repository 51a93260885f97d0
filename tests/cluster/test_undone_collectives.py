"""Steps that end while others may have counted them: these are told, and none goes on a step apart."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.ops.collective import collective_ops
from tensorfleet_service.collectives.call import Verb
from tensorfleet_service.net import timeouts
from tests.cluster import ops
from tests.cluster.together import Servers, device, soon, together

SMALL, LARGE = 3, 100_000
SIZES = pytest.mark.parametrize("size", [SMALL, LARGE])
NOT_COUNTED = "the last result of Collective with group_key 1 and instance_key 7 does not count"


class Member:
    """A worker's session: its step reduces what it is fed so many times, and may fail after that.

    Between two reductions it waits at a gate, through which `open` lets it pass ten times.
    """

    def __init__(self, servers: Servers, rank: int, count: int, times: int = 1) -> None:
        with tf.Graph().as_default() as graph, device(rank):
            self._x = tf.placeholder(tf.float64)
            self._results = [collective_ops.all_reduce(self._x, count, 1, 7, timeout=20.0)]
            gate = tf.FIFOQueue(1000, [tf.bool], [[]])
            self._open = gate.enqueue_many([[True] * 10])
            for i in range(1, times):
                with tf.control_dependencies(self._results):
                    passed = gate.dequeue()
                with tf.control_dependencies([passed]):
                    self._results.append(collective_ops.all_reduce(self._x, count, 1, 7 + i, timeout=20.0))
            with tf.control_dependencies(self._results):
                self._failed = ops.fail(tf.constant(1.0), errors.DATA_LOSS, "bad data", "bad")
        config = tf.ConfigProto(device_filters=[f"/job:worker/task:{rank}"])
        self.session = tf.Session(servers.target(rank), graph=graph, config=config)
        self.worker = servers.servers[rank]._worker
        self.collectives = self.worker.collectives

    def reduce(self, value: float, size: int = SMALL, milliseconds: int = 20_000) -> float:
        """The sum, which is the same in all elements of all results."""
        options = tf.RunOptions(timeout_in_ms=milliseconds)
        results = self.session.run(self._results, {self._x: np.full(size, value)}, options)
        (found,) = {element for result in results for element in result}
        return float(found)

    def open(self) -> None:
        self.session.run(self._open)

    def fail(self, value: float, size: int = SMALL) -> Any:
        return self.session.run(self._failed, {self._x: np.full(size, value)})


Make = Callable[..., list[Member]]


@pytest.fixture
def group() -> Iterator[Make]:
    made: list[Any] = []

    def make(count: int, times: int = 1) -> list[Member]:
        servers = Servers(count)
        made.append(servers)
        members = [Member(servers, rank, count, times) for rank in range(count)]
        made.extend(member.session for member in members)
        return members

    yield make
    for each in reversed(made):
        each.stop() if isinstance(each, Servers) else each.close()


def meet(members: list[Member], size: int = SMALL) -> None:
    assert together([partial(member.reduce, 1.0, size) for member in members]) == [len(members)] * len(
        members
    )


class Held:
    """Messages that a task has decided to send, and sends when they are released."""

    def __init__(self, member: Member, verbs: set[Verb], monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[Callable[[], None]] = []
        connections = member.collectives._connections
        tell = connections.tell

        def held(peer: Any, verb: Verb, *about: Any) -> None:
            if verb in verbs:
                self.messages.append(partial(tell, peer, verb, *about))
            else:
                tell(peer, verb, *about)

        monkeypatch.setattr(connections, "tell", held)
        self._undo = partial(monkeypatch.setattr, connections, "tell", tell)

    def release(self) -> None:
        self._undo()
        for message in self.messages:
            message()


def not_counted(member: Member, size: int, value: float = 1.0) -> None:
    """The member's next step is told, once, that the one before does not count."""
    with pytest.raises(errors.AbortedError, match=NOT_COUNTED):
        member.reduce(value, size)


@SIZES
def test_who_has_counted_a_step_that_ended_is_told(
    group: Make, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = members = group(2)
    for _ in range(2):
        meet(members, size)
    monkeypatch.setattr(timeouts, "HEARD_SECONDS", 60.0)
    held = Held(first, {Verb.VOID, Verb.UNDONE}, monkeypatch)
    reported = threading.Event()

    def late() -> None:
        try:
            with pytest.raises(errors.DeadlineExceededError):
                first.reduce(1000.0, size, milliseconds=100)
        finally:
            reported.set()

    def count() -> float:
        soon(lambda: bool(first.collectives._undone._waiting), "the step has ended, and is not reported")
        counted = second.reduce(1.0, size)
        assert not reported.is_set(), "a failed step is reported once the others have heard of it"
        held.release()
        return counted

    assert together([late, count]) == [None, 1001.0]
    not_counted(second, size)
    meet(members, size)


def test_a_silent_member_holds_the_report_of_a_failed_step_for_a_moment_only(
    group: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = members = group(2)
    for _ in range(2):
        meet(members)
    monkeypatch.setattr(timeouts, "HEARD_SECONDS", 0.05)
    held = Held(second, {Verb.HEARD}, monkeypatch)
    with pytest.raises(errors.DeadlineExceededError):
        first.reduce(1.0, milliseconds=50)
    soon(lambda: bool(held.messages), "the other one has heard, and has not said so")
    assert not first.collectives._undone._waiting
    held.release()
    meet(members)


def test_a_step_that_ended_before_the_leaders_answer_came(
    group: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, second = members = group(2)
    held = Held(leader, {Verb.RESULT}, monkeypatch)

    def end() -> None:
        soon(lambda: bool(held.messages), "the leader has answered")
        with second.collectives._records.locked():
            (waiting,) = second.collectives._records.members.values()
        second.worker.abort(waiting.step, errors.AbortedError(None, None, "it was ended"))

    results = together([partial(leader.reduce, 1.0), partial(second.reduce, 2.0), end])
    assert results[0] == 3.0
    assert isinstance(results[1], errors.AbortedError), results
    held.release()
    not_counted(leader, SMALL)
    meet(members)


@SIZES
def test_a_step_that_fails_after_it_has_counted(group: Make, size: int) -> None:
    members = group(3)
    for _ in range(2):
        meet(members, size)
    *counted, failed = together(
        [
            *(partial(member.reduce, 1.0, size) for member in members[:-1]),
            partial(members[-1].fail, 1.0, size),
        ]
    )
    assert isinstance(failed, errors.DataLossError)
    for result, member in zip(counted, members, strict=False):
        if isinstance(result, errors.OpError):
            assert isinstance(result, errors.AbortedError)  # it heard before it had the result
            assert "bad data" in result.message
        else:
            assert result == 3.0
            not_counted(member, size)
    meet(members, size)


def test_steps_that_all_fail_after_they_have_counted_are_told_nothing_more(group: Make) -> None:
    members = group(3)
    for _ in range(2):
        meet(members)
        failures = together([partial(member.fail, 1.0) for member in members])
        assert all(isinstance(failure, (errors.DataLossError, errors.AbortedError)) for failure in failures)
        assert any(isinstance(failure, errors.DataLossError) for failure in failures)
    meet(members)


def test_a_step_of_several_collectives_counts_as_a_whole(group: Make) -> None:
    """One would come to the second collective when the other one begins with the first again."""
    first, second = members = group(2, times=2)
    for member in members:
        member.open()
    for _ in range(10):
        meet(members)
    first.open()

    def late() -> None:
        with pytest.raises(errors.DeadlineExceededError):
            first.reduce(1.0, milliseconds=300)
        second.open()

    ended, waited = together([late, partial(second.reduce, 1.0)])
    assert ended is None, ended
    assert isinstance(waited, errors.AbortedError), waited
    assert "has failed for another member" in waited.message
    meet(members)


@pytest.mark.parametrize(("count", "size"), [(2, SMALL), (3, SMALL), (4, SMALL), (4, LARGE)])
def test_members_whose_steps_end_at_any_moment_stay_together(group: Make, count: int, size: int) -> None:
    """Each brings the number of its steps; what a sum is of may differ only if the step is taken back."""
    members = group(count)
    steps, stop, rounds = [0] * count, threading.Event(), 25

    def train(rank: int) -> None:
        chance = random.Random(rank)
        apart = ""
        while not stop.is_set():
            limit = 10 if chance.random() < 0.5 else 20_000
            try:
                total = int(members[rank].reduce(float(steps[rank] * 1000**rank), size, limit))
            except (errors.OpError, RuntimeError) as e:
                if stop.is_set():
                    return
                if not isinstance(e, errors.OpError) or (
                    limit > 10 and e.error_code == errors.DEADLINE_EXCEEDED
                ):
                    raise
                if e.message.partition(": ")[2].startswith("the last result of"):
                    steps[rank] -= 1
                    apart = ""
                continue
            assert not apart, apart
            brought = [total // 1000**i % 1000 for i in range(count)]
            if brought != [steps[rank]] * count:
                apart = f"step {steps[rank]} of member {rank} is a sum of steps {brought}"
            steps[rank] += 1

    def watch() -> None:
        try:
            soon(lambda: min(steps) >= rounds, "all steps are made", 50.0)
        finally:
            stop.set()
            for member in members:
                member.session.close()

    results = together([*(partial(train, rank) for rank in range(count)), watch])
    assert results == [None] * len(results), results
