"""Savers, hooks, feeds and fetches."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tests.compat.meaning import Place, in_process, program, raised


@program
def save_change_and_restore(place: Place) -> Any:
    tf = place.tf
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w", use_resource=True)
    saver = tf.train.Saver({"a": v, "b": w}, max_to_keep=2)
    change = tf.group(tf.assign(v, v * 2.0), tf.assign_add(w, 1))
    found = []
    with place.session() as session:
        for step in range(3):
            path = saver.save(session, os.path.join(place.folder, "model"), global_step=step)
            found.append(os.path.basename(path))
            session.run(change)
        saver.restore(session, tf.train.latest_checkpoint(place.folder))
        found.append(session.run([v, w]))
    names = sorted(os.path.basename(p) for p in saver.last_checkpoints)
    return found, names, sorted(tf.train.list_variables(place.folder))


@program
def save_after_an_update_in_one_step(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        kept = tf.Variable(0.0, name="kept").assign(v)
    with place.session() as session:
        session.run(kept)
        tf.train.Saver([v]).save(session, os.path.join(place.folder, "m"))
    return tf.train.load_variable(place.folder, "v")


@program
def restore_and_read_in_one_step(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(5.0, name="v")
    with place.session() as session:
        path = tf.train.Saver([v]).save(session, os.path.join(place.folder, "m"))
        (value,) = tf.train.Saver([v]).saver_def and [tf.train.load_variable(path, "v")]
        session.run(tf.assign(v, 0.0))
        with tf.control_dependencies([tf.assign(v, value)]):
            y = v + 1.0
        return session.run(y)


class _Seen:
    """The arguments that a hook was called with."""

    def __init__(self) -> None:
        self.lines: list[Any] = []


def _hook(tf: Any, seen: _Seen, tensors: Any) -> Any:
    class Hook(tf.train.SessionRunHook):
        def begin(self) -> None:
            seen.lines.append("begin")

        def after_create_session(self, session: Any, coordinator: Any) -> None:
            seen.lines.append("created")

        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(tensors)

        def after_run(self, context: Any, values: Any) -> None:
            seen.lines.append(values.results)

        def end(self, session: Any) -> None:
            seen.lines.append(["end", session.run(tensors)])

    return Hook()


@program
def hooks_read_what_training_changed(place: Place) -> Any:
    tf = place.tf
    w = tf.Variable(2.0)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w), global_step=step)
    seen = _Seen()
    hooks = [tf.train.StopAtStepHook(last_step=3), _hook(tf, seen, [w, step])]
    creator = tf.train.ChiefSessionCreator(master=place.target)
    with tf.train.MonitoredSession(creator, hooks=hooks) as session:
        while not session.should_stop():
            session.run(train)
    return seen.lines


@program
def monitored_session_saves_and_goes_on(place: Place) -> Any:
    tf = place.tf
    found = []
    for last in (3, 5):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", [], initializer=tf.ones_initializer())
            with tf.control_dependencies([tf.assign_add(w, 1.0)]):
                train = tf.assign_add(step, 1)
            hooks = [tf.train.StopAtStepHook(last_step=last)]
            with tf.train.MonitoredTrainingSession(
                place.target, checkpoint_dir=place.folder, hooks=hooks, log_step_count_steps=None
            ) as session:
                found.append(session.run([step, w]))
                while not session.should_stop():
                    session.run(train)
            found.append(tf.train.load_variable(place.folder, "w"))
    return found


@program
def scaffold_with_its_own_init(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [])
    tf.train.get_or_create_global_step()
    scaffold = tf.train.Scaffold(init_op=tf.assign(v, x), init_feed_dict={x: 6.0})
    creator = tf.train.ChiefSessionCreator(
        tf.train.Scaffold(
            init_op=tf.group(scaffold._init_op, tf.global_variables_initializer()),
            init_feed_dict={x: 6.0},
            init_fn=lambda _, session: session.run(tf.get_collection("late")[0]),
        ),
        master=place.target,
    )
    tf.add_to_collection("late", tf.assign(v, 9.0))
    with tf.train.MonitoredSession(creator) as session:
        return session.run(v)


@program
def fed_and_fetched_structures(place: Place) -> Any:
    tf = place.tf
    x = tf.placeholder(tf.float32, [None], name="x")
    y = x * 2.0
    part = tf.IndexedSlices(y, tf.constant([0, 2]))
    with tf.Session(place.target) as session:
        found = session.run({"a": [y, (x,)], "b": part, "c": "x:0"}, {x: [1.0, 2.0]})
        slices = found.pop("b")
        found["b"] = [slices.indices, slices.values]
        return found, session.run(y, {y: np.float32([9.0])}), session.run([], {x: [1.0]})


@program
def intermediate_results_fed(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(2.0)
    read = v.value()
    a = read * 3.0
    b = a + v
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        c = a + v
    with place.session() as session:
        return [session.run(b, {a: 10.0}), session.run(b, {read: 10.0}), session.run(c, {a: 1.0})]


@program
def a_fed_read_stays_what_was_fed(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(2.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        y = v * 1.0
    with place.session() as session:
        return session.run(y, {v.value(): 50.0}), session.run(v)


@program
def wrong_feeds_and_fetches(place: Place) -> Any:
    tf = place.tf
    x = tf.placeholder(tf.float32, [2])
    y = x + 1.0
    with tf.Session(place.target) as session:
        return [
            raised(lambda: session.run(y)),
            raised(lambda: session.run(y, {x: [1.0]})),
            raised(lambda: session.run(y, {x: "a"})),
            raised(lambda: session.run(y, {"nobody:0": 1.0})),
            raised(lambda: session.run(None)),
            raised(lambda: session.run(3)),
            raised(lambda: session.run("nobody:0")),
            raised(lambda: session.run(y, {x: y})),
        ]


@program
def partial_run_in_three_parts(place: Place) -> Any:
    tf = place.tf
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = a + b
    second = first * 10.0
    with tf.Session(place.target) as session:
        handle = session.partial_run_setup([first, second], [a, b])
        found = [session.partial_run(handle, first, {a: 1.0, b: 2.0})]
        return [*found, session.partial_run(handle, second)]


@program
def callables_and_options(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.assign_add(v, x)]):
        y = v * 2.0
    with place.session() as session:
        call = session.make_callable([y, v], [x])
        return [
            call(1.0),
            call(2.0),
            session.run(y, {x: 0.0}, tf.RunOptions(trace_level=3), tf.RunMetadata()),
        ]


@program
def load_and_eval(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, 2.0])
    missing, known = tf.report_uninitialized_variables(), tf.is_variable_initialized(v)
    with place.session() as session:
        v.load([5.0, 6.0], session)
        return v.eval(session), session.run([missing, known])


@in_process  # TensorFlow cannot place it on a cluster, either
def initial_value_from_a_variable(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(v.initialized_value() * 2.0)
    return place.run([v, w])


@program
def assertions_stop_a_step(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.assert_positive(x)]):
        changed = tf.assign_add(v, x)
    with place.session() as session:
        kind = raised(lambda: session.run(changed, {x: -1.0}))
        return kind, session.run(v), session.run(changed, {x: 1.0})


@program
def metrics_update_and_value(place: Place) -> Any:
    tf = place.tf
    x = tf.placeholder(tf.float32, [None])
    value, update = tf.metrics.mean(x)
    with tf.control_dependencies([update]):
        after = tf.identity(value)
    with place.session() as session:
        found = [session.run(update, {x: row}) for row in ([1.0, 2.0], [6.0])]
        return found, session.run(value), raised(lambda: session.run(after))


@in_process
def python_function_reads_a_changed_variable(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        y = tf.py_func(lambda x: x * 10, [v], tf.float32)
    return place.run(y)


@program
def control_of_random_numbers(place: Place) -> Any:
    tf = place.tf
    x = tf.random_uniform([2], seed=3)
    v = tf.Variable(x)
    with tf.control_dependencies([tf.assign(v, x)]):
        y = v - x
    with place.session() as session:
        return [session.run(y) for _ in range(2)]


@program
def sparse_updates_and_lookups(place: Place) -> Any:
    tf = place.tf
    table = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2))
    rows = tf.nn.embedding_lookup(table, [1, 3, 1])
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(rows))
    with tf.control_dependencies([train]):
        after = tf.nn.embedding_lookup(table, [0, 1, 3])
    return place.run(after)


@program
def string_variables(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable("a")
    with tf.control_dependencies([tf.assign(v, "bc")]):
        y = tf.string_join([v, "d"])
    return place.run(y)
