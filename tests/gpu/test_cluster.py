"""Tasks with GPUs of the stand-in, in one process: a ps on the CPU, and workers that compute on GPUs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tensorfleet as tf
from tensorfleet.cli.status import cluster_status
from tests.gpu.strict_array import Counters, Machine
from tests.ports import free_ports


def test_a_ps_on_the_cpu_and_two_workers_with_a_gpu_each(gpus: Callable[..., Machine]) -> None:
    machine = gpus(2)
    ports = free_ports(3)
    cluster = tf.train.ClusterSpec(
        {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{port}" for port in ports[1:]]}
    )
    servers = [tf.train.Server(cluster, "ps", 0)]
    for index in range(2):
        options = tf.GPUOptions(visible_device_list=str(index))
        servers.append(tf.train.Server(cluster, "worker", index, config=tf.ConfigProto(gpu_options=options)))
    x, y = np.eye(4, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    with tf.device("/job:ps"):
        w = tf.get_variable("w", initializer=np.zeros((4, 2), np.float32))
        optimizer = tf.train.GradientDescentOptimizer(1.0)
    steps, losses = [], []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            losses.append(loss)
        steps.append(optimizer.minimize(loss))
    try:
        with tf.Session(servers[0].target) as session:
            names = [d.name for d in session.list_devices() if d.device_type == "GPU"]
            assert names == [f"/job:worker/replica:0/task:{i}/device:GPU:0" for i in range(2)]
            told = [task.reply.kernels for task in cluster_status(f"127.0.0.1:{ports[0]}", 10) if task.reply]
            assert ["cuDNN" in text or "products of patches" in text for text in told] == [False, True, True]
            session.run(tf.global_variables_initializer())
            found = [session.run([loss, step])[0] for step, loss in zip(steps, losses, strict=True)]
            for _ in range(3):
                for step, loss in zip(steps, losses, strict=True):
                    machine.counters = Counters()
                    found.append(session.run([loss, step])[0])
                    # In comes the variable, and out its gradient and the loss.
                    assert [s for s in machine.counters.to_device if s] == [(4, 2)]
                    assert sorted(machine.counters.to_host) == [(), (4, 2)]
            assert found == sorted(found, reverse=True)
            assert found[-1] < found[0] / 2
            assert all(pool.peak > 0 for pool in machine.pools)
    finally:
        for server in servers:
            server.stop()
