"""Large tensors between two servers go through memory that they share, and all of it is given back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cluster.server import Server
from tensorfleet.wire import shared_memory
from tensorfleet.wire.shared_memory import Arena
from tests.ports import free_ports
from tests.until import until

if not shared_memory.SUPPORTED:
    pytest.skip("needs Linux", allow_module_level=True)

ROWS = 40_000


@pytest.fixture
def arenas(monkeypatch: pytest.MonkeyPatch) -> list[Arena]:
    """Those that are made in this process."""
    made: list[Arena] = []
    init = Arena.__init__

    def note(self: Arena, size: int) -> None:
        init(self, size)
        made.append(self)

    monkeypatch.setattr(Arena, "__init__", note)
    return made


@pytest.fixture
def servers(arenas: list[Arena]) -> Iterator[list[Server]]:
    ps, worker = free_ports(2)
    spec = {"ps": [f"127.0.0.1:{ps}"], "worker": [f"127.0.0.1:{worker}"]}
    made = [tf.train.Server(spec, job_name=job, task_index=0) for job in spec]
    yield made
    for server in made:
        server.stop()


@pytest.mark.parametrize("transport", [None, "stream"], ids=["in process", "stream"])
def test_training_over_shared_memory(
    servers: list[Server],
    arenas: list[Arena],
    transport: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if transport:
        monkeypatch.setenv("TENSORFLEET_TRANSPORT", transport)
    start = np.random.default_rng(1).random((ROWS, 1)).astype(np.float32)
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(start)
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [ROWS, 1])
        loss = tf.reduce_sum(tf.square(w * x))
    with tf.device("/job:ps/task:0"):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    expected = start.copy()
    with tf.Session(servers[1].target) as session:
        session.run(tf.global_variables_initializer())
        kept: list[Any] = []
        for i in range(5):
            fed = np.full((ROWS, 1), 0.1 * i, np.float32)
            session.run(train, {x: fed})
            expected -= np.float32(0.1) * (2 * expected * fed * fed)
            kept.append(session.run(w))
            np.testing.assert_allclose(kept[-1], expected, rtol=1e-5)
        shared = sum(arena.traffic.sent_bytes for arena in arenas)
        assert shared >= 15 * expected.nbytes, "the weights, the gradients, and what is fetched"
        # A value that was fetched stays as it is, whatever is trained and sent afterwards.
        copies = [value.copy() for value in kept]
        for _ in range(20):
            session.run(train, {x: np.ones((ROWS, 1), np.float32)})
        for value, copy in zip(kept, copies, strict=True):
            np.testing.assert_array_equal(value, copy)
        del kept, value
        until(lambda: sum(arena.lent for arena in arenas) == 0)


def test_a_tensor_that_one_task_keeps(servers: list[Server], arenas: list[Arena]) -> None:
    """An assigned variable and a queue's elements are none of the sender's business."""
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [ROWS])
        y = x + 1
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(np.zeros(ROWS, np.float32))
        assign = tf.assign(v, y)
        queue = tf.FIFOQueue(100, [tf.float32], [[ROWS]])
        put, get = queue.enqueue(y), queue.dequeue()
    with tf.Session(servers[1].target) as session:
        session.run(v.initializer)
        for i in range(10):
            session.run([assign.op, put], {x: np.full(ROWS, i, np.float32)})
        assert sum(arena.lent for arena in arenas) <= 11 * 4 * (ROWS + 1024), "what the queue holds"
        np.testing.assert_array_equal(session.run(v), np.full(ROWS, 10))
        for i in range(10):
            np.testing.assert_array_equal(session.run(get), np.full(ROWS, i + 1))
        until(lambda: sum(arena.lent for arena in arenas) == 0)


def test_more_than_the_memory_holds(
    servers: list[Server], arenas: list[Arena], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_memory, "SIZE", 1 << 20)
    places: list[Any] = []
    put = Arena.put

    def note(self: Arena, value: Any) -> Any:
        places.append(put(self, value))
        return places[-1]

    monkeypatch.setattr(Arena, "put", note)
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [ROWS])
        values = [x + i for i in range(20)]
    with tf.device("/job:ps/task:0"):
        total = tf.add_n(values)
    with tf.Session(servers[1].target) as session:
        for i in range(3):
            found = session.run(total, {x: np.full(ROWS, i, np.float32)})
            np.testing.assert_array_equal(found, np.full(ROWS, 20 * i + 190))
    assert 6 <= sum(place is not None for place in places[:20]) < 20
    assert len(places) >= 60
