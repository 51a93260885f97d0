"""The cost of training beside the arithmetic: memory of a parameter server, bytes between tasks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer
from tests.cluster.conftest import MakeCluster
from tests.ports import free_ports

MB = 1 << 20


def resident(pid: int) -> int:
    """The memory that a process has, in bytes."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.slow
def test_memory_of_a_ps_stays_flat(cluster: MakeCluster) -> None:
    tasks = cluster("grpc+stream", ps=1, worker=1)
    with tf.Graph().as_default():
        setter = tf.train.replica_device_setter(
            worker_device="/job:worker/task:0", cluster=ClusterSpec(tasks.spec)
        )
        with tf.device(setter):
            step = tf.train.get_or_create_global_step()
            x = tf.placeholder(tf.float32, [None, 20])
            w = tf.Variable(tf.zeros([20, 1000]))
            b = tf.Variable(tf.zeros([1000]))
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
            train = tf.train.AdamOptimizer(0.01).minimize(loss, step)
        fed = {x: np.random.default_rng(0).standard_normal((2, 20)).astype(np.float32)}
        with tf.Session(tasks.target()) as session:
            session.run(tf.global_variables_initializer())
            first = session.run(loss, fed)
            run = session.make_callable([train.name, step.name], [x])
            for _ in range(1000):
                run(fed[x])
            before = {task: resident(task.pid) for task in tasks.tasks.values()}
            for _ in range(9000):
                run(fed[x])
            assert session.run(step) == 10_000
            assert session.run(loss, fed) < first
            for task, memory in before.items():
                assert resident(task.pid) - memory < 4 * MB, f"{task.name} grew"


@pytest.fixture
def tasks() -> Iterator[tuple[TaskServer, TaskServer]]:
    """A ps and a worker in this process."""
    ports = free_ports(2)
    spec = ClusterSpec({"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]})
    servers = TaskServer(spec, "ps", 0), TaskServer(spec, "worker", 0)
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop(grace=1.0)


ROWS, WIDTH, BATCH = 100_000, 64, 256


@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer, tf.train.AdagradOptimizer])
def test_only_the_rows_that_are_used_travel(tasks: tuple[TaskServer, TaskServer], optimizer: type) -> None:
    ps, worker = tasks
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            table = tf.Variable(tf.ones([ROWS, WIDTH]))
        with tf.device("/job:worker/task:0"):
            ids = tf.placeholder(tf.int32, [BATCH])
        rows = tf.nn.embedding_lookup(table, ids)
        with tf.device("/job:worker/task:0"):
            loss = tf.reduce_mean(tf.square(rows))
        train = optimizer(0.1).minimize(loss)
        chosen = np.random.default_rng(0).choice(ROWS, BATCH, replace=False).astype(np.int32)
        with tf.Session(worker.target) as session:
            session.run(tf.global_variables_initializer())
            session.run([train, loss], {ids: chosen})
            (traffic,) = ps._peers.traffic.values()
            before = traffic.received_bytes + traffic.sent_bytes
            session.run([train, loss], {ids: chosen})
            moved = traffic.received_bytes + traffic.sent_bytes - before
            changed = session.run(tf.reduce_sum(tf.cast(tf.not_equal(table, 1.0), tf.int32)))
    one_way = BATCH * WIDTH * 4
    assert 2 * one_way < moved < 2 * one_way + 8 * BATCH * 4 + 10_000  # rows there, gradients back, indices
    assert changed == BATCH * WIDTH
