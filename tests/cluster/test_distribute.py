"""Training between graphs without parameter servers: as one worker would with the batches of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet import distribute
from tests.cluster.together import Servers, device, on_each, soon

pytestmark = pytest.mark.cluster

WORKERS = 3
STEPS = 4
ROWS = 6  # of each worker's batch


@pytest.fixture(scope="module")
def cluster() -> Iterator[Servers]:
    made = Servers(WORKERS)
    yield made
    soon(lambda: not made.remembered(), "all collectives forgotten", 10.0)
    made.stop()


def batch(step: int, workers: range) -> tuple[Any, Any, Any]:
    parts = []
    for worker in workers:
        source = np.random.default_rng([step, worker])
        parts.append(
            (
                source.standard_normal((ROWS, 5)).astype(np.float32),
                source.standard_normal((ROWS, 2)).astype(np.float32),
                source.integers(0, 7, ROWS),
            )
        )
    x, y, ids = (np.concatenate(column) for column in zip(*parts, strict=True))
    return x, y, ids


def model(wrap: Callable[[Any], Any], seed: int, optimizer: Any, use_resource: bool) -> Any:
    """Feeds, the training operation and the variables of a model with dense and sparse gradients."""
    x = tf.placeholder(tf.float32, [None, 5])
    y = tf.placeholder(tf.float32, [None, 2])
    ids = tf.placeholder(tf.int64, [None])
    source = np.random.default_rng(seed)

    def variable(*dims: int) -> Any:
        initial = source.standard_normal(dims).astype(np.float32)
        return tf.Variable(initial, use_resource=use_resource)

    rows, w, b, unused = variable(7, 5), variable(5, 2), variable(2), variable(3)
    error = tf.matmul(x + tf.gather(rows, ids), w) + b - y
    loss = tf.reduce_mean(tf.square(error))
    step = tf.train.get_or_create_global_step()
    opt = wrap(optimizer())
    train = opt.minimize(loss, step, [rows, w, b, unused])
    return (x, y, ids), train, [rows, w, b, unused, step], opt


OPTIMIZERS: dict[str, Any] = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
}


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_workers_train_as_one_would(cluster: Servers, optimizer: str, use_resource: bool) -> None:
    def worker(rank: int) -> Any:
        with tf.Graph().as_default(), device(rank):

            def wrap(opt: Any) -> Any:
                return distribute.CollectiveOptimizer(opt, WORKERS, rank == 0, bucket_bytes=40)

            # Only the chief's initial values count.
            feeds, train, variables, opt = model(wrap, rank, OPTIMIZERS[optimizer], use_resource)
            hook = opt.make_session_run_hook()
            creator = tf.train.ChiefSessionCreator(master=cluster.target(rank))
            with tf.train.MonitoredSession(creator, [hook]) as session:
                for step in range(STEPS):
                    values = batch(step, range(rank, rank + 1))
                    session.run(train, dict(zip(feeds, values, strict=True)))
                return session.run(variables)

    results = on_each(WORKERS, lambda i: worker(i))
    with tf.Graph().as_default():
        feeds, train, variables, _ = model(lambda opt: opt, 0, OPTIMIZERS[optimizer], use_resource)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(STEPS):
                session.run(train, dict(zip(feeds, batch(step, range(WORKERS)), strict=True)))
            expected = session.run(variables)
    for result in results:
        assert not isinstance(result, Exception), result
        for got, first, one in zip(result, results[0], expected, strict=True):
            assert np.asarray(got).tobytes() == np.asarray(first).tobytes()
            np.testing.assert_allclose(got, one, rtol=1e-3, atol=1e-4)


def test_workers_with_different_numbers_of_rows(cluster: Servers) -> None:
    def worker(rank: int) -> Any:
        with tf.Graph().as_default(), device(rank):
            variable = tf.Variable(tf.zeros([7, 2]))
            grad = tf.IndexedSlices(tf.fill([rank, 2], float(rank)), tf.range(rank), tf.constant([7, 2]))
            ((mean, _),) = distribute.all_reduce_gradients([(grad, variable)], WORKERS)
            with tf.Session(cluster.target(rank)) as session:
                return session.run([mean.indices, mean.values])

    for indices, values in on_each(WORKERS, lambda i: worker(i)):
        assert indices.tolist() == [0, 0, 1]
        np.testing.assert_allclose(values, np.array([[1, 1], [2, 2], [2, 2]]) / 3, rtol=1e-6)


def test_barrier(cluster: Servers) -> None:
    came: list[int] = []

    def worker(rank: int) -> Any:
        with tf.Graph().as_default(), device(rank):
            barrier = distribute.barrier(WORKERS)
            with tf.Session(cluster.target(rank)) as session:
                came.append(rank)
                session.run(barrier)
                return sorted(came)

    assert on_each(WORKERS, lambda i: worker(i)) == [[0, 1, 2]] * WORKERS
