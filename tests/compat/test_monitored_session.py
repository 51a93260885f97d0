"""Programs around monitored sessions do the same in TensorFlow: calls of hooks, results, errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

pytestmark = pytest.mark.slow

Program = Callable[[Any, list[Any]], None]


def plain(value: Any) -> Any:
    """A value that can be compared between the libraries."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "name"):
        return value.name
    return value.tolist() if hasattr(value, "tolist") else value


def noting(tf: Any, log: list[Any], name: str, request: Any = None, stop_after: int = 10**9) -> Any:
    class Notes(tf.train.SessionRunHook):
        def begin(self) -> None:
            self.runs = 0
            log.append((name, "begin", tf.get_default_graph().finalized))

        def after_create_session(self, session: Any, coord: Any) -> None:
            log.append((name, "session", session.graph.finalized, coord.should_stop()))

        def before_run(self, run_context: Any) -> Any:
            args = run_context.original_args
            log.append((name, "before", plain(args.fetches), plain(args.feed_dict and list(args.feed_dict))))
            return request

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.runs += 1
            options = run_values.options
            log.append((name, "after", plain(run_values.results), options.trace_level, options.timeout_in_ms))
            if self.runs >= stop_after:
                run_context.request_stop()

        def end(self, session: Any) -> None:
            log.append((name, "end", plain(session.run("v:0"))))

    return Notes()


