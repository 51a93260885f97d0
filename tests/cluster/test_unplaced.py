"""Where nodes run that name no task: on their master, or on the first task by name as in TensorFlow 1.15."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer
from tests.ports import free_ports

PS, FIRST, SECOND = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"


@pytest.fixture(scope="module")
def workers() -> Iterator[list[str]]:
    ports = [f"127.0.0.1:{port}" for port in free_ports(3)]
    spec = ClusterSpec({"ps": ports[:1], "worker": ports[1:]})
    tasks = [("ps", 0), ("worker", 0), ("worker", 1)]
    servers = [TaskServer(spec, job, index, "grpc+stream", tf.ConfigProto()) for job, index in tasks]
    for server in servers:
        server.start()
    yield [server.target for server in servers[1:]]
    for server in servers:
        server.stop(grace=0.5)


@pytest.mark.parametrize(
    ("setting", "unplaced", "of_the_job"),
    [("", SECOND, SECOND), ("own", SECOND, SECOND), ("first", PS, FIRST)],
)
def test_which_task_computes(
    workers: list[str], monkeypatch: pytest.MonkeyPatch, setting: str, unplaced: str, of_the_job: str
) -> None:
    monkeypatch.setenv("TENSORFLEET_UNPLACED", setting)
    with tf.Graph().as_default(), tf.Session(workers[1]) as session:
        x = tf.placeholder(tf.float32)
        with tf.device("/cpu:0"):
            y = x * 2.0
        with tf.device("/job:worker"):
            z = x * 3.0
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        assert session.run([x + 1.0, y, z], {x: 1.0}, options, metadata) == [2.0, 2.0, 3.0]
    where = {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert where["add"].startswith(unplaced)
    assert where["mul"].startswith(unplaced)
    assert where["mul_1"].startswith(of_the_job)


def test_unplaced_state_is_that_of_all_workers(workers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORFLEET_UNPLACED", "first")
    with tf.Graph().as_default():
        count = tf.get_variable("count", initializer=0.0)
        queue = tf.FIFOQueue(1, tf.int32, shared_name="done")
        put, got, more = queue.enqueue(7), queue.dequeue(), count.assign_add(1.0)
        with tf.Session(workers[0]) as first, tf.Session(workers[1]) as second:
            first.run(count.initializer)
            assert [first.run(more), second.run(more), first.run(count)] == [1.0, 2.0, 2.0]
            first.run(put)
            assert second.run(got) == 7


def test_sessions_have_their_servers_configuration() -> None:
    spec = ClusterSpec({"local": [f"127.0.0.1:{port}" for port in free_ports(1)]})
    server = TaskServer(spec, "local", 0, "grpc+stream", tf.ConfigProto(allow_soft_placement=True))
    server.start()
    try:
        with tf.Graph().as_default(), tf.Session(server.target, config=tf.ConfigProto()) as session:
            with tf.device("/job:local/task:0/gpu:3"):
                x = tf.constant([1.0]) + 2.0
            assert session.run(x).tolist() == [3.0]
    finally:
        server.stop(grace=0.5)
