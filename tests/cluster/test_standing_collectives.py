"""Groups that have met once and meet again without their leader, also if something goes wrong then."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.ops.collective import collective_ops
from tensorfleet.wire.buffers import empty
from tensorfleet_service.collectives import exchange
from tensorfleet_service.collectives.call import Verb, error_fields
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster
from tests.cluster.together import Servers, device, soon, together

SMALL, LARGE = 3, 100_000
GROUPS = [(2, SMALL), (3, SMALL), (2, LARGE), (3, LARGE)]


class Member:
    """A worker whose session stays: it reduces what it is fed, or fails before it comes to that."""

    def __init__(self, target: str, rank: int, count: int, **config: Any) -> None:
        self._graph = tf.Graph()
        with self._graph.as_default(), device(rank):
            self._x = tf.placeholder(tf.float32)
            self._reduced = collective_ops.all_reduce(self._x, count, 1, 7, timeout=20.0)
            with tf.control_dependencies([ops.fail(tf.constant(1.0), errors.DATA_LOSS, "bad data", "bad")]):
                self._failed = collective_ops.all_reduce(self._x, count, 1, 7)
        filters = [f"/job:worker/task:{rank}"]
        self._session = tf.Session(
            target, graph=self._graph, config=tf.ConfigProto(device_filters=filters, **config)
        )

    def reduce(self, value: float, size: int, milliseconds: int = 0) -> Any:
        options = tf.RunOptions(timeout_in_ms=milliseconds) if milliseconds else None
        return self._session.run(self._reduced, {self._x: np.full(size, value, np.float32)}, options)

    def fail(self, size: int) -> Any:
        return self._session.run(self._failed, {self._x: np.zeros(size, np.float32)})

    def close(self) -> None:
        self._session.close()


@pytest.fixture
def group() -> Iterator[Callable[[int], tuple[Servers, list[Member]]]]:
    made: list[Any] = []

    def make(count: int) -> tuple[Servers, list[Member]]:
        servers = Servers(count)
        made.append(servers)
        members = [Member(servers.target(i), i, count) for i in range(count)]
        made.extend(members)
        return servers, members

    yield make
    for each in reversed(made):
        each.stop() if isinstance(each, Servers) else each.close()


Group = Callable[[int], tuple[Servers, list[Member]]]


def meet(members: list[Member], size: int, values: list[float] | None = None) -> None:
    """A round, in which all get the sum."""
    values = values or [float(i) for i in range(len(members))]
    results = together(
        [partial(member.reduce, value, size) for member, value in zip(members, values, strict=True)]
    )
    for result in results:
        np.testing.assert_array_equal(result, np.full(size, sum(values), np.float32))


@pytest.mark.parametrize(("count", "size"), GROUPS)
def test_the_leader_is_asked_at_first(
    group: Group, count: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, members = group(count)
    leader = servers.servers[0]._worker.collectives._leader
    asked: list[int] = []
    receive = leader.receive

    def counted(peer: Any, verb: int, *rest: Any) -> None:
        asked.append(verb)
        receive(peer, verb, *rest)

    monkeypatch.setattr(leader, "receive", counted)

    def meets_alone() -> bool:
        before = asked.count(Verb.JOIN)
        for i in range(4):
            meet(members, size, [float(i + rank) for rank in range(count)])
        return asked.count(Verb.JOIN) == before

    soon(meets_alone, "the leader is asked no more")  # once all are connected
    soon(lambda: not servers.remembered(), "all is forgotten", 10.0)


@pytest.mark.parametrize("known", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize(("count", "size"), GROUPS)
def test_a_step_that_fails_before_it_comes_lets_the_others_go(
    group: Group, count: int, size: int, known: bool
) -> None:
    servers, members = group(count)
    for _ in range(2):
        meet(members, size)
    leader = servers.servers[0]._worker.collectives._leader

    def fail() -> Any:
        soon(
            lambda: all(server._worker.collectives._records.members for server in servers.servers[:-1]),
            "they wait",
        )
        if known:
            soon(lambda: len(leader._joins) == count - 1, "the leader knows of them")
        return members[-1].fail(size)

    *waited, failed = together([*(partial(member.reduce, 1.0, size) for member in members[:-1]), fail])
    assert isinstance(failed, errors.DataLossError), failed
    for error in waited:
        assert isinstance(error, errors.AbortedError), error
        assert f"/job:worker/replica:0/task:{count - 1}/device:CPU:0" in error.message
        assert "bad data" in error.message
    for _ in range(2):
        meet(members, size)
    soon(lambda: not servers.remembered(), "all is forgotten", 10.0)


@pytest.mark.parametrize(("count", "size"), GROUPS)
def test_what_a_step_sent_before_it_ended_is_of_no_use(group: Group, count: int, size: int) -> None:
    servers, members = group(count)
    for _ in range(2):
        meet(members, size)
    first, *others = (server._worker.collectives for server in servers.servers)
    late, _ = together(
        [
            lambda: members[0].reduce(1000.0, size, milliseconds=500),
            lambda: soon(lambda: bool(first._records.members), "it has begun"),
        ]
    )
    assert isinstance(late, errors.DeadlineExceededError), late
    # Until they hear of it, another one may still meet the step that has ended.
    soon(lambda: not any(len(each._standing) for each in others), "the others know", 10.0)
    meet(members, size)
    meet(members, size)
    soon(lambda: not servers.remembered(), "all is forgotten", 10.0)


@pytest.mark.parametrize(("count", "size"), GROUPS)
def test_a_step_that_ends_amid_a_round_ends_it_for_those_that_wait(
    group: Group, count: int, size: int
) -> None:
    _, members = group(count)
    for _ in range(2):
        meet(members, size)
    if count == 2:
        return  # whoever waits for the other has no third one to wait for
    late, waited = together(
        [
            lambda: members[0].reduce(1.0, size, milliseconds=200),
            lambda: members[1].reduce(1.0, size),
        ]
    )
    assert isinstance(late, errors.DeadlineExceededError), late
    assert isinstance(waited, errors.AbortedError), waited
    assert "the step of its member /job:worker/replica:0/task:0/device:CPU:0 has ended" in waited.message
    meet(members, size)


def test_other_shapes(group: Group) -> None:
    _, members = group(2)
    for size in (SMALL, SMALL, LARGE, LARGE, SMALL):
        meet(members, size)
    failures = together([partial(member.reduce, 1.0, SMALL + i) for i, member in enumerate(members)])
    for failure in failures:
        assert isinstance(failure, errors.InvalidArgumentError), failure
        assert "shape" in failure.message
    meet(members, SMALL)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_steps_that_overlap(group: Group, size: int) -> None:
    """The devices do not count the same any more, and meet by the leader."""
    _, members = group(2)
    for _ in range(2):
        meet(members, size)
    steps = [partial(members[0].reduce, 1.0, size)] * 4
    for _ in range(2):
        *results, others = together(
            [*steps, lambda: [members[1].reduce(2.0, size) for _ in range(len(steps))]]
        )
        for result in [*results, *others]:
            np.testing.assert_array_equal(result, np.full(size, 3.0, np.float32))
    meet(members, size)


@pytest.mark.parametrize(("count", "size"), GROUPS)
def test_a_new_session_goes_on(group: Group, count: int, size: int) -> None:
    servers, members = group(count)
    for _ in range(2):
        meet(members, size)
    other = Member(servers.target(1), 1, count)
    try:
        for _ in range(2):
            meet([members[0], other, *members[2:]], size)
    finally:
        other.close()


def test_a_member_without_memory_fails_alone_and_lets_the_others_go(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers, members = group(2)
    for _ in range(2):
        meet(members, LARGE)
    calls = itertools.count()

    def all_known() -> bool:
        collectives = [server._worker.collectives for server in servers.servers]
        return all(member.is_known for each in collectives for member in list(each._records.members.values()))

    def refused(*arguments: Any) -> Any:
        if next(calls) == 1:
            soon(all_known, "the leader knows that the other one waits", 10.0)
            raise MemoryError("there is none left")
        return empty(*arguments)

    monkeypatch.setattr(exchange, "empty", refused)
    failures = together([partial(member.reduce, 1.0, LARGE) for member in members])
    assert any(isinstance(failure, errors.ResourceExhaustedError) for failure in failures), failures
    for failure in failures:
        assert isinstance(failure, (errors.ResourceExhaustedError, errors.AbortedError)), failure
        assert "there is none left" in failure.message
    meet(members, LARGE)
    soon(lambda: not servers.remembered(), "all is forgotten", 10.0)


@pytest.mark.parametrize("first", ["member", "leader"])
def test_a_member_is_told_if_both_another_member_and_the_leader_go(
    group: Group, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """The others hear of a lost leader at different times, and of each other's ends before that."""
    servers, members = group(3)
    for _ in range(2):
        meet(members, SMALL)
    tasks = [server._worker.collectives for server in servers.servers]
    names = {each._connections.here[0] for each in tasks}
    for each in tasks:
        others = names - {each._connections.here[0]}
        soon(
            lambda each=each, others=others: all(map(each._connections.existing, others)), "all are connected"
        )
    for _ in range(2):
        meet(members, SMALL)
    task = tasks[1]
    peers = task._connections.peers
    assert peers is not None
    leader = task._link.task
    connection = peers.existing(leader)
    assert connection is not None
    lost = errors.UnavailableError(None, None, "the process has ended")

    def refused(task: str, *arguments: Any) -> Any:
        raise lost

    def go() -> None:
        soon(lambda: bool(task._records.members), "it waits")
        monkeypatch.setattr(peers, "get", refused)
        monkeypatch.setattr(peers, "existing", lambda task: None)
        monkeypatch.setattr(type(peers), "silence", 1.0)
        ended = error_fields(errors.AbortedError(None, None, "another member has left"))
        with task._records.locked():
            ((_, member),) = task._records.members.items()
            assert member.standing is not None
            about = member.round_id, {"base": member.standing.base, "error": ended}
        gone: Any = SimpleNamespace(task=leader, incarnation=connection.incarnation, lost=lost)
        if first == "leader":
            task.lost(gone)
        task._records.call_locked(task._standing.voided, *about)
        if first == "member":
            task.lost(gone)

    found, went = together([lambda: members[1].reduce(1.0, SMALL), go])
    assert went is None, went
    # Aborted where the leader knew already that it waits, as on a busy machine.
    assert isinstance(found, (errors.UnavailableError, errors.AbortedError)), found
    assert "the process has ended" in found.message or "another member has left" in found.message