def hooks_in_order(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(3, name="v")
    x = tf.placeholder(tf.int32, [], name="x")
    add = tf.assign_add(v, x, name="add")
    args = tf.train.SessionRunArgs
    hooks = [
        noting(tf, log, "a", args({"x": x}, {x: 5})),
        noting(tf, log, "b"),
        noting(tf, log, "c", args([add], options=tf.RunOptions(timeout_in_ms=9000, trace_level=1)), 3),
    ]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop():
            log.append(plain(session.run({"sum": add, "pair": (v.op, add)})))
    log.append((session.should_stop(), session.graph, tf.get_default_graph().finalized))


def feeds_of_callers(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(3, name="v")
    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.placeholder(tf.int32, [], name="y")
    total = x * 10 + y
    with tf.train.SingularMonitoredSession(
        [noting(tf, log, "a", tf.train.SessionRunArgs(x, {x: 4}))]
    ) as session:
        log.append(plain(session.run(total, {y: 2})))
        log.append(plain(session.raw_session().run(v)))
        session.run(total, {x: 1, y: 2})


def stops(tf: Any, log: list[Any]) -> None:
    step = tf.train.get_or_create_global_step()
    v = tf.Variable(3, name="v")
    add = tf.assign_add(step, 2)
    hooks = [tf.train.StopAtStepHook(num_steps=7), noting(tf, log, "a", tf.train.SessionRunArgs(v))]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        while not session.should_stop():
            log.append(plain(session.run(add)))
        session.run(add)


def end_of_input(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(0, name="v")
    count = tf.count_up_to(v, 3)
    with tf.train.MonitoredSession(hooks=[noting(tf, log, "a")]) as session:
        while not session.should_stop():
            log.append(plain(session.run(count)))


def error_of_the_program(tf: Any, log: list[Any]) -> None:
    tf.Variable(0, name="v")
    with tf.train.MonitoredSession(hooks=[noting(tf, log, "a")]):
        raise KeyError("mine")


def error_of_a_thread(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(0, name="v")

    class Thread(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            self.looper = tf.train.LooperThread.loop(coord, None, self.fail)

        def fail(self) -> None:
            raise ValueError("thread")

        def before_run(self, run_context: Any) -> None:
            self.looper.join(30)

    with tf.train.MonitoredSession(hooks=[Thread(), noting(tf, log, "a")]) as session:
        log.append(plain(session.run(v)))
        log.append(session.should_stop())


def recovery(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(1, name="v")
    add = tf.assign_add(v, 1)
    failures = [
        tf.errors.UnavailableError(None, None, "gone"),
        None,
        None,
        tf.errors.AbortedError(None, None, "started anew"),
    ]

    class Fail(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            error = failures.pop(0) if failures else None
            if error is not None:
                raise error

    with tf.train.MonitoredSession(hooks=[noting(tf, log, "a"), Fail(), noting(tf, log, "b")]) as session:
        for _ in range(4):
            log.append(plain(session.run(add)))


def step_functions(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(1, name="v")
    add = tf.assign_add(v, 1)

    def step(step_context: Any) -> Any:
        log.append(plain(step_context.session.run(add)))
        return step_context.run_with_hooks(add)

    def last(step_context: Any) -> None:
        step_context.request_stop()

    with tf.train.MonitoredSession(hooks=[noting(tf, log, "a")]) as session:
        log.append(plain(session.run_step_fn(step)))
        session.run_step_fn(last)
        log.append("not reached")


def scaffolds(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(1, name="v")
    local = tf.Variable(2, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    x = tf.placeholder(tf.int32, [])
    scaffold = tf.train.Scaffold(
        init_op=tf.assign(v, x),
        init_feed_dict={x: 50},
        init_fn=lambda scaffold, session: log.append((plain(scaffold.init_op), plain(session.run(v)))),
        local_init_op=tf.assign(local, v),
    )
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
        log.append(plain(session.run([v, local])))
    for key in (tf.GraphKeys.INIT_OP, tf.GraphKeys.READY_OP, tf.GraphKeys.LOCAL_INIT_OP):
        log.append(len(tf.get_collection(key)))


def not_ready(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(1, name="v")
    tf.Variable(1, name="w")
    creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=v.initializer))
    with tf.train.MonitoredSession(creator):
        log.append("not reached")


def final_values(tf: Any, log: list[Any]) -> None:
    v = tf.Variable(1, name="v")
    x = tf.placeholder(tf.int32, [], name="x")
    add = tf.assign_add(v, x)
    final = tf.train.FinalOpsHook([v, v * 10 + x], {x: 3})
    feed = tf.train.FeedFnHook(lambda: {x: 7})
    with tf.train.MonitoredSession(hooks=[final, feed, noting(tf, log, "a")]) as session:
        for _ in range(3):
            log.append(plain(session.run(add)))
    log.append(plain(final.final_ops_values))


PROGRAMS: list[Program] = [
    hooks_in_order,
    feeds_of_callers,
    stops,
    end_of_input,
    error_of_the_program,
    error_of_a_thread,
    recovery,
    step_functions,
    scaffolds,
    not_ready,
    final_values,
]


def outcome(tf: Any, program: Program) -> list[Any]:
    log: list[Any] = []
    with tf.Graph().as_default():
        try:
            program(tf, log)
        except Exception as e:
            log.append((type(e).__name__, str(e).split("Init op:")[0].split("Original stack")[0].strip()))
    return log


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_happens(program: Program) -> None:
    expected = outcome(real, program)
    assert expected, "a program that does nothing shows nothing"
    assert outcome(fleet, program) == expected


CLASSES = """
    ChiefSessionCreator CheckpointSaverHook CheckpointSaverListener Coordinator FeedFnHook
    FinalOpsHook GlobalStepWaiterHook LoggingTensorHook LooperThread MonitoredSession NanTensorHook
    ProfilerHook QueueRunner Scaffold SecondOrStepTimer SessionManager SessionRunArgs
    SessionRunContext SessionRunHook SessionRunValues SingularMonitoredSession StepCounterHook
    StopAtStepHook SummarySaverHook Supervisor WorkerSessionCreator
"""


@pytest.mark.parametrize("name", CLASSES.split())
def test_public_members(name: str) -> None:
    ours, theirs = getattr(fleet.train, name), getattr(real.train, name)
    lacking = {member for member in dir(theirs) if not member.startswith("_")} - set(dir(ours))
    assert lacking == set()
    for member in dir(theirs):
        function = getattr(theirs, member)
        if not member.startswith("_") and inspect.isfunction(function):
            expected = list(inspect.signature(function).parameters)
            assert list(inspect.signature(getattr(ours, member)).parameters) == expected, member
