"""Records read on the tasks of a cluster: by readers and queue runners, and by datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

train: Any = tf.train
WORKERS = ["/job:worker/task:0", "/job:worker/task:1"]
COUNT = 40


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two files of Examples: x, and y = 2 x."""
    names = [str(tmp_path / f"part-{i}") for i in range(2)]
    for part, name in enumerate(names):
        with tf.python_io.TFRecordWriter(name) as writer:
            for i in range(part, COUNT, 2):
                features = {
                    "x": train.Feature(float_list=train.FloatList(value=[i / COUNT])),
                    "y": train.Feature(int64_list=train.Int64List(value=[i])),
                }
                example = train.Example(features=train.Features(feature=features))
                writer.write(example.SerializeToString())
    return names


def parsed(serialized: Any) -> tuple[Any, Any]:
    features = tf.parse_single_example(
        serialized, {"x": tf.FixedLenFeature([], tf.float32), "y": tf.FixedLenFeature([], tf.int64)}
    )
    return features["x"], features["y"]


def test_queue_runners_feed_training(shared: Cluster, files: list[str]) -> None:
    """The classic pipeline on each worker, with the variable on the ps."""
    with tf.device("/job:ps/task:0"):
        weight = tf.get_variable("records_weight", [], initializer=tf.zeros_initializer())
        seen = tf.get_variable("records_seen", [COUNT], tf.int32, initializer=tf.zeros_initializer())
    steps = []
    for worker in WORKERS:
        with tf.device(worker):
            names = train.string_input_producer(files, num_epochs=2, shuffle=True, seed=1)
            _, value = tf.TFRecordReader().read(names)
            x, y = train.shuffle_batch(
                list(parsed(value)), 5, capacity=30, min_after_dequeue=10, allow_smaller_final_batch=True
            )
            loss = tf.reduce_mean(tf.square(weight * x - 2.0 * x))
            step = train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[weight])
            counted = tf.scatter_add(seen, y, tf.ones_like(y, tf.int32))
            steps.append(tf.group(step, counted))
    with tf.Session(shared.target("worker")) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = train.Coordinator()
        threads = train.start_queue_runners(session, coordinator)
        for step in steps:
            ended = False
            for _ in range(COUNT):
                try:
                    session.run(step)
                except tf.errors.OutOfRangeError:
                    ended = True
                    break
            assert ended
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=20)
        assert session.run(seen).tolist() == [4] * COUNT
        assert session.run(weight) == pytest.approx(2.0, abs=0.3)


def test_a_dataset_of_records_on_a_worker(shared: Cluster, files: list[str]) -> None:
    with tf.device(WORKERS[1]):
        dataset = tf.data.TFRecordDataset(files, num_parallel_reads=2).map(parsed, 2).batch(8).prefetch(1)
        x, y = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.device("/job:ps/task:0"):
        double = x * 2.0
    numbers: list[int] = []
    with tf.Session(shared.target("worker")) as session:
        for _ in range(COUNT // 8):
            values, found = session.run([double, y])
            np.testing.assert_allclose(values, 2.0 * found / COUNT, rtol=1e-6)
            numbers += found.tolist()
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(y)
    assert numbers == list(range(COUNT))


def test_sessions_share_the_names_of_files(shared: Cluster, files: list[str]) -> None:
    """A queue that has a name is one for all sessions; each has a reader of its own."""
    with tf.device(WORKERS[0]):
        queue = tf.FIFOQueue(4, tf.string, [[]], shared_name="records_names")
        names = queue.enqueue_many([files])
        reader = tf.WholeFileReader()
        key, _ = reader.read(queue)
        completed = reader.num_work_units_completed()
    with tf.Session(shared.target("worker", 0)) as one, tf.Session(shared.target("worker", 1)) as two:
        one.run(names)
        found = [one.run(key).decode(), two.run(key).decode()]
        assert sorted(found) == sorted(files)
        assert one.run(completed) == two.run(completed) == 1
