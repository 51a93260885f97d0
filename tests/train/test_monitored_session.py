"""Monitored sessions: hooks around runs, and recovery on real clusters."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.train.wrapped_sessions import RecoverableSession
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster
from tests.until import Call, until


class Notes(tf.train.SessionRunHook):
    """Writes down what happens to it."""

    def __init__(self, name: str, order: list[Any], request: Any = None) -> None:
        self.name, self.order, self.request = name, order, request

    def begin(self) -> None:
        self.order.append((self.name, "begin", tf.get_default_graph().finalized))

    def after_create_session(self, session: Any, coord: Any) -> None:
        assert isinstance(coord, tf.train.Coordinator)
        self.order.append((self.name, "session", type(session) is tf.Session))

    def before_run(self, run_context: Any) -> Any:
        self.order.append((self.name, "before", run_context.original_args.fetches))
        return self.request

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.order.append((self.name, "after", run_values.results))

    def end(self, session: Any) -> None:
        self.order.append((self.name, "end", session.run("c:0")))


def test_hooks_in_order() -> None:
    c = tf.constant(5, name="c")
    x = tf.placeholder(tf.int32, [], name="x")
    order: list[Any] = []
    first = Notes("a", order, tf.train.SessionRunArgs([x, c], {x: 7}))
    with tf.train.MonitoredSession(hooks=[first, Notes("b", order)]) as session:
        assert session.graph is tf.get_default_graph()
        assert session.graph.finalized
        assert session.run(c) == 5
    assert not tf.get_default_graph().finalized
    assert session.graph is None
    assert session.should_stop()
    assert order == [
        ("a", "begin", False),
        ("b", "begin", False),
        ("a", "session", True),
        ("b", "session", True),
        ("a", "before", c),
        ("b", "before", c),
        ("a", "after", [7, 5]),
        ("b", "after", None),
        ("a", "end", 5),
        ("b", "end", 5),
    ]
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.run(c)
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()


def test_an_error_skips_the_end_of_hooks() -> None:
    tf.constant(5, name="c")
    order: list[Any] = []
    with (
        pytest.raises(KeyError, match="mine"),
        tf.train.MonitoredSession(hooks=[Notes("a", order)]),
    ):
        raise KeyError("mine")
    assert [what for _, what, _ in order] == ["begin", "session"]


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "the end"), StopIteration()])
def test_regular_ends_are_no_errors(error: Exception) -> None:
    tf.constant(5, name="c")
    order: list[Any] = []
    with tf.train.MonitoredSession(hooks=[Notes("a", order)]):
        raise error
    assert order[-1] == ("a", "end", 5)


def test_two_feeds_of_one_tensor() -> None:
    x = tf.placeholder(tf.int32, [], name="x")
    feed = tf.train.SessionRunArgs(None, {x: 1})
    with tf.train.MonitoredSession(hooks=[Notes("a", [], feed), Notes("b", [], feed)]) as session:
        with pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"):
            session.run(x)
        tf.get_default_graph()._unsafe_unfinalize()
        tf.constant(5, name="c")
    with (
        tf.train.MonitoredSession(hooks=[Notes("a", [], feed)]) as session,
        pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"),
    ):
        session.run(x, {x: 2})


def test_options_of_hooks_are_put_together() -> None:
    c = tf.random_uniform([3])
    seen = []

    class Options(tf.train.SessionRunHook):
        def __init__(self, **options: Any) -> None:
            self.options = tf.RunOptions(**options)

        def before_run(self, run_context: Any) -> Any:
            return tf.train.SessionRunArgs(None, options=self.options)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append((run_values.options, run_values.run_metadata))

    hooks = [Options(trace_level=tf.RunOptions.FULL_TRACE), Options(timeout_in_ms=60_000, trace_level=1)]
    metadata = tf.RunMetadata()
    with tf.train.SingularMonitoredSession(hooks=hooks) as session:
        session.run(c, run_metadata=metadata)
        session.run(c, options=tf.RunOptions(timeout_in_ms=90_000))
    assert [(o.trace_level, o.timeout_in_ms) for o, _ in seen[1::2]] == [(3, 60_000), (3, 90_000)]
    assert seen[0][1] is metadata
    assert metadata.step_stats.dev_stats
    assert seen[2][1].step_stats.dev_stats


def test_a_stop_ends_runs() -> None:
    c = tf.constant(5)

    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            run_context.request_stop()

    with tf.train.MonitoredSession(hooks=[Stop()]) as session:
        assert not session.should_stop()
        session.run(c)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            session.run(c)


def test_step_functions() -> None:
    c = tf.constant(5, name="c")
    order: list[Any] = []

    def step(step_context: Any) -> Any:
        assert step_context.session.run(c) == 5
        return step_context.run_with_hooks(c) * 2

    with tf.train.MonitoredSession(hooks=[Notes("a", order)]) as session:
        assert session.run_step_fn(step) == 10
        assert [what for _, what, _ in order].count("before") == 1
        with pytest.raises(ValueError, match="`step_fn` may either have one `step_context` argument"):
            session.run_step_fn(lambda other: other)
        session.run_step_fn(lambda step_context: step_context.request_stop())
        pytest.fail("the loop should have been left")
    assert order[-1][1] == "end"


def test_queue_runners_run_and_their_errors_are_raised() -> None:
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([4])]))
    take = queue.dequeue()
    with tf.train.MonitoredSession() as session:
        assert tf.train.start_queue_runners(session) == []
        assert [session.run(take) for _ in range(10)] == [4] * 10
    broken = queue.enqueue([tf.div(1, tf.placeholder_with_default(0, []))])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [broken]))
    with pytest.raises(tf.errors.InvalidArgumentError), tf.train.MonitoredSession() as session:
        until(session.should_stop)


def test_scaffold() -> None:
    v = tf.Variable(1.0, name="v")
    local = tf.Variable(2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    seen = []
    first = tf.train.Scaffold(init_fn=lambda scaffold, session: seen.append((scaffold, session.run(v))))
    scaffold = tf.train.Scaffold(ready_op=tf.constant([], tf.string), copy_from_scaffold=first)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as session:
        assert session.run([v, local]) == [1.0, 2.0]
    assert seen == [(scaffold, 1.0)]
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [scaffold.init_op]
    assert tf.get_collection(tf.GraphKeys.READY_OP) == []
    tf.add_to_collection("things", 1)
    assert tf.train.Scaffold.get_or_default("thing", "things", lambda: 2) == 1
    assert tf.train.Scaffold.get_or_default("other", "others", lambda: 2) == 2
    assert tf.get_collection("others") == [2]
    tf.add_to_collection("things", 1)
    with pytest.raises(RuntimeError, match=r'collection "things".*tf\.Scaffold\(thing=item to use\)'):
        tf.train.Scaffold.get_or_default("thing", "things", lambda: 2)
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=3)


class Lost(tf.train.SessionCreator):
    """Its sessions raise what they are told to."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.created = 0

    def create_session(self) -> Any:
        self.created += 1
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return tf.Session()


