"""The unmodified TensorFlow client on our servers: datasets, and conditionals and loops as functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf

from tests.compat.cluster import Cluster

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture(autouse=True)
def _fresh_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def _functional_control_flow() -> Iterator[None]:
    tf.enable_control_flow_v2()
    yield
    tf.disable_control_flow_v2()


def drained(session: Any, tensors: Any) -> list[Any]:
    """The elements of a pipeline, and at last whether it ended as one does."""
    found = []
    while True:
        try:
            found.append(session.run(tensors))
        except tf.errors.OutOfRangeError as e:
            return [*found, "End of sequence" in e.message]


@pytest.mark.parametrize("task", [0, 1])
def test_a_pipeline_on_either_task(local: Cluster, task: int) -> None:
    with tf.device(f"/job:local/task:{task}/cpu:0"):
        factor = tf.constant(3.0)
        dataset = tf.data.Dataset.from_tensor_slices({"x": np.arange(6, dtype=np.float32), "i": np.arange(6)})
        dataset = dataset.map(lambda e: (e["x"] * factor, e["i"])).filter(lambda x, i: i > 0)
        dataset = dataset.map(lambda x, i: x, num_parallel_calls=2).shuffle(3, seed=1).repeat(2).batch(4)
        iterator = tf.data.make_initializable_iterator(dataset.prefetch(1))
        following = iterator.get_next()
    with tf.device("/job:local/task:0"):
        total = tf.reduce_sum(following)
    with tf.Session(local.target("local")) as session:
        session.run(iterator.initializer)
        *sums, ended = drained(session, total)
        assert ended
        assert sum(sums) == 2 * 3 * (1 + 2 + 3 + 4 + 5)


def test_a_one_shot_iterator_and_datasets_of_datasets(local: Cluster) -> None:
    dataset = tf.data.Dataset.range(4).flat_map(lambda x: tf.data.Dataset.range(x).map(lambda y: x * 10 + y))
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session(local.target("local")) as session:
        assert drained(session, following) == [10, 20, 21, 30, 31, 32, True]


def test_windows_and_optional_ends(local: Cluster) -> None:
    with tf.device("/job:local/task:1"):
        windows = tf.data.Dataset.range(5).map(lambda x: (x, x * 2)).window(2)
        batches = windows.flat_map(lambda a, b: tf.data.Dataset.zip((a.batch(2), b.batch(2))))
        iterator = tf.data.make_initializable_iterator(batches.map(lambda a, b: tf.reduce_sum(a) * 10 + b[0]))
        following = iterator.get_next_as_optional()
        present, value = following.has_value(), following.get_value()
    with tf.Session(local.target("local")) as session:
        session.run(iterator.initializer)
        assert [session.run([present, value]) for _ in range(3)] == [[True, 10], [True, 54], [True, 48]]
        assert not session.run(present)


def test_a_string_handle_goes_through_the_client(local: Cluster) -> None:
    with tf.device("/job:local/task:1"):
        iterators = [tf.data.make_initializable_iterator(tf.data.Dataset.range(n)) for n in (2, 3)]
        handle = tf.placeholder(tf.string, [])
        following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session(local.target("local")) as session:
        session.run([iterator.initializer for iterator in iterators])
        handles = session.run([iterator.string_handle() for iterator in iterators])
        assert [session.run(following, {handle: text}) for text in handles * 2] == [0, 0, 1, 1]


def test_errors_name_the_op_of_the_function_and_the_iterator(local: Cluster) -> None:
    dataset = tf.data.Dataset.range(2).map(
        lambda x: tf.check_numerics(1 / tf.cast(x, tf.float32), "infinite")
    )
    iterator = tf.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    with tf.Session(local.target("local")) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(following)
        session.run(iterator.initializer)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"(?s)infinite.*CheckNumerics.*IteratorGetNext"
        ):
            session.run(following)
        assert session.run(following) == 1.0


@pytest.mark.usefixtures("_functional_control_flow")
def test_functional_conditionals_and_loops(local: Cluster) -> None:
    x = tf.placeholder(tf.int32, [])
    chosen = tf.cond(x > 3, lambda: x * 10, lambda: tf.cond(x > 1, lambda: x, lambda: -x))
    _, total = tf.while_loop(lambda i, _: i < x, lambda i, s: (i + 1, s + i * i), [0, 0])
    switched = tf.switch_case(x, [lambda: 1.5, lambda: 2.5], default=lambda: 3.5)
    v = tf.get_variable("v", initializer=1, use_resource=True)
    with tf.control_dependencies([tf.cond(x > 3, lambda: v.assign_add(5), lambda: v.assign_add(7))]):
        changed = v.read_value()
    kinds = {op.type for op in tf.get_default_graph().get_operations()}
    assert {"If", "StatelessWhile", "StatelessCase"} <= kinds | {"StatelessIf"}
    with tf.Session(local.target("local")) as session:
        session.run(v.initializer)
        assert session.run([chosen, total, switched], {x: 5}) == [50, 30, 3.5]
        assert session.run([chosen, total, switched], {x: 1}) == [-1, 0, 2.5]
        assert [session.run(changed, {x: n}) for n in (5, 1)] == [6, 13]


@pytest.mark.usefixtures("_functional_control_flow")
def test_a_function_that_waits_for_another_step(local: Cluster) -> None:
    queue = tf.FIFOQueue(2, tf.int32, [[]])
    value = tf.placeholder(tf.int32, [])
    put = queue.enqueue(value)
    taken = tf.cond(value > 0, lambda: queue.dequeue() + 1, lambda: value)
    with tf.Session(local.target("local")) as session:
        assert session.run(taken, {value: 0}) == 0
        session.run(put, {value: 41})
        assert session.run(taken, {value: 1}) == 42
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, {value: 1}, options=tf.RunOptions(timeout_in_ms=200))
        session.run(put, {value: 1})
        assert session.run(taken, {value: 1}) == 2
