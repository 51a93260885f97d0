"""Collectives over the tasks of a cluster, in one graph and between graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.ops.collective import collective_ops
from tensorfleet_service.collectives import call, ring
from tensorfleet_service.worker.collectives.sender import streaming
from tests.cluster import ops
from tests.cluster.together import Servers, device, on_each, run_in_session, soon, together

pytestmark = pytest.mark.cluster

MakeServers = Callable[..., Servers]


@pytest.fixture(params=[call.SMALL_BYTES, -1], ids=["leader", "ring"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tensors that the leader combines, and small ones that go around the ring as large ones do."""
    monkeypatch.setattr(call, "SMALL_BYTES", request.param)


@pytest.fixture
def servers() -> Iterator[MakeServers]:
    """Makes servers, and looks afterwards that they have forgotten all collectives."""
    made: list[Servers] = []

    def make(count: int, **settings: Any) -> Servers:
        made.append(Servers(count, **settings))
        return made[-1]

    yield make
    try:
        for each in made:
            soon(lambda each=each: not each.remembered(), "all collectives forgotten", 10.0)  # type: ignore[misc]
    finally:
        for each in made:
            each.stop()


def value(rank: int, size: int) -> Any:
    return np.random.default_rng(rank).standard_normal(size).astype(np.float32)


def reduce_on(rank: int, count: int, size: int, **arguments: Any) -> Callable[[], Any]:
    def build() -> Any:
        with device(rank):
            return collective_ops.all_reduce(tf.constant(value(rank, size)), count, 1, 7, **arguments)

    return build


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("size", [0, 1, 5, 1000, 300_001])
def test_workers_get_the_same_bits(
    servers: MakeServers, count: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ring, "CHUNK_BYTES", 100_000)
    cluster = servers(count)
    results = on_each(count, lambda i: run_in_session(cluster.target(i), reduce_on(i, count, size), 3))
    expected = np.sum([value(i, size).astype(np.float64) for i in range(count)], 0)
    for result in results:
        np.testing.assert_allclose(result, expected, atol=1e-5)
        assert result.tobytes() == results[0].tobytes()


def test_gathering_and_broadcast_between_graphs(servers: MakeServers) -> None:
    cluster = servers(3)

    def build(rank: int) -> Any:
        with device(rank):
            x = tf.constant([[rank, 10 * rank]], tf.int64)
            given = (
                collective_ops.broadcast_send(tf.constant([True, False]), [2], tf.bool, 3, 1, 2)
                if rank == 1
                else collective_ops.broadcast_recv([2], tf.bool, 3, 1, 2)
            )
            return collective_ops.all_gather(x, 3, 1, 1), given

    for gathered, given in on_each(3, lambda i: run_in_session(cluster.target(i), lambda: build(i))):
        assert gathered.tolist() == [[0, 0], [1, 10], [2, 20]]
        assert given.tolist() == [True, False]


@pytest.mark.usefixtures("either_way")
def test_one_graph_on_several_devices_of_several_tasks(servers: MakeServers) -> None:
    cluster = servers(2, cpus=2)

    def build() -> Any:
        fetches = []
        for rank, (task, cpu) in enumerate([(1, 1), (0, 0), (0, 1), (1, 0)]):
            with device(task, cpu):
                x = tf.constant([[float(10 * task + cpu)]])
                fetches.append(
                    (
                        collective_ops.all_reduce(x, 4, 1, 1, "Max"),
                        collective_ops.all_gather(x, 4, 1, 2),
                        collective_ops.broadcast_send(x, [1, 1], tf.float32, 4, 1, 3)
                        if rank == 2
                        else collective_ops.broadcast_recv([1, 1], tf.float32, 4, 1, 3),
                    )
                )
        return fetches

    for greatest, gathered, given in run_in_session(cluster.target(0), build, 3):
        assert greatest.tolist() == [[11.0]]
        assert gathered.tolist() == [[0.0], [1.0], [10.0], [11.0]]  # in the order of the devices
        assert given.tolist() == [[1.0]]


@pytest.mark.usefixtures("either_way")
def test_keys_and_shapes_that_are_tensors(servers: MakeServers) -> None:
    cluster = servers(2)

    def build(rank: int) -> Any:
        with device(rank):
            size, group, x = tf.constant(2), tf.constant(3), tf.constant([1.0, 2.0])
            given = (
                collective_ops.broadcast_send_v2(x, size, group, 3)
                if rank == 0
                else collective_ops.broadcast_recv_v2(tf.constant([2]), tf.float32, size, group, 3)
            )
            return (
                collective_ops.all_reduce_v2(x, size, group, tf.constant(1), final_op="Div"),
                collective_ops.all_gather_v2(x, size, group, 2),
                given,
            )

    for mean, gathered, given in on_each(2, lambda i: run_in_session(cluster.target(i), lambda: build(i), 2)):
        assert mean.tolist() == given.tolist() == [1.0, 2.0]
        assert gathered.tolist() == [1.0, 2.0, 1.0, 2.0]


