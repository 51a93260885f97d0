"""Datasets on the tasks of a cluster, each where it is placed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

Dataset: Any = tf.data.Dataset
WORKERS = ["/job:worker/task:0", "/job:worker/task:1"]


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def pipeline(task: int, size: int = 8) -> Any:
    """Every second number, times 10, made ahead on a worker."""
    with tf.device(WORKERS[task]):
        dataset = Dataset.range(size).shard(2, task).map(lambda x: x * 10, num_parallel_calls=2)
        return tf.data.make_initializable_iterator(dataset.prefetch(2))


def test_a_dataset_on_each_worker(shared: Cluster) -> None:
    iterators = [pipeline(0), pipeline(1)]
    following = [iterator.get_next() for iterator in iterators]
    with tf.device("/job:ps/task:0"):
        total = following[0] + following[1]
    with tf.Session(shared.target("worker")) as session:
        session.run([iterator.initializer for iterator in iterators])
        assert session.run(following) == [0, 10]
        assert [session.run(total) for _ in range(3)] == [50, 90, 130]
        with pytest.raises(tf.errors.OutOfRangeError, match=r"(?s)End of sequence.*IteratorGetNext"):
            session.run(total)
        session.run(iterators[1].initializer)
        assert session.run(following[1]) == 10


def test_windows_on_a_worker(shared: Cluster) -> None:
    with tf.device(WORKERS[1]):
        windows = Dataset.range(8).map(lambda x: {"x": x, "twice": 2 * x}).window(3, 2)
        sums = windows.map(lambda w: w["x"].reduce(tf.constant(0, tf.int64), lambda total, x: total + x))
        pairs = windows.flat_map(lambda w: Dataset.zip((w["x"].batch(3), w["twice"].batch(3))))
        iterators = [tf.data.make_initializable_iterator(dataset) for dataset in (sums, pairs, windows)]
        total, pair, window = (iterator.get_next() for iterator in iterators)
        only = tf.data.experimental.get_single_element(window["twice"].batch(3))
    with tf.device(WORKERS[0]):
        results = [total + 1, pair[0] + pair[1], only + 1]
        elsewhere = tf.data.experimental.get_single_element(window["x"].batch(3))
    with tf.Session(shared.target("worker")) as session:
        session.run([iterator.initializer for iterator in iterators])
        found = [session.run(results) for _ in range(4)]
        assert [[np.asarray(value).tolist() for value in values] for values in found] == [
            [4, [0, 3, 6], [1, 3, 5]],
            [10, [6, 9, 12], [5, 7, 9]],
            [16, [12, 15, 18], [9, 11, 13]],
            [14, [18, 21], [13, 15]],
        ]
        for result in results:
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(result)
        session.run(iterators[2].initializer)
        # A dataset does not leave its task: what is made of it is there, too.
        assert session.run(elsewhere).tolist() == [0, 1, 2]


def test_training_between_graphs_until_the_data_ends(shared: Cluster) -> None:
    seen = []
    for task in range(2):
        with tf.Graph().as_default():
            with tf.device(tf.train.replica_device_setter(worker_device=WORKERS[task], cluster=shared.spec)):
                x = (
                    Dataset.range(10)
                    .shard(2, task)
                    .map(lambda x: x + 1)
                    .batch(2)
                    .make_one_shot_iterator()
                    .get_next()
                )
                total = tf.get_variable("total", initializer=tf.constant(0, tf.int64))
                add = tf.assign_add(total, tf.reduce_sum(x))
            with tf.train.MonitoredTrainingSession(
                shared.target("worker", task), is_chief=task == 0
            ) as session:
                while not session.should_stop():
                    seen.append(session.run(add))
    assert len(seen) == 6
    assert seen[-1] == sum(range(1, 11))


def test_a_handle_chooses_among_the_datasets_of_a_task(shared: Cluster) -> None:
    iterators = [pipeline(1), pipeline(1, 20)]
    with tf.device(WORKERS[1]):
        handle = tf.placeholder(tf.string, [])
        following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.device(WORKERS[0]):
        elsewhere = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session(shared.target("worker")) as session:
        session.run([iterator.initializer for iterator in iterators])
        handles = session.run([iterator.string_handle() for iterator in iterators])
        assert [session.run(following, {handle: text}) for text in handles * 2] == [10, 10, 30, 30]
        with pytest.raises(tf.errors.InvalidArgumentError, match="from handle defined on device"):
            session.run(elsewhere, {handle: handles[0]})


def test_a_dataset_and_its_iterator_on_different_tasks(shared: Cluster) -> None:
    with tf.device(WORKERS[0]):
        dataset = Dataset.range(3)
    with tf.device(WORKERS[1]):
        initializer = tf.data.Iterator.from_structure(tf.int64, []).make_initializer(dataset)
    with (
        tf.Session(shared.target("worker")) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="incompatible resource devices"),
    ):
        session.run(initializer)


def test_a_python_generator_cannot_run_elsewhere(shared: Cluster) -> None:
    with tf.device(WORKERS[0]):
        dataset = Dataset.from_generator(lambda: iter([1]), tf.int64, [])
        following = dataset.make_one_shot_iterator().get_next()
    with (
        tf.Session(shared.target("worker")) as session,
        pytest.raises(tf.errors.UnimplementedError, match="a Python function of the client's process"),
    ):
        session.run(following)


def test_a_step_that_waits_on_another_task_is_given_up(shared: Cluster) -> None:
    with tf.device(WORKERS[1]):
        queue = tf.FIFOQueue(1, tf.int64, [[]])
        put = queue.enqueue(5)
        iterator = tf.data.make_initializable_iterator(Dataset.range(3).map(lambda x: x + queue.dequeue()))
    following = iterator.get_next()
    with tf.device(WORKERS[0]):
        result = following * 2
    with tf.Session(shared.target("worker")) as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(result, options=tf.RunOptions(timeout_in_ms=300))
        session.run(put)
        assert session.run(result) == 10


def test_an_iterator_is_its_sessions_own_and_ends_with_it(shared: Cluster) -> None:
    with tf.device(WORKERS[1]):
        count = tf.get_variable("made", initializer=0, use_resource=True)

        def counted(x: Any) -> Any:
            with tf.control_dependencies([count.assign_add(1)]):
                return tf.identity(x)

        dataset = Dataset.range(10**9).map(counted).prefetch(4).map(lambda x: x + 1, 2).prefetch(4)
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
    for index in range(2):
        with tf.Session(shared.target("worker", index)) as session:
            session.run(count.initializer)
            with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
                session.run(following)
            session.run(iterator.initializer)
            assert session.run(following) == 1
            end = time.monotonic() + 20
            while (made := session.run(count)) < 8:  # what the buffers hold
                assert time.monotonic() < end, f"only {made} elements were made"

    with tf.device(WORKERS[0]):
        shared_iterator = tf.data.make_initializable_iterator(
            Dataset.range(9).prefetch(2), shared_name="by all"
        )
        following = shared_iterator.get_next()
    with tf.Session(shared.target("worker")) as session, tf.Session(shared.target("worker", 1)) as other:
        session.run(shared_iterator.initializer)
        assert [session.run(following), other.run(following), session.run(following)] == [0, 1, 2]
        tf.Session.reset(shared.target("worker"))
    with (
        tf.Session(shared.target("worker")) as session,
        pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"),
    ):
        session.run(following)
