"""Tensors between the GPUs of two processes, by the stand-in for CUDA's IPC: memory that both map."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices import ipc
from tensorfleet_service.devices.scope import Outgoing, Scope
from tests.cluster import ops
from tests.cluster.processes import Cluster
from tests.gpu.strict_array import Machine

Clusters = Callable[..., AbstractContextManager[Cluster]]
JOBS = {"ps": 1, "worker": 2}
COUNT = 40_000
X = np.arange(COUNT, dtype=np.float32)


class Relay:
    """`x * 2` on one worker's GPU, 1 more on the other's, fetched; and what they say of their traffic."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [COUNT])
            with tf.device("/job:worker/task:0/gpu:0"):
                doubled = self.x * 2
            with tf.device("/job:worker/task:1/gpu:0"):
                self.y = doubled + 1
            self.traffic = []
            for index in range(2):
                with tf.device(f"/job:worker/task:{index}/cpu:0"):
                    self.traffic.append(ops.gpu_traffic())

    def run(self, session: Any, first: int, count: int = 1) -> None:
        for number in range(first, first + count):
            found = session.run(self.y, {self.x: X + number})
            np.testing.assert_array_equal(found, (X + number) * 2 + 1)

    def sent(self, session: Any) -> int:
        return int(session.run(self.traffic[0])[0]) // X.nbytes

    def until_sent(self, session: Any, more: int = 1) -> None:
        """Runs until `more` tensors have gone by a GPU's memory, on which tasks agree beside the steps."""
        before = self.sent(session)
        for number in range(200):
            self.run(session, number)
            if self.sent(session) >= before + more:
                return
        pytest.fail("no tensor went by the GPU's memory")


def test_tensors_go_from_gpu_to_gpu_of_two_processes(gpu_cluster: Clusters, is_stand_in: bool) -> None:
    relay = Relay()
    with gpu_cluster(JOBS) as cluster, tf.Session(cluster.target("worker", 0), graph=relay.graph) as session:
        relay.until_sent(session)
        sent, before = relay.sent(session), session.run(relay.traffic[0])[3]
        relay.run(session, 0, 700)  # many more than have room: places are given back
        assert relay.sent(session) == sent + 700
        counts = session.run(relay.traffic)
        assert counts[0][0] == counts[1][1]
        if is_stand_in:
            assert counts[0][3] == before, "a tensor went by the sender's host"
            assert (counts[0][2], counts[1][2]) == (0, 1), "a chunk is opened once"


def test_a_refused_handle_leaves_the_way_by_the_host(gpu_cluster: Clusters) -> None:
    relay = Relay()
    with gpu_cluster(JOBS, {1: {"STRICT_REFUSES_IPC": "1"}}) as cluster:
        with tf.Session(cluster.target("worker", 0), graph=relay.graph) as session:
            relay.run(session, 0, 20)
            assert relay.sent(session) == 0
        assert "resource handle" in cluster["worker", 0].text()


@pytest.mark.parametrize("lost", [0, 1], ids=["sender", "receiver"])
def test_a_process_that_dies_and_its_successor(gpu_cluster: Clusters, is_stand_in: bool, lost: int) -> None:
    relay = Relay()
    with gpu_cluster(JOBS) as cluster:
        with tf.Session(cluster.target("ps", 0), graph=relay.graph) as session:
            relay.until_sent(session)
            cluster["worker", lost].kill()
            with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)):
                relay.run(session, 0, 100)
            cluster["worker", lost].restart()
        with tf.Session(cluster.target("ps", 0), graph=relay.graph) as session:
            relay.until_sent(session, 10)
            opened = [counts[2] for counts in session.run(relay.traffic)]
            assert not is_stand_in or opened == [0, 1], "chunks of the dead process are closed"


def test_workers_with_a_ps_on_the_cpu(gpu_cluster: Clusters) -> None:
    with gpu_cluster(JOBS) as cluster, tf.Graph().as_default():
        with tf.device("/job:ps"):
            w = tf.get_variable("w", initializer=np.zeros(COUNT, np.float32))
        steps, losses = [], []
        for index in range(2):
            with tf.device(f"/job:worker/task:{index}"):
                losses.append(tf.reduce_sum(tf.square(w - X / COUNT)))
            steps.append(tf.train.GradientDescentOptimizer(0.25).minimize(losses[-1]))
        with tf.Session(cluster.target("ps", 0)) as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([losses[i % 2], steps[i % 2]])[0] for i in range(8)]
        assert found[-1] < found[0] / 1000


# One side alone


def sender(
    gpus: Callable[..., Machine],
) -> tuple[Machine, Any, ipc.Exports, list[tuple[int, int, bytes]], Any]:
    machine = gpus(1)
    import cupy

    sent: list[tuple[int, int, bytes]] = []
    exports = ipc.Exports(lambda verb, number, meta: sent.append((verb, number, meta)), [], Traffic())
    return machine, cupy, exports, sent, Scope(cupy, 0)


def test_a_place_is_lent_until_the_receiver_gives_it_back(gpus: Callable[..., Machine]) -> None:
    _, cupy, exports, sent, scope = sender(gpus)
    with scope:
        value = Outgoing(cupy, cupy.asarray(X), 0, 0)
        assert exports.put(value) is None  # nobody has opened a chunk
        ((verb, number, _),) = sent
        assert verb == ipc.Verb.OFFER
        exports.answered(ipc.Verb.OPENED, number, b"")
        places = []
        while (place := exports.put(value)) is not None:
            places.append(struct.unpack_from("<QQ", place))
            assert len(places) < 1000
        assert len(set(places)) == len(places) > 100
        assert exports.lent >= len(places) * X.nbytes
        exports.answered(ipc.Verb.FREE, number, struct.pack("<Q", places[7][1]))
        place = exports.put(value)
        assert place is not None
        assert struct.unpack_from("<QQ", place) == places[7]


