"""SyncReplicasOptimizer: replicas together take the steps that one process would take."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

STEPS = 6
BATCHES = np.random.default_rng(8).normal(size=(2, STEPS, 3)).astype(np.float32)


def expected(replicas: int) -> np.ndarray:
    """Gradient descent with the mean of the replicas' gradients of (w - batch)² / 2."""
    w = np.zeros(3, np.float32)
    for step in range(STEPS):
        w = w - np.float32(0.1) * np.mean([w - BATCHES[r, step] for r in range(replicas)], axis=0)
    return w


class Replica:
    """One worker's graph, and its session with the server."""

    def __init__(self, target: str, replicas: int, index: int, use_resource: bool) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.w = tf.get_variable("w", [3], initializer=tf.zeros_initializer(), use_resource=use_resource)
            self.step = tf.train.get_or_create_global_step()
            self.batch = tf.placeholder(tf.float32, [3])
            loss = tf.nn.l2_loss(self.w - self.batch)
            inner = tf.train.GradientDescentOptimizer(0.1)
            # The shared names of queues and accumulators join the replicas; their local steps must differ.
            with tf.container(""), tf.variable_scope(f"worker{index}"), tf.name_scope(f"worker{index}"):
                self.optimizer = tf.train.SyncReplicasOptimizer(inner, replicas)
                self.train = self.optimizer.minimize(loss, global_step=self.step)
            self.init = tf.global_variables_initializer()
            # Without a first token each worker waits for every step.
            self.tokens = self.optimizer.get_init_tokens_op(0)
            self.results = [self.w.read_value(), self.step]
            self.local = tf.local_variables_initializer()
        self.session = tf.Session(target, graph=self.graph)
        self.coordinator = tf.train.Coordinator()
        self.threads: list[threading.Thread] = []

    def start(self, is_chief: bool) -> None:
        optimizer = self.optimizer
        self.session.run(self.local)
        self.session.run(optimizer.chief_init_op if is_chief else optimizer.local_step_init_op)
        if is_chief:
            self.session.run(self.tokens)
            runner = optimizer.get_chief_queue_runner()
            self.threads = runner.create_threads(self.session, self.coordinator, daemon=True, start=True)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_replicas_train_as_one(replicas: int, use_resource: bool) -> None:
    server = tf.train.Server.create_local_server()
    workers = [Replica(server.target, replicas, i, use_resource) for i in range(replicas)]
    chief = workers[0]
    chief.session.run(chief.init)
    for worker in workers:
        worker.start(worker is chief)
    failures: list[BaseException] = []
    # Tokens have no names: a replica that is two steps ahead would take that of another, and end before it.
    together = threading.Barrier(replicas, timeout=30)

    def work(index: int) -> None:
        try:
            for step in range(STEPS):
                together.wait()
                workers[index].session.run(workers[index].train, {workers[index].batch: BATCHES[index, step]})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(replicas)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)
    value, step = chief.session.run(chief.results)
    assert step == STEPS
    np.testing.assert_allclose(value, expected(replicas), rtol=1e-5)
    chief.coordinator.request_stop()
    for worker in workers:
        worker.session.close()
    chief.coordinator.join(chief.threads, stop_grace_period_secs=10)


def test_errors() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0, use_resource=False)
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 3, 2)
        with pytest.raises(ValueError, match="Must supply at least one variable"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="Global step is required"):
            optimizer.apply_gradients([(tf.constant(1.0), v)])
        with pytest.raises(ValueError, match="after apply_gradients"):
            optimizer.get_init_tokens_op()
        with pytest.raises(ValueError, match="after apply_gradients"):
            optimizer.get_chief_queue_runner()
        step: Any = tf.train.get_or_create_global_step()
        optimizer.apply_gradients([(tf.constant(1.0), v)], global_step=step)
        with pytest.raises(ValueError, match=r"Too few tokens to finish the first step: 0 \(given\) vs 1"):
            optimizer.get_init_tokens_op(0)
