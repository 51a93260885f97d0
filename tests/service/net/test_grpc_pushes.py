"""Tensors that tasks push to each other by gRPC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import EncodeError

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.proto.named_tensor_pb2 import NamedTensorProto
from tensorfleet.wire.connection import cork
from tensorfleet.wire.grpc_socket import MESSAGE_BYTES
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.net import grpc_pushes, peer_grpc
from tensorfleet_service.server import TaskServer
from tests.cluster import ops
from tests.cluster.processes import free_ports


class Sent:
    """A peer that notes what it is sent."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, list[str]]] = []

    def send_tensors(self, step_id: int, tensors: Sequence[NamedTensorProto]) -> None:
        self.calls.append((step_id, [tensor.name for tensor in tensors]))


def test_what_is_pushed_under_a_cork_goes_together() -> None:
    peer = Sent()
    with cork():
        grpc_pushes.push(peer, 1, 7, np.float32(1))
        grpc_pushes.push(peer, 2, 7, np.float32(1))
        grpc_pushes.push(peer, 1, 8, DEAD)
        grpc_pushes.push(peer, 1, 9, np.zeros(grpc_pushes.HELD_BYTES))
        assert peer.calls == [(1, ["#9"])]  # a large one does not wait
    assert peer.calls[1:] == [(1, ["#7", "#8"]), (2, ["#7"])]
    grpc_pushes.push(peer, 3, 1, np.float32(1))
    assert peer.calls[3:] == [(3, ["#1"])]


def test_the_request_to_run_takes_along_what_follows_it() -> None:
    peer = Sent()
    run: list[list[str]] = []
    with cork():
        grpc_pushes.with_tensors(peer, 1, lambda tensors: run.append([tensor.name for tensor in tensors]))
        grpc_pushes.push(peer, 1, 7, np.float32(1))
        assert not run
    assert run == [["#7"]]
    assert not peer.calls


def test_an_answer_takes_along_what_came_before_it() -> None:
    peer = Sent()
    with cork():
        grpc_pushes.push(peer, 1, 7, np.float32(3))
        grpc_pushes.push(peer, 1, 8, DEAD)
        taken = grpc_pushes.take(peer, 1)
    assert not peer.calls
    assert grpc_pushes.pushed(taken) == ([7, 8], [3, DEAD])
    assert grpc_pushes.pushed([NamedTensorProto(name="a;b;c;d;0:0")]) == ([], [])


@pytest.mark.parametrize("name", ["#", "#-1", "#x", "#1x", "#٣", "#" + "1" * 200])
def test_a_name_that_is_no_edge_is_refused(name: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="No tensor can be pushed"):
        grpc_pushes.pushed([NamedTensorProto(name=name)])


@pytest.fixture
def tasks() -> Iterator[list[TaskServer]]:
    """Two tasks that speak gRPC alone, by single calls."""
    cluster = tf.train.ClusterSpec({"local": [f"localhost:{port}" for port in free_ports(2)]})
    made = [
        TaskServer(cluster, "local", i, "grpc", tf.ConfigProto(), max_grpc_message=MESSAGE_BYTES - 1)
        for i in range(2)
    ]
    for task in made:
        task.start()
    yield made
    for task in made:
        task.stop(1)


@pytest.mark.parametrize("optimize", [True, False])
def test_a_step_over_two_tasks_is_one_call(tasks: list[TaskServer], optimize: bool) -> None:
    """What the master's part sends at once goes with the request, and what it needs comes with the answer."""
    config = tf.ConfigProto()
    if not optimize:
        config.graph_options.optimizer_options.opt_level = -1
    with tf.Graph().as_default():
        with tf.device("/job:local/task:0"):
            x = tf.placeholder(tf.int32, []) if optimize else tf.constant(2)
        with tf.device("/job:local/task:1"):
            there = x - 66
        with tf.device("/job:local/task:0"):
            y = x + 300 + there
        with tf.Session(tasks[0].target, config=config) as session:
            feed = {x: 2} if optimize else None
            for _ in range(20):  # the first ones run on threads of their own: how long they take is not known
                assert session.run(y, feed) == 238
            before = [task._grpc.traffic.received for task in tasks]
            for _ in range(10):
                assert session.run(y, feed) == 238
            calls = [task._grpc.traffic.received - count for task, count in zip(tasks, before, strict=True)]
    assert calls == [10, 10]


def test_tensors_for_a_process_that_is_gone_end_the_step_that_waits_for_them(tasks: list[TaskServer]) -> None:
    with pytest.raises(tf.errors.AbortedError, match="has restarted"):
        tasks[1]._tasks.push_tensors(fleet_pb2.PushTensorsRequest(step_id=5, incarnation=1))
    assert tasks[1]._worker._steps.find(5) is None


def test_a_step_that_takes_long_for_once_keeps_no_other_waiting(tasks: list[TaskServer]) -> None:
    """A plan known to be short runs long on other values; meanwhile its task hears and answers others."""
    gate = ops._gates.setdefault("long for once", ops._Gate())
    gate.released.set()
    config = tf.ConfigProto(operation_timeout_in_ms=10_000)
    with tf.Graph().as_default(), ThreadPoolExecutor(1) as thread:
        with tf.device("/job:local/task:1"):
            x = tf.placeholder(tf.float32, [])
            y = ops.block(x, "long for once") + 1.0
            z = x * 3.0
        with tf.Session(tasks[0].target) as session, tf.Session(tasks[0].target, config=config) as other:
            for _ in range(20):
                assert session.run(y, {x: 1.0}) == 2
                assert other.run(z, {x: 1.0}) == 3
            gate.entered.clear()
            gate.released.clear()
            long = thread.submit(session.run, y, {x: 2.0})
            try:
                assert gate.entered.wait(10)
                assert other.run(z, {x: 2.0}) == 6
            finally:
                gate.released.set()
            assert long.result(10) == 3


@pytest.mark.parametrize("failure", [MemoryError(), EncodeError("too large"), ValueError("too large")])
def test_a_request_that_cannot_be_written_ends_its_step(
    tasks: list[TaskServer], monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """It is written when the thread that starts the step lets go of what it has held back."""

    class Unwritten:
        def __init__(self, **fields: Any) -> None:
            self._message = worker_pb2.RunGraphRequest(**fields)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._message, name)

        def SerializeToString(self) -> bytes:
            raise failure

    class Messages:
        RunGraphRequest = Unwritten

        def __getattr__(self, name: str) -> Any:
            return getattr(worker_pb2, name)

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:local/task:0"):
            here = x + 1.0
        with tf.device("/job:local/task:1"):
            there = here * 2.0
        with tf.device("/job:local/task:0"):
            y = there + here
        config = tf.ConfigProto(operation_timeout_in_ms=10_000)
        with tf.Session(tasks[0].target, config=config) as session:
            for _ in range(20):
                assert session.run(y, {x: 1.0}) == 6
            with monkeypatch.context() as patch:
                patch.setattr(peer_grpc, "worker_pb2", Messages())
                expected = (tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)
                with pytest.raises(expected, match=r"Out of memory for a Unwritten|cannot be sent by gRPC"):
                    session.run(y, {x: 1.0})
            assert session.run(y, {x: 1.0}) == 6
            assert not tasks[0]._worker.steps