UNAVAILABLE = tf.errors.UnavailableError(None, None, "the task is gone")


def test_a_lost_session_is_made_anew() -> None:
    c = tf.constant(5, name="c")
    creator = Lost(None, UNAVAILABLE, tf.errors.AbortedError(None, None, "started anew"))
    order: list[Any] = []
    failures = [UNAVAILABLE]

    class Fail(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            if failures:
                raise failures.pop()

    with tf.train.MonitoredSession(creator, [Fail(), Notes("a", order)]) as session:
        assert session.run(c) == 5
    assert creator.created == 4
    assert [what for _, what, _ in order] == ["begin", "session", "session", "before", "after", "end"]


def test_a_session_that_cannot_be_made_is_given_up() -> None:
    tf.constant(5)
    creator = Lost(*[UNAVAILABLE] * 50)
    creator.max_wait_secs = 0.3
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"within 0\.3 secs\. the task is gone"):
        tf.train.MonitoredSession(creator)
    assert creator.created > 1


def test_other_errors_are_not_recovered_from() -> None:
    creator = Lost(tf.errors.InternalError(None, None, "broken"))
    with pytest.raises(tf.errors.InternalError, match="broken"):
        tf.train.MonitoredSession(creator)
    with pytest.raises(tf.errors.UnavailableError):
        tf.train.SingularMonitoredSession(hooks=[FailFirst()])