def test_a_group_of_one_needs_nobody(servers: MakeServers) -> None:
    cluster = servers(2, started=1)
    build = reduce_on(0, 1, 5, final_op="Div")
    result = run_in_session(cluster.target(0), build, device_filters=["/job:worker/task:0"])
    assert result.tolist() == value(0, 5).tolist()


def test_many_collectives_wait_without_threads(servers: MakeServers) -> None:
    cluster = servers(2)
    count = 60

    def build(rank: int) -> Any:
        with device(rank):
            return [collective_ops.all_reduce(tf.constant(1.0), 2, 1, i) for i in range(count)]

    first: list[Any] = []
    thread = threading.Thread(
        target=lambda: first.extend(run_in_session(cluster.target(1), lambda: build(1)))
    )
    before = threading.active_count()
    thread.start()
    leader = cluster.servers[0]._worker.collectives
    soon(lambda: len(leader._leader._pending) == count, "all members have come")
    waiting = threading.active_count()
    assert waiting - before < 20
    assert run_in_session(cluster.target(0), lambda: build(0)) == [2.0] * count
    thread.join(10)
    assert first == [2.0] * count


# What members do not agree on

MISMATCHES = {
    "shape": lambda x: collective_ops.all_reduce(tf.concat([x, x], 0), 2, 1, 7),
    "dtype": lambda x: collective_ops.all_reduce(tf.cast(x, tf.float64), 2, 1, 7),
    "merge_op": lambda x: collective_ops.all_reduce(x, 2, 1, 7, merge_op="Max"),
    "final_op": lambda x: collective_ops.all_reduce(x, 2, 1, 7, final_op="Div"),
    "group_size": lambda x: collective_ops.all_reduce(x, 3, 1, 7),
    "operation": lambda x: collective_ops.all_gather(x, 2, 1, 7),
}


@pytest.mark.parametrize("aspect", MISMATCHES)
def test_members_that_do_not_agree(servers: MakeServers, aspect: str) -> None:
    cluster = servers(2)

    def other() -> Any:
        with device(1):
            return MISMATCHES[aspect](tf.constant([1.0, 2.0]))

    failures = together(
        [
            lambda: run_in_session(cluster.target(0), reduce_on(0, 2, 2)),
            lambda: run_in_session(cluster.target(1), other),
        ]
    )
    for failure in failures:
        assert isinstance(failure, errors.InvalidArgumentError), failure
        assert aspect in failure.message
        for task in range(2):
            assert f"/job:worker/replica:0/task:{task}/device:CPU:0" in failure.message


@pytest.mark.parametrize("senders", [0, 2])
def test_a_broadcast_has_one_sender(servers: MakeServers, senders: int) -> None:
    cluster = servers(2)

    def build(rank: int) -> Any:
        with device(rank):
            if rank < senders:
                return collective_ops.broadcast_send(tf.constant(1.0), [], tf.float32, 2, 1, 7)
            return collective_ops.broadcast_recv([], tf.float32, 2, 1, 7)

    for failure in on_each(2, lambda i: run_in_session(cluster.target(i), lambda: build(i))):
        assert isinstance(failure, errors.InvalidArgumentError), failure
        assert f"needs one sender, but has {senders}" in failure.message


def test_a_device_takes_part_once(servers: MakeServers) -> None:
    cluster = servers(2)

    def build() -> Any:
        with device(0):
            return [collective_ops.all_reduce(tf.constant(1.0), 2, 1, 7) for _ in range(2)]

    with pytest.raises(errors.InvalidArgumentError, match="its own instance_key"):
        run_in_session(cluster.target(0), build)


# Who does not come, or goes


def test_a_member_that_does_not_come_is_named(servers: MakeServers) -> None:
    cluster = servers(3)
    builds = [reduce_on(i, 3, 5, timeout=3.0) for i in range(2)]  # both come while the first one waits
    for failure in on_each(2, lambda i: run_in_session(cluster.target(i), builds[i])):
        assert isinstance(failure, errors.DeadlineExceededError), failure
        assert "group_key 1 and instance_key 7" in failure.message
        assert "2 of 3 members have come" in failure.message
        assert "none of /job:worker/replica:0/task:2" in failure.message