def test_a_tensor_that_was_not_copied_takes_no_place(gpus: Callable[..., Machine]) -> None:
    _, cupy, exports, sent, scope = sender(gpus)

    class Failing(Outgoing):
        def wait(self) -> None:
            raise MemoryError("the copy has failed")

    with scope:
        assert exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0)) is None
        exports.answered(ipc.Verb.OPENED, sent[0][1], b"")
        with pytest.raises(MemoryError, match="the copy has failed"):
            exports.put(Failing(cupy, cupy.asarray(X), 0, 0))
        assert exports.lent == 0


def test_a_chunk_serves_the_next_connection_once_nobody_writes_to_it(gpus: Callable[..., Machine]) -> None:
    gpus(1)
    import cupy

    sent: list[tuple[int, int, bytes]] = []
    stock: list[ipc.Chunk] = []
    exports = ipc.Exports(lambda verb, number, meta: sent.append((verb, number, meta)), stock, Traffic())
    seen: list[int] = []

    class Slow(Outgoing):
        def wait(self) -> None:
            exports.close()  # the connection is lost while the GPU has yet to copy
            seen.append(len(stock))
            super().wait()

    with Scope(cupy, 0):
        assert exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0)) is None
        exports.answered(ipc.Verb.OPENED, sent[0][1], b"")
        assert exports.put(Slow(cupy, cupy.asarray(X), 0, 0)) is not None
    assert seen == [0]
    assert len(stock) == 1


def test_nobody_waits_while_the_driver_makes_a_chunk(
    gpus: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, cupy, exports, sent, scope = sender(gpus)
    made: list[bool] = []

    class Slow(ipc.Chunk):
        def __init__(self, *about: Any) -> None:
            made.append(exports._lock.locked())
            if not made[-1]:
                # Another step's tensor, which goes by the host and does not ask for a second chunk.
                assert exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0)) is None
            super().__init__(*about)

    monkeypatch.setattr(ipc, "Chunk", Slow)
    with scope:
        assert exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0)) is None
    assert made == [False]
    assert [verb for verb, *_ in sent] == [ipc.Verb.OFFER]


def test_a_chunk_that_is_made_while_the_connection_ends_serves_the_next_one(
    gpus: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus(1)
    import cupy

    sent: list[Any] = []
    stock: list[ipc.Chunk] = []
    exports = ipc.Exports(lambda *about: sent.append(about), stock, Traffic())

    class Late(ipc.Chunk):
        def __init__(self, *about: Any) -> None:
            super().__init__(*about)
            if not exports._lock.locked():
                exports.close()

    monkeypatch.setattr(ipc, "Chunk", Late)
    with Scope(cupy, 0):
        assert exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0)) is None
    assert len(stock) == 1
    assert not sent


@pytest.mark.parametrize(
    ("verb", "meta"),
    [(ipc.Verb.FREE, struct.pack("<Q", 64)), (ipc.Verb.FREE, b"123"), (9, b"")],
    ids=["not lent", "no numbers", "an unknown verb"],
)
def test_a_message_that_makes_no_sense_is_refused(
    gpus: Callable[..., Machine], verb: int, meta: bytes
) -> None:
    _, cupy, exports, sent, scope = sender(gpus)
    with scope:
        exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0))
    with pytest.raises(ValueError, match="GPU"):
        exports.answered(verb, sent[0][1], meta)
    with pytest.raises(ValueError, match="not offered"):
        exports.answered(ipc.Verb.OPENED, 99, b"")


def test_a_tensor_outside_of_what_was_opened_is_refused(gpus: Callable[..., Machine]) -> None:
    _, cupy, exports, sent, scope = sender(gpus)
    with scope:
        exports.put(Outgoing(cupy, cupy.asarray(X), 0, 0))
    _, number, offer = sent[0]
    answers: list[tuple[int, int, bytes]] = []
    imports = ipc.Imports(lambda verb, number, meta: answers.append((verb, number, meta)), Traffic())
    imports.open(number, offer, lambda target: scope)
    ((verb, _, why),) = answers
    assert verb == ipc.Verb.REFUSED  # a process cannot open its own memory
    assert b"device context" in why
    imports.open(number, b"", lambda target: scope)
    assert answers[1][0] == ipc.Verb.REFUSED
    for meta in (b"", struct.pack("<QQBBQ", number, 0, 1, 1, 10), struct.pack("<QQBB", number, 0, 99, 0)):
        with pytest.raises(ValueError, match=r"GPU|where its tensor is"):
            imports.arrived(meta)


def test_no_memory_for_a_chunk_leaves_the_way_by_the_host(gpus: Callable[..., Machine]) -> None:
    gpus(1, memory=1 << 20)
    import cupy

    sent: list[Any] = []
    exports = ipc.Exports(lambda *about: sent.append(about), [], Traffic())
    with Scope(cupy, 0):
        value = Outgoing(cupy, cupy.asarray(X), 0, 0)
        assert exports.put(value) is None
        np.testing.assert_array_equal(value.to_host(), X)
    assert not sent