@pytest.mark.cluster
@pytest.mark.parametrize("victim", [1, 0], ids=["member", "leader"])
@pytest.mark.parametrize("size", [SMALL, 2_000_000])
def test_processes_that_are_killed_at_any_moment(cluster: MakeCluster, victim: int, size: int) -> None:
    tasks = cluster("grpc+stream", worker=2)
    other = 1 - victim
    for life in range(2):
        steps = [0, 0]
        stopped = threading.Event()
        value = {victim: 10.0 * (life + 1), other: 1.0}

        def work(rank: int, steps: list[int] = steps, value: dict[int, float] = value) -> Any:
            member = Member(tasks.target(index=rank), rank, 2)
            try:
                while True:
                    result = member.reduce(value[rank], size)
                    # Of this life of the process, not of one before.
                    np.testing.assert_array_equal(result, np.full(size, sum(value.values()), np.float32))
                    steps[rank] += 1
            finally:
                member.close()

        def kill(life: int = life, steps: list[int] = steps, stopped: threading.Event = stopped) -> None:
            soon(lambda: min(steps) >= 3, "some steps were made")
            stopped.wait(0.003 * life)  # another moment of the round each time
            tasks["worker", victim].kill()

        mine, theirs, _ = together([partial(work, other), partial(work, victim), kill])
        assert isinstance(theirs, errors.OpError), theirs
        assert isinstance(mine, (errors.UnavailableError, errors.AbortedError)), mine
        assert f"/job:worker/replica:0/task:{victim}" in mine.message
        tasks["worker", victim].restart()