def test_a_leader_that_is_not_there_is_named(servers: MakeServers) -> None:
    cluster = servers(3)
    cluster.servers[0].stop(grace=0.1)
    build = reduce_on(1, 3, 5, timeout=0.5)
    with pytest.raises(errors.DeadlineExceededError, match=r"leader was not reached .*/task:0"):
        run_in_session(cluster.target(1), build, device_filters=["/job:worker/task:1"])


def test_a_member_whose_time_is_over_lets_the_others_go(servers: MakeServers) -> None:
    cluster = servers(3)
    failures = together(
        [
            lambda: run_in_session(cluster.target(0), reduce_on(0, 3, 5)),
            lambda: run_in_session(cluster.target(1), reduce_on(1, 3, 5), operation_timeout_in_ms=2000),
        ]
    )
    assert isinstance(failures[0], errors.AbortedError), failures[0]
    assert "the step of its member /job:worker/replica:0/task:1/device:CPU:0 has ended" in failures[0].message
    assert isinstance(failures[1], errors.DeadlineExceededError), failures[1]


def test_a_step_that_fails_elsewhere_lets_the_others_go(servers: MakeServers) -> None:
    cluster = servers(2)

    def build() -> Any:
        with device(1):
            bad = ops.fail(tf.constant(1.0), errors.DATA_LOSS, "bad data", "bad")
            with tf.control_dependencies([bad]):
                return collective_ops.all_reduce(tf.constant([1.0, 2.0]), 2, 1, 7), bad

    def fail() -> Any:
        leader = cluster.servers[0]._worker.collectives._leader
        soon(lambda: len(leader._pending) == 1, "the other member has come")
        return run_in_session(cluster.target(1), build)

    waited, failed = together([lambda: run_in_session(cluster.target(0), reduce_on(0, 2, 2)), fail])
    assert isinstance(failed, errors.DataLossError), failed
    assert isinstance(waited, errors.AbortedError), waited
    assert "/job:worker/replica:0/task:1/device:CPU:0" in waited.message
    assert "bad data" in waited.message
    # The same keys go on being of use.
    results = on_each(2, lambda i: run_in_session(cluster.target(i), reduce_on(i, 2, 2)))
    assert results[0].tolist() == results[1].tolist()


def test_in_one_graph_a_failed_step_ends_its_collectives(servers: MakeServers) -> None:
    cluster = servers(2)

    def build() -> Any:
        fetches = []
        for i in range(2):
            with device(i):
                x = tf.constant(1.0)
                x = ops.fail(x, errors.DATA_LOSS, "bad data", "bad") if i else x
                fetches.append(collective_ops.all_reduce(x, 2, 1, 7))
        return fetches

    with pytest.raises(errors.DataLossError, match="bad data"):
        run_in_session(cluster.target(0), build)


def test_tasks_that_speak_grpc_alone_reduce(servers: MakeServers) -> None:
    cluster = servers(3, protocol="grpc")
    for size in (5, 100_000):
        first, *others = on_each(3, lambda i, n=size: run_in_session(cluster.target(i), reduce_on(i, 3, n)))
        assert first.shape == (size,)
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_where_calls_do_not_stay_the_protocol_is_named() -> None:
    """As to tasks of TensorFlow."""
    peer: Any = SimpleNamespace(task="/job:worker/replica:0/task:1")
    with pytest.raises(errors.UnimplementedError, match="single calls"):
        streaming(peer)


def test_by_grpc_the_devices_of_the_leading_task_reduce(servers: MakeServers) -> None:
    cluster = servers(1, cpus=2, protocol="grpc")

    def build() -> Any:
        fetches = []
        for cpu in range(2):
            with device(0, cpu):
                fetches.append(collective_ops.all_reduce(tf.constant([cpu + 1]), 2, 1, 7))
        return fetches

    assert [result.tolist() for result in run_in_session(cluster.target(0), build)] == [[3], [3]]


def test_steps_of_one_session_may_overlap(servers: MakeServers) -> None:
    cluster = servers(2)
    leader = cluster.servers[0]._worker.collectives._leader
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with device(0):
            here = collective_ops.all_reduce(tf.identity(x), 2, 1, 7)
        with device(1):
            there = collective_ops.all_reduce(tf.identity(x), 2, 1, 7)
        with tf.Session(cluster.target(0)) as session:

            def twice() -> list[Any]:
                soon(lambda: sum(map(len, leader._pending.values())) == 2, "both steps wait")
                return [session.run(there, {x: 1.0}) for _ in range(2)]

            first, second, others = together(
                [lambda: session.run(here, {x: 2.0}), lambda: session.run(here, {x: 2.0}), twice]
            )
    assert first == second == 3.0
    assert others == [3.0, 3.0]
