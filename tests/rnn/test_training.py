"""Recurrent networks learn on a cluster, with layers and variables on different tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.cluster.conftest import MakeCluster, cluster as cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

BATCH, TIME = 16, 8


def first_bits(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Sequences, and the first bit of each: to be remembered until the end."""
    bits = rng.integers(0, 2, (BATCH, TIME, 1)).astype(np.float32)
    lengths = rng.integers(3, TIME + 1, BATCH)
    return bits, lengths, bits[:, 0, 0].astype(np.int64)


def two_loops(x: Any, lengths: Any) -> Any:
    """Two recurrent layers, each a loop on a worker of its own, with variables on the ps."""
    place = tf.train.replica_device_setter
    hidden = x
    for task in (0, 1):
        with (
            tf.device(place(worker_device=f"/job:worker/task:{task}", cluster=None, ps_tasks=1)),
            tf.variable_scope(f"layer_{task}"),
        ):
            cell = tf.nn.rnn_cell.LSTMCell(10)
            hidden, state = tf.nn.dynamic_rnn(cell, hidden, lengths, dtype=tf.float32)
    return state.h


def stack() -> Any:
    """Two cells on two workers."""
    wrap = tf.nn.rnn_cell.DeviceWrapper
    return tf.nn.rnn_cell.MultiRNNCell(
        [wrap(tf.nn.rnn_cell.GRUCell(10), f"/job:worker/task:{task}") for task in (0, 1)]
    )


def one_loop(x: Any, lengths: Any) -> Any:
    """Two cells on two workers in one loop."""
    _, state = tf.nn.dynamic_rnn(stack(), x, lengths, dtype=tf.float32)
    return state[-1]


def static(x: Any, lengths: Any) -> Any:
    """Two cells on two workers in one unrolled network."""
    _, state = tf.nn.static_rnn(stack(), tf.unstack(x, TIME, 1), dtype=tf.float32, sequence_length=lengths)
    return state[-1]


@pytest.mark.parametrize("network", [two_loops, one_loop, static])
def test_a_network_learns_to_remember(cluster: MakeCluster, network: Callable[[Any, Any], Any]) -> None:
    fleet = cluster("grpc+stream", ps=1, worker=2)
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session(fleet.target("worker", 0)) as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [BATCH, TIME, 1])
        lengths = tf.placeholder(tf.int32, [BATCH])
        labels = tf.placeholder(tf.int64, [BATCH])
        with tf.device("/job:ps/task:0"):
            logits = tf.layers.dense(network(x, lengths), 2)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        train = tf.train.AdamOptimizer(0.02).minimize(loss)
        session.run(tf.global_variables_initializer())

        def batch() -> dict[Any, Any]:
            return dict(zip((x, lengths, labels), first_bits(rng), strict=True))

        before = np.mean([session.run(loss, batch()) for _ in range(5)])
        for _ in range(150):
            session.run(train, batch())
        after, correct = np.mean([session.run([loss, right], batch()) for _ in range(10)], axis=0)
    assert before > 0.5
    assert after < 0.2
    assert correct > 0.95
