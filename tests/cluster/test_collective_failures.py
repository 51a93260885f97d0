"""Collectives whose members are processes that are killed and come back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet import distribute
from tensorfleet.core import errors
from tensorfleet.ops.collective import collective_ops
from tensorfleet.train.session_run_hook import SessionRunHook
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster
from tests.cluster.together import device, on_each, run_in_session, soon, together

pytestmark = pytest.mark.cluster


def reduce_on(rank: int, count: int, size: int = 3) -> Callable[[], Any]:
    def build() -> Any:
        with device(rank):
            return collective_ops.all_reduce(tf.fill([size], float(rank)), count, 1, 7, timeout=20.0)

    return build


def run(cluster: Cluster, rank: int, count: int, steps: int = 1) -> Any:
    """A worker's session, which has nothing to do with the tasks of the others."""
    return run_in_session(
        cluster.target(index=rank),
        reduce_on(rank, count),
        steps,
        device_filters=[f"/job:worker/task:{rank}"],
    )


def remembered(cluster: Cluster, task: int) -> int:
    """The task's records of collectives that have not ended."""
    with tf.Graph().as_default(), device(task):
        fetch = ops.collectives()
        with tf.Session(
            cluster.target(index=task),
            config=tf.ConfigProto(device_filters=[f"/job:worker/task:{task}"]),
        ) as session:
            return int(session.run(fetch))


def forgotten(cluster: Cluster, *tasks: int) -> None:
    soon(lambda: not any(remembered(cluster, task) for task in tasks), "all collectives forgotten", 10.0)


@pytest.mark.parametrize("victim", [2, 0], ids=["member", "leader"])
def test_a_lost_member_fails_the_others_at_once_and_may_come_back(cluster: MakeCluster, victim: int) -> None:
    tasks = cluster("grpc+stream", worker=3)
    others = [i for i in range(3) if i != victim]

    # Sessions that go on: their group is known, so its other members need not have come.
    def worker(rank: int) -> list[Any]:
        seen: list[Any] = []
        with tf.Graph().as_default():
            fetch = reduce_on(rank, 3)()
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{rank}"])
            with tf.Session(tasks.target(index=rank), config=config) as session:
                for _ in range(2):
                    seen.append(session.run(fetch).tolist())
                ready.wait(20.0)
                try:
                    session.run(fetch)
                except errors.OpError as e:
                    seen.append(e)
        return seen

    ready = threading.Barrier(len(others) + 1)

    def kill() -> None:
        ready.wait(20.0)
        soon(lambda: remembered(tasks, others[-1]) > 0, "another member waits")
        tasks["worker", victim].kill()

    def once() -> list[Any]:
        return [run(tasks, victim, 3, 2)]

    *results, _, _ = together([*(partial(worker, i) for i in others), once, kill])
    for seen in results:
        assert seen[:2] == [[3.0] * 3] * 2
        assert isinstance(seen[2], (errors.UnavailableError, errors.AbortedError)), seen[2]
        assert f"/job:worker/replica:0/task:{victim}" in seen[2].message
    forgotten(tasks, *others)

    tasks["worker", victim].restart()
    for result in on_each(3, lambda i: run(tasks, i, 3, 2)):
        assert result.tolist() == [3.0] * 3
    forgotten(tasks, 0, 1, 2)


def test_a_member_that_was_lost_between_two_steps(cluster: MakeCluster) -> None:
    tasks = cluster("grpc+stream", worker=2)
    with tf.Graph().as_default():
        fetch = reduce_on(0, 2)()
        config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        with tf.Session(tasks.target(index=0), config=config) as session:
            results = together([lambda: session.run(fetch), lambda: run(tasks, 1, 2)])
            assert [r.tolist() for r in results] == [[1.0] * 3] * 2
            tasks["worker", 1].kill()
            with pytest.raises(errors.UnavailableError, match=r"lost its member .*/task:1"):
                session.run(fetch)
            tasks["worker", 1].restart()
            results = together([lambda: session.run(fetch), lambda: run(tasks, 1, 2)])
            assert [r.tolist() for r in results] == [[1.0] * 3] * 2
    forgotten(tasks, 0, 1)


@pytest.mark.parametrize("victim", [2, 0], ids=["member", "leader"])
def test_a_member_that_is_lost_amid_the_data(cluster: MakeCluster, victim: int) -> None:
    tasks = cluster("grpc+stream", worker=3)
    steps = [0, 0, 0]

    def worker(rank: int) -> errors.OpError:
        with tf.Graph().as_default():
            reduced = reduce_on(rank, 3, 4_000_000)()
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{rank}"])
            with tf.Session(tasks.target(index=rank), config=config) as session:
                while True:
                    try:
                        session.run(reduced.op)
                    except errors.OpError as e:
                        return e
                    steps[rank] += 1

    def kill() -> None:
        soon(lambda: min(steps) >= 3, "some steps were made")
        tasks["worker", victim].kill()

    *failures, _ = together([*(partial(worker, i) for i in range(3)), kill])
    for rank, failure in enumerate(failures):
        assert isinstance(failure, errors.UnavailableError), failure
        if rank != victim:
            assert f"/job:worker/replica:0/task:{victim}" in failure.message
    forgotten(tasks, *(i for i in range(3) if i != victim))


def test_monitored_sessions_go_on_when_a_lost_worker_is_back(cluster: MakeCluster) -> None:
    tasks = cluster("grpc+stream", worker=2)
    last = 400
    seen = [0, 0]
    sessions = [0, 0]

    class Count(SessionRunHook):
        def __init__(self, rank: int) -> None:
            self._rank = rank

        def after_create_session(self, session: Any, coord: Any) -> None:
            sessions[self._rank] += 1

    def worker(rank: int) -> Any:
        with tf.Graph().as_default(), device(rank):
            variable = tf.Variable(float(rank))
            step = tf.train.get_or_create_global_step()
            opt = distribute.CollectiveOptimizer(tf.train.GradientDescentOptimizer(1.0), 2, rank == 0)
            train = opt.apply_gradients([(tf.constant(1.0 + rank), variable)], step)
            with tf.control_dependencies([train]):
                now = tf.identity(step.read_value())
                value = tf.identity(variable.read_value())
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{rank}"])
            creator = tf.train.ChiefSessionCreator(master=tasks.target(index=rank), config=config)
            hooks = [opt.make_session_run_hook(), Count(rank)]
            with tf.train.MonitoredSession(creator, hooks) as session:
                while seen[rank] < last:
                    seen[rank], result = session.run([now, value])
                return result

    def kill() -> None:
        soon(lambda: min(seen) >= 5, "some steps were made")
        tasks["worker", 1].kill()
        tasks["worker", 1].restart()

    *results, _ = together([*(partial(worker, i) for i in range(2)), kill])
    assert results == [-1.5 * last] * 2
    assert seen == [last] * 2
    assert min(sessions) >= 2
