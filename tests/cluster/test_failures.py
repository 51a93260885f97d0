"""Failures: they are told at once, with class and place, and leave the cluster usable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import tensorfleet as tf
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster, Way
from tests.cluster.processes import Cluster
from tests.ports import free_ports

pytestmark = pytest.mark.cluster

TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
AT_ONCE = 3.0  # seconds: far below every limit, far above what two cores need


class Running:
    """A call on a thread of its own."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as e:
            self._error = e

    def error(self, seconds: float) -> BaseException | None:
        """The error that the call raised, within so many seconds."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"no end within {seconds:g} s"
        return self._error


def works(cluster: Cluster, job: str = "worker", index: int = 0) -> bool:
    """Whether a new session computes on all tasks."""
    with tf.Graph().as_default():
        y = x = tf.placeholder(tf.int32, [])
        for name, addresses in cluster.spec.items():
            for i in range(len(addresses)):
                with tf.device(f"/job:{name}/task:{i}"):
                    y = y + 1
        with tf.Session(cluster.target(job, index)) as session:
            return bool(session.run(y, {x: 0}) == len(cluster.tasks))


@pytest.mark.parametrize("where", TASKS)
@pytest.mark.parametrize(
    "error",
    [
        tf.errors.InvalidArgumentError,
        tf.errors.NotFoundError,
        tf.errors.OutOfRangeError,
        tf.errors.FailedPreconditionError,
        tf.errors.DataLossError,
        tf.errors.UnavailableError,
    ],
)
def test_an_error_keeps_its_class_text_and_operation(shared: Cluster, where: str, error: Any) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(where):
            bad = ops.fail(x, tf.errors.error_code_from_exception_type(error), "the very text", "culprit")
        with tf.device(TASKS[1]):
            y = bad + 1
        with tf.Session(shared.target()) as session:
            for _ in range(2):
                with pytest.raises(error, match="the very text") as caught:
                    session.run(y, {x: 1})
                assert caught.value.op is bad.op
                assert caught.value.node_def.name == "culprit"


def test_real_kernels_report_where_they_failed(shared: Cluster) -> None:
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
        with tf.device(TASKS[2]):
            product = tf.matmul(a, b, name="product")
        with tf.Session(shared.target()) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="product") as caught:
                session.run(product, {a: [[1, 2]], b: [[1, 2]]})
            assert caught.value.op is product.op
            assert session.run(product, {a: [[1, 2]], b: [[1], [2]]}) == [[5]]


def test_the_first_cause_wins_while_others_wait(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[0]):
            bad = ops.fail(x, 11, "first cause", "culprit")
        waiting = []
        for task in TASKS[1:]:
            with tf.device(task):
                waiting.append(bad * 2)
        with tf.device(TASKS[1]):
            last = waiting[1] + waiting[0]
        counts = []
        for task in TASKS:
            with tf.device(task):
                counts.append(ops.status())
        with tf.Session(shared.target()) as session:
            session.run(counts)
            for _ in range(30):
                with pytest.raises(tf.errors.OutOfRangeError, match="first cause"):
                    session.run(last, {x: 1})
            for steps, _, kept, _ in eventually(
                lambda: session.run(counts), lambda found: all(c[0] <= 1 and c[2] == 0 for c in found)
            ):
                assert steps <= 1  # the one that asks
                assert kept == 0


def eventually(get: Callable[[], Any], good: Callable[[Any], bool], seconds: float = 5.0) -> Any:
    """The result of `get` once it is good, or when the time is up."""
    end = time.monotonic() + seconds
    while True:
        found = get()
        if good(found) or time.monotonic() > end:
            return found
        time.sleep(0.02)


@pytest.mark.parametrize("where", TASKS)
@pytest.mark.parametrize("limit", ["run", "session"])
def test_a_step_past_its_limit_ends_and_the_server_goes_on(shared: Cluster, where: str, limit: str) -> None:
    gate = f"{where} {limit} {time.monotonic_ns()}"
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(where):
            blocked = ops.block(x, gate)
            release = ops.release(gate)
        with tf.device(TASKS[2]):
            y = blocked + 1
        config = tf.ConfigProto(operation_timeout_in_ms=0 if limit == "run" else 500)
        options = tf.RunOptions(timeout_in_ms=500) if limit == "run" else None
        with tf.Session(shared.target(), config=config) as session:
            started = time.monotonic()
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(y, {x: 1}, options)
            assert 0.4 < time.monotonic() - started < 0.5 + AT_ONCE
            assert session.run(x * 2, {x: 4}) == 8
            assert session.run(release)
            assert session.run(y, {x: 1}) == 2


def test_a_missing_task_is_named_within_the_deadline(way: Way, cluster: MakeCluster) -> None:
    (port,) = free_ports(1)
    absent = {"absent": [f"127.0.0.1:{port}"]}
    tasks = cluster(way.tasks, absent, {"config": {"operationTimeoutInMs": 700}}, worker=1)
    with tf.Graph().as_default():
        c = tf.constant(1)
        with tf.Session(tasks.target()) as session:
            started = time.monotonic()
            with pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)) as caught:
                session.run(c)
            assert time.monotonic() - started < 0.7 + AT_ONCE
            assert "/job:absent/replica:0/task:0" in caught.value.message
            assert f"127.0.0.1:{port}" in caught.value.message
            assert "last error" in caught.value.message
        config = tf.ConfigProto(device_filters=["/job:worker"])
        with tf.Session(tasks.target(), config=config) as session:
            assert session.run(c) == 1


@pytest.mark.parametrize("victim", [("ps", 0), ("worker", 1)])
def test_a_task_killed_in_the_middle_of_a_step(way: Way, cluster: MakeCluster, victim: Any) -> None:
    tasks = cluster(way.tasks, ps=1, worker=2)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(f"/job:{victim[0]}/task:{victim[1]}"):
            blocked = ops.block(x, "gate")
            entered = ops.entered("gate")
            variable = tf.Variable(5.0, name="v")
        with tf.device(TASKS[1]):
            y = blocked + 1
        with tf.device(TASKS[1]):
            alone = x + 1
        session = tf.Session(tasks.target())
        session.run(variable.initializer)
        step = Running(lambda: session.run(y, {x: 1}))
        session.run(entered)
        tasks[victim].kill()
        error = step.error(AT_ONCE)
        assert isinstance(error, tf.errors.UnavailableError), error
        assert f"/job:{victim[0]}/replica:0/task:{victim[1]}" in error.message
        assert session.run(alone, {x: 1}) == 2
        with pytest.raises(tf.errors.UnavailableError, match=f"/job:{victim[0]}"):
            session.run(variable)

        tasks[victim].restart()
        with pytest.raises(tf.errors.AbortedError):
            session.run(variable)
        session.close()
        assert works(tasks)
        with tf.Session(tasks.target()) as new:
            with pytest.raises(tf.errors.FailedPreconditionError):
                new.run(variable)
            new.run(variable.initializer)
            assert new.run(variable) == 5


def test_a_killed_and_restarted_master(way: Way, cluster: MakeCluster) -> None:
    tasks = cluster(way.tasks, ps=1, worker=1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[0]):
            blocked = ops.block(x, "gate")
            y = x + 1
            counts = ops.status()
        with tf.device(TASKS[1]):
            entered_here = ops.block(blocked, "gate")
        with tf.device(TASKS[0]):
            entered = ops.entered("gate")
        session = tf.Session(tasks.target())
        step = Running(lambda: session.run(entered_here, {x: 1}))
        with tf.Session(tasks.target("ps", 0)) as other:
            other.run(entered)
            before = other.run(counts)
            tasks["worker", 0].kill()
            error = step.error(AT_ONCE)
            assert isinstance(error, tf.errors.UnavailableError), error
            after = eventually(lambda: other.run(counts), lambda found: found[0] < before[0])
            assert after[0] < before[0]
        tasks["worker", 0].restart()
        with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)):
            session.run(y, {x: 1})
        with pytest.raises(tf.errors.AbortedError):
            session.run(y, {x: 1})
        assert works(tasks)
        assert works(tasks, "ps", 0)


def test_closing_a_session_ends_its_steps(shared: Cluster) -> None:
    gate = f"close {time.monotonic_ns()}"
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[2]):
            blocked = ops.block(x, gate)
            entered, release = ops.entered(gate), ops.release(gate)
        session = tf.Session(shared.target())
        step = Running(lambda: session.run(blocked, {x: 1}))
        with tf.Session(shared.target()) as other:
            other.run(entered)
            session.close()
            assert isinstance(step.error(AT_ONCE), (tf.errors.CancelledError, tf.errors.AbortedError))
            other.run(release)


def test_sessions_closed_under_running_threads_end_them_properly(shared: Cluster) -> None:
    for _ in range(5):
        with tf.Graph().as_default():
            y = x = tf.placeholder(tf.float32, [])
            for task in TASKS:
                with tf.device(task):
                    y = y + 1
            session = tf.Session(shared.target())
            assert session.run(y, {x: 0}) == 3
            started = threading.Event()

            def work(session: Any = session, y: Any = y, x: Any = x, started: Any = started) -> None:
                while True:
                    session.run(y, {x: 1})
                    started.set()

            threads = [Running(work) for _ in range(4)]
            assert started.wait(10)
            session.close()
            for thread in threads:
                error = thread.error(AT_ONCE)
                assert isinstance(error, (tf.errors.CancelledError, tf.errors.AbortedError, RuntimeError)), (
                    repr(error)
                )


def test_two_tasks_that_do_not_agree_who_they_are(way: Way, cluster: MakeCluster) -> None:
    tasks = cluster(way.tasks, worker=2)
    wrong = cluster(way.tasks, {"other": [tasks["worker", 1].address]}, alone=1)
    with (
        tf.Graph().as_default(),
        tf.Session(wrong.target("alone")) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="/job:worker/replica:0/task:1"),
    ):
        session.run(tf.constant(1))