class FailFirst(tf.train.SessionRunHook):
    def begin(self) -> None:
        tf.constant(5)

    def after_create_session(self, session: Any, coord: Any) -> None:
        raise UNAVAILABLE


def training(cluster: Cluster) -> tuple[Any, Any]:
    with tf.device("/job:ps/task:0"):
        step = tf.train.get_or_create_global_step()
        return step, tf.assign_add(step, 1)


def session_of(cluster: Cluster, index: int, *hooks: Any, **more: Any) -> Any:
    return tf.train.MonitoredTrainingSession(
        cluster.target("worker", index), is_chief=index == 0, hooks=hooks, log_step_count_steps=None, **more
    )


@pytest.mark.cluster
def test_two_workers_stop_at_one_step(fleet: Cluster) -> None:
    def train(index: int) -> tuple[int, int]:
        with tf.Graph().as_default():
            _, add = training(fleet)
            steps = last = 0
            with session_of(fleet, index, tf.train.StopAtStepHook(last_step=200)) as session:
                while not session.should_stop():
                    last = int(session.run(add))
                    steps += 1
            return steps, last

    worker = Call(lambda: train(1))
    chief = Call(lambda: train(0))
    (steps, last), (more_steps, more_last) = chief.result(), worker.result()
    assert 200 <= max(last, more_last) == steps + more_steps <= 202


