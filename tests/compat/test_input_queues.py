"""Input by queues gives in TensorFleet what it gives in TensorFlow: elements, order, batches and the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

pytestmark = pytest.mark.slow

Make = Callable[[Any], Any]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, bytes) else value.tolist()


def results(tf: Any, make: Make) -> list[Any]:
    """What tensors give until the queues are at an end; then the names of the summaries."""
    found: list[Any] = []
    with tf.Graph().as_default():
        tensors = make(tf)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            for _ in range(30):
                try:
                    found.append(plain(session.run(tensors)))
                except tf.errors.OutOfRangeError:
                    found.append("end")
                    break
            coordinator.request_stop()
            coordinator.join(threads)
        found += sorted(
            op.name for op in tf.get_default_graph().get_operations() if op.type == "ScalarSummary"
        )
        found += [runner.name for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)]
    return found


CASES: dict[str, Make] = {
    "strings": lambda tf: tf.train.string_input_producer(
        ["a", "b", "c"], num_epochs=2, shuffle=False
    ).dequeue(),
    "strings in random order": lambda tf: tf.train.string_input_producer(list("abcdef"), 3, seed=4).dequeue(),
    "without end": lambda tf: tf.train.range_input_producer(7, shuffle=False).dequeue(),
    "rows": lambda tf: tf.train.slice_input_producer(
        [np.eye(3), ["x", "y", "z"]], num_epochs=2, shuffle=False
    ),
    "rows of a tensor": lambda tf: tf.train.input_producer(
        tf.ones([2, 3]), num_epochs=2, capacity=2
    ).dequeue(),
    "batches": lambda tf: tf.train.batch(
        tf.train.slice_input_producer([np.arange(10), np.eye(10)], 1, False),
        4,
        allow_smaller_final_batch=True,
    ),
    "whole batches only": lambda tf: tf.train.batch(
        {"n": tf.train.range_input_producer(10, 1, False).dequeue()}, 4, capacity=5
    ),
    "batches of batches": lambda tf: tf.train.batch(
        [tf.train.input_producer(np.arange(12).reshape(3, 4), num_epochs=1, shuffle=False).dequeue()],
        3,
        enqueue_many=True,
    ),
    "padded": lambda tf: tf.train.batch(
        [(lambda n: tf.fill([n], n))(tf.train.range_input_producer(6, 1, False).dequeue())],
        2,
        shapes=[[None]],
        dynamic_pad=True,
    ),
    "kept": lambda tf: (lambda n: tf.train.maybe_batch([n], n > 3, 2, allow_smaller_final_batch=True))(
        tf.train.range_input_producer(10, 1, False).dequeue()
    ),
    "all kept": lambda tf: tf.train.maybe_batch(
        [tf.train.range_input_producer(6, 1, False).dequeue()], True, 2
    ),
    "kept of batches": lambda tf: (lambda n: tf.train.maybe_batch({"n": n}, n % 3 > 0, 2, enqueue_many=True))(
        tf.train.input_producer(np.arange(12).reshape(3, 4), num_epochs=1, shuffle=False).dequeue()
    ),
    "kept of several": lambda tf: (lambda n: tf.train.maybe_batch_join([[n]], n > 3, 2))(
        tf.train.range_input_producer(10, 1, False).dequeue()
    ),
    "joined": lambda tf: tf.train.batch_join([[tf.train.range_input_producer(6, 1, False).dequeue()]], 2),
}


@pytest.mark.parametrize("case", CASES)
def test_queues(case: str) -> None:
    assert results(fleet, CASES[case]) == results(real, CASES[case])


@pytest.mark.parametrize("join", [False, True])
def test_a_shuffled_batch_has_all_elements(join: bool) -> None:
    def make(tf: Any) -> Any:
        number = tf.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
        if join:
            return tf.train.shuffle_batch_join([[number], [number + 100]], 5, 20, 5, seed=3)
        return tf.train.shuffle_batch([number], 5, 20, 5, seed=3, allow_smaller_final_batch=True)

    ours, theirs = results(fleet, make), results(real, make)
    assert ours[4:] == theirs[4:]
    drawn = [int(n) % 100 for batch in ours[:4] for n in np.ravel(batch)]
    assert sorted(drawn) == list(range(20))
    assert drawn != list(range(20))


@pytest.mark.parametrize("join", [False, True])
def test_a_shuffled_batch_of_what_is_kept(join: bool) -> None:
    def make(tf: Any) -> Any:
        number = tf.train.range_input_producer(40, num_epochs=1, shuffle=False).dequeue()
        if join:
            return tf.train.maybe_shuffle_batch_join([[number]], 5, 20, 5, number % 2 > 0, seed=3)
        return tf.train.maybe_shuffle_batch([number], 5, 20, 5, number % 2 > 0, seed=3)

    ours, theirs = results(fleet, make), results(real, make)
    assert ours[4:] == theirs[4:]
    assert sorted(int(n) for batch in ours[:4] for n in batch) == list(range(1, 40, 2))


def test_what_is_refused() -> None:
    for tf in (fleet, real):
        with tf.Graph().as_default():
            calls: list[Callable[[], Any]] = [
                lambda tf=tf: tf.train.limit_epochs(tf.constant(1), 0),
                lambda tf=tf: tf.train.string_input_producer([]),
                lambda tf=tf: tf.train.slice_input_producer([]),
                lambda tf=tf: tf.train.batch([], 2),
                lambda tf=tf: tf.train.input_producer(tf.placeholder(tf.float32, [3, None])),
                lambda tf=tf: tf.train.batch([tf.placeholder(tf.float32)], 2),
                lambda tf=tf: tf.train.maybe_batch([tf.constant(1)], [True], 2),
                lambda tf=tf: tf.train.maybe_batch([tf.ones([1])], [[True]], 2, enqueue_many=True),
                lambda tf=tf: tf.train.maybe_batch([tf.constant(1)], tf.placeholder(tf.bool), 2),
            ]
            for call in calls:
                with pytest.raises(
                    ValueError, match=r"must be > 0|non-null|at least one|element_shape|rank|keep_input"
                ):
                    call()
