"""Functions whose bodies, variables and targets are on several tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.functions import functional_ops
from tensorfleet.functions.defun import Defun
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster
PS, WORKER = "/job:ps/task:0", "/job:worker/task:1"


@pytest.fixture(scope="module")
def tasks(long_cluster: MakeCluster) -> Cluster:
    return long_cluster("grpc+stream", ps=2, worker=2)


@pytest.fixture(autouse=True)
def session(tasks: Cluster) -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session(tasks.target("worker", 0)) as own:
        yield own


def test_one_function_uses_variables_of_two_tasks(session: Any) -> None:
    with tf.device("/job:ps/task:0"):
        a: Any = tf.Variable(2.0, use_resource=True)
    with tf.device("/job:ps/task:1"):
        b: Any = tf.Variable(3.0, use_resource=True)

    @Defun(tf.float32)
    def model(x: Any) -> Any:
        return x * a + tf.square(b)

    @Defun(tf.float32)
    def step(x: Any) -> Any:
        with tf.control_dependencies([a.assign_add(x, read_value=False), b.assign_sub(x, read_value=False)]):
            return tf.identity(x)

    y = model(5.0)
    gradients = tf.gradients(y, [a, b])
    changed = step(1.0)
    session.run(tf.global_variables_initializer())
    assert session.run([y, *gradients]) == [19, 5, 6]
    session.run(changed)
    assert session.run([a, b]) == [3, 2]


def test_the_devices_of_bodies_are_kept(session: Any) -> None:
    @Defun(tf.float32)
    def spread(x: Any) -> Any:
        with tf.device(PS):
            y = tf.exp(x)
        return tf.sin(y)

    x = tf.placeholder(tf.float32, [])
    with tf.device(WORKER):
        y = spread(x)
    metadata = tf.RunMetadata()
    session.run(y, {x: 1.0}, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    devices = {node.op: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert devices["Exp"].startswith("/job:ps/replica:0/task:0")
    assert devices["Sin"].startswith("/job:worker/replica:0/task:1")


def test_remote_calls_run_on_their_targets(session: Any) -> None:
    with tf.device("/job:ps/task:1"):
        v: Any = tf.Variable(4.0, use_resource=True)

    @Defun(tf.float32)
    def added(x: Any) -> Any:
        return tf.exp(v.assign_add(x) * 0.0) * x, tf.string_join([tf.as_string(x), "!"])

    x = tf.placeholder(tf.float32, [])
    with tf.device(WORKER):
        found = functional_ops.remote_call(
            [x], [tf.float32, tf.string], added, "/job:ps/replica:0/task:1/device:CPU:0"
        )
    session.run(v.initializer)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    assert session.run(found, {x: 2.0}, options=options, run_metadata=metadata) == [2, b"2.000000!"]
    devices = {node.op: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert devices["StringJoin"].startswith("/job:ps/replica:0/task:1")
    assert session.run(v) == 6


def test_a_function_with_a_queue_runs_where_it_is_called_to(session: Any) -> None:
    """It has a resource of its own, so it stays a function, on the target as a whole."""

    @Defun(tf.float32)
    def through_a_queue(x: Any) -> Any:
        queue = tf.FIFOQueue(1, [tf.float32], shared_name="own")
        with tf.control_dependencies([queue.enqueue(x)]):
            return queue.dequeue()

    [y] = functional_ops.remote_call([2.0], [tf.float32], through_a_queue, PS)
    assert session.run(y) == 2
    with tf.device(PS):
        same = tf.FIFOQueue(1, [tf.float32], shared_name="own")
    assert session.run(same.size()) == 0


def test_functional_control_flow_between_tasks(session: Any) -> None:
    @Defun(tf.int32, tf.float32)
    def body(i: Any, x: Any) -> Any:
        return x * 2.0 + tf.cast(i, tf.float32)

    with tf.device(PS):
        [x] = functional_ops.For(0, 3, 1, [tf.placeholder_with_default(1.0, [])], body)
    with tf.device(WORKER):
        [y] = functional_ops.If(x > 5.0, [x], Defun(tf.float32)(lambda x: -x), Defun(tf.float32)(lambda x: x))
    assert session.run([x, y]) == [12, -12]


@pytest.fixture
def functional() -> Iterator[None]:
    tf.enable_control_flow_v2()
    yield
    tf.disable_control_flow_v2()


def test_a_variable_on_a_ps_is_trained_through_a_loop_that_is_a_function(
    session: Any, functional: None
) -> None:
    with tf.device(PS):
        v: Any = tf.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device(WORKER):
        x = tf.placeholder_with_default(2.0, [])
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v), [0, x])[1]
        y = tf.cond(x > 0.0, lambda: y * v, lambda: y)
        [first] = tf.gradients(y, v)
        [second] = tf.gradients(first, v)
    step = tf.train.GradientDescentOptimizer(0.125).minimize(y)
    session.run(tf.global_variables_initializer())
    assert session.run([y, first, second]) == [2, 8, 24]
    assert session.run([y, first, second], {x: -2.0}) == [-2, -6, -12]
    session.run(step)
    assert session.run(v) == 0


def test_values_of_two_tasks_in_functions_with_gradients(session: Any, functional: None) -> None:
    with tf.device(PS):
        a = tf.placeholder_with_default(3.0, [])
    with tf.device(WORKER):
        b = tf.exp(a)

    @tf.function
    def chosen(a: Any, b: Any) -> Any:
        noise = tf.random_uniform([])
        return tf.cond(a > 0.0, lambda: a * b * noise, lambda: b * noise), noise

    y, noise = chosen(a, b)
    slopes = tf.gradients(y, [a, b])
    drawn, by_a, by_b = session.run([noise, *slopes], {b: 2.0})
    assert [by_a, by_b] == pytest.approx([(2 + 3 * 2) * drawn, 3 * drawn])


def test_one_functional_loop_takes_variables_of_two_tasks(session: Any, functional: None) -> None:
    variables: list[Any] = []
    for task in range(2):
        with tf.device(f"/job:ps/task:{task}"):
            variables.append(tf.get_variable(f"of{task}", initializer=2.0, use_resource=True))
    y = tf.while_loop(lambda x: x < 9.0, lambda x: x + variables[0] * variables[1], [0.0])
    session.run(tf.global_variables_initializer())
    assert session.run(y) == 12


SLOPES = {"cond": (3, 2), "loop": (7, 3), "both": (81, 44), "nested": (21, 16)}


@pytest.mark.parametrize(("kind", "value"), [("cond", 6), ("loop", 13), ("both", 78), ("nested", 30)])
def test_a_traced_function_is_trained_with_variables_of_two_tasks(
    session: Any, kind: str, value: float
) -> None:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, worker_device=WORKER)):
        a: Any = tf.get_variable("a", initializer=2.0, use_resource=True)
        b: Any = tf.get_variable("b", initializer=3.0, use_resource=True)
        assert {a.device, b.device} == {"/job:ps/task:0", "/job:ps/task:1"}

        def turn(i: Any, y: Any) -> Any:
            if kind == "nested":
                return i + 1, tf.cond(i > 0, lambda: y * a * b, lambda: y * a + b)
            return i + 1, y * a + b

        @tf.function
        def model(x: Any) -> Any:
            y = x if kind == "cond" else tf.while_loop(lambda i, y: i < 2, turn, [0, x])[1]
            return tf.cond(x > 0.0, lambda: y * a * b, lambda: y - b) if kind in ("cond", "both") else y

        y = model(tf.placeholder_with_default(1.0, []))
        slopes = tf.gradients(y, [a, b])
        step = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(slopes, [a, b], strict=True))
    session.run(tf.global_variables_initializer())
    assert session.run(y) == value
    assert session.run(slopes) == list(SLOPES[kind])
    session.run(step)
    assert session.run([a, b]) == [2 - SLOPES[kind][0] / 2, 3 - SLOPES[kind][1] / 2]


@pytest.mark.parametrize("taken", [True, False])
def test_only_the_branch_that_is_taken_acts(session: Any, functional: None, taken: bool) -> None:
    """On both tasks, in each turn, and before what waits for the conditional."""
    a, b = _two_counters()

    @tf.function
    def changed(x: Any, go: Any) -> Any:
        def turn(i: Any) -> Any:
            def add() -> Any:
                a.assign_add(x)
                b.assign_add(x * a)
                return i + 1

            def take() -> Any:
                b.assign_sub(1.0)
                return i + 1

            return tf.cond(go, add, take)

        turns = tf.while_loop(lambda i: i < 3, turn, [0])
        return tf.identity(turns), a + 0.0

    turns, read = changed(2.0, tf.placeholder_with_default(taken, []))
    session.run(tf.global_variables_initializer())
    assert session.run([turns, read]) == [3, 6 if taken else 0]
    assert session.run([a, b]) == ([6, 2 * 2 + 2 * 4 + 2 * 6] if taken else [0, -3])


def _two_counters() -> list[Any]:
    made: list[Any] = []
    for task in range(2):
        with tf.device(f"/job:ps/task:{task}"):
            made.append(tf.get_variable(f"counter{task}", initializer=0.0, use_resource=True))
    return made


def test_branches_compute_where_they_ask_to(session: Any, functional: None) -> None:
    x = tf.placeholder_with_default(2.0, [])

    def spread() -> Any:
        with tf.device(PS):
            y = tf.exp(x)
        with tf.device(WORKER):
            return tf.sin(y)

    y = tf.switch_case(tf.placeholder_with_default(7, []), [lambda: x, lambda: -x, spread])
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    assert session.run(y, options=options, run_metadata=metadata) == pytest.approx(np.sin(np.exp(2.0)))
    devices = {node.op: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert devices["Exp"].startswith("/job:ps/replica:0/task:0")
    assert devices["Sin"].startswith("/job:worker/replica:0/task:1")