@pytest.mark.cluster
def test_a_ps_that_is_started_anew_without_a_checkpoint(
    fleet: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    _, add = training(fleet)
    with session_of(fleet, 0) as session:
        for _ in range(10):
            last = session.run(add)
        assert last == 10
        fleet["ps", 0].kill()
        call = Call(lambda: session.run(add))
        fleet["ps", 0].restart()
        assert call.result(60) == 1
        assert session.run(add) == 2
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert any("all variables are set to their initial values" in text for text in warnings)
    assert any("checkpoints are not kept" in text for text in warnings)


@pytest.mark.cluster
def test_a_ps_that_is_started_anew_with_a_checkpoint(
    fleet: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, add = training(fleet)
    saving = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 5, "save_summaries_steps": None}
    with session_of(fleet, 0, **saving) as session:
        for _ in range(12):
            session.run(add)
        fleet["ps", 0].kill()
        call = Call(lambda: session.run(add))
        fleet["ps", 0].restart()
        assert call.result(60) in (11, 12, 13)  # after the checkpoint of the last five steps
    assert "initial values" not in caplog.text


@pytest.mark.cluster
@pytest.mark.parametrize("saving", [False, True])
@pytest.mark.parametrize("index", [0, 1])
def test_a_worker_that_is_started_anew_leaves_the_variables_as_they_are(
    fleet: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture, saving: bool, index: int
) -> None:
    """The first worker is the session's master, the second one only takes part."""
    step, _ = training(fleet)
    local = tf.Variable(7, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.device("/job:worker/task:1"):
        three = tf.placeholder(tf.int64, [])
        one = three - 2
    add = tf.assign_add(step, one)
    more = {"checkpoint_dir": str(tmp_path), "save_checkpoint_secs": 600} if saving else {}
    with session_of(fleet, 0, **more) as session:
        for _ in range(10):
            last = session.run(add, {three: 3})
        assert last == 10
        for restarts in range(1, 3):
            fleet["worker", index].kill()
            call = Call(lambda: session.run([add, local], {three: 3}))
            fleet["worker", index].restart()
            assert call.result(60) == [10 + restarts, 7]
    assert "initial values" not in caplog.text


@pytest.mark.cluster
def test_another_monitored_session_starts_from_the_beginning(fleet: Cluster) -> None:
    _, add = training(fleet)
    creator = tf.train.ChiefSessionCreator(master=fleet.target("worker", 0))
    for _ in range(2):
        with tf.train.MonitoredSession(creator) as session:
            assert session.run(add) == 1


@pytest.mark.cluster
def test_variables_that_somebody_else_initialized_are_not_gone_on_with(fleet: Cluster) -> None:
    """Between the loss of the ps and the new session, another program has given them values."""
    step, add = training(fleet)
    fail = [False]

    class Lose(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            if fail.pop():
                raise UNAVAILABLE
            fail.append(False)

    with session_of(fleet, 0, Lose()) as session:
        assert session.run(add) == 1
        fleet["ps", 0].kill()
        fleet["ps", 0].restart()
        with tf.Session(fleet.target("worker", 1)) as other:
            other.run(step.initializer)
            assert other.run(tf.get_default_graph().get_tensor_by_name(add.name)) == 1
        fail[:] = [False, True]
        assert session.run(add) == 1


@pytest.mark.cluster
def test_all_ps_that_restart_at_once_are_one_restore(cluster: MakeCluster, tmp_path: Path) -> None:
    """The first one to be back is not enough: it is waited for the others."""
    tasks = cluster("grpc+stream", ps=3, worker=1)
    step, _ = training(tasks)
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("v", initializer=1.0)
    with tf.device("/job:ps/task:2"):
        w = tf.get_variable("w", initializer=1.0)
    train = [tf.assign_add(step, 1), tf.assign_add(v, 1.0), tf.assign_add(w, 1.0)]
    restores = []

    class Counting(tf.train.Saver):
        def restore(self, sess: Any, save_path: Any) -> None:
            restores.append(save_path)
            super().restore(sess, save_path)

    saving = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 5, "save_summaries_steps": None}
    scaffold = tf.train.Scaffold(saver=Counting())
    with session_of(tasks, 0, scaffold=scaffold, **saving) as session:
        for _ in range(10):
            session.run(train)
        for i in range(3):
            tasks["ps", i].kill()
        call = Call(lambda: session.run(train))
        for i in range(3):
            tasks["ps", i].restart()
        step_now, v_now, w_now = call.result(60)
        assert step_now == v_now - 1 == w_now - 1
        assert step_now in (6, 7, 11, 12)
    assert len(restores) == 1


@pytest.mark.cluster
def test_the_other_worker_recovers_too(fleet: Cluster) -> None:
    def other() -> int:
        with tf.Graph().as_default():
            _, add = training(fleet)
            with session_of(fleet, 1) as session:
                while not stop:
                    last = int(session.run(add))
                    seen.append(last)
            return last

    stop: list[bool] = []
    seen: list[int] = []
    _, add = training(fleet)
    with session_of(fleet, 0) as session:
        session.run(add)
        worker = Call(other)
        until(lambda: seen)
        fleet["ps", 0].kill()
        chief = Call(lambda: session.run(add))
        fleet["ps", 0].restart()
        chief.result(60)
        count = len(seen)
        until(lambda: len(seen) > count + 20)
        stop.append(True)
        worker.result()


@pytest.mark.cluster
def test_a_worker_without_a_chief_gives_up(fleet: Cluster) -> None:
    training(fleet)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.5 secs.*: global_step"):
        session_of(fleet, 1, max_wait_secs=0.5)


def test_a_creator_of_the_programs_own_needs_no_limit() -> None:
    class Creator:
        def create_session(self) -> tf.Session:
            return tf.Session()

    with tf.Graph().as_default():
        one = tf.constant(1)
        session = RecoverableSession(Creator())  # type: ignore[arg-type]
        assert session.run(one) == 1
        session.close()
