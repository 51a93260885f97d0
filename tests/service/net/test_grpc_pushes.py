"""Tensors that tasks push to each other by gRPC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2
from tensorfleet.proto.named_tensor_pb2 import NamedTensorProto
from tensorfleet.wire.connection import cork
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.net import grpc_pushes
from tensorfleet_service.server import TaskServer
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
    """Two tasks that speak gRPC alone."""
    cluster = tf.train.ClusterSpec({"local": [f"localhost:{port}" for port in free_ports(2)]})
    made = [TaskServer(cluster, "local", i, "grpc", tf.ConfigProto()) for i in range(2)]
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
    assert tasks[1]._worker._step(5) is None
