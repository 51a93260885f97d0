"""Tasks with and without a stream endpoint in one cluster, and the WorkerService as other programs see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import dtypes
from tensorfleet.core.attr_value import to_proto
from tensorfleet.proto import graph_pb2, worker_pb2
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster, Task

pytestmark = pytest.mark.cluster

TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]


@pytest.fixture(scope="module", params=[("grpc", "grpc+stream"), ("grpc+stream", "grpc")], ids=" ".join)
def mixed(request: pytest.FixtureRequest, long_cluster: MakeCluster) -> Cluster:
    ps, worker = request.param
    return long_cluster({"ps": ps, "worker": worker}, ps=1, worker=2)


@pytest.mark.parametrize("master", [("ps", 0), ("worker", 0), ("worker", 1)])
def test_every_task_reaches_every_other(mixed: Cluster, master: tuple[str, int]) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        words = tf.placeholder(tf.string, [None])
        results = []
        for source in TASKS:
            for target in TASKS:
                with tf.device(source):
                    y, same = x * 2, tf.identity(words)
                with tf.device(target):
                    results += [y + 1, tf.identity(same)]
        counts = []
        for task in TASKS:
            with tf.device(task):
                counts.append(ops.status())
        with tf.Session(mixed.target(*master)) as session:
            for size in (0, 1, 100_000):
                got = session.run(results, {x: np.ones(size), words: ["a", "b"]})
                for number, text in zip(got[::2], got[1::2], strict=True):
                    np.testing.assert_array_equal(number, np.full(size, 3, np.float32))
                    assert text.tolist() == [b"a", b"b"]
            assert all(kept == 0 for _, _, kept, _ in session.run(counts))


def test_errors_end_the_step_on_both_sides(mixed: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        counts, steps = [], []
        for i, source in enumerate(TASKS):
            with tf.device(source):
                good, bad = x + 1, ops.fail(x, 9, f"no {i}", f"bad_{i}")
                counts.append(ops.status())
            for target in TASKS:
                with tf.device(target):
                    steps.append((bad + good, i))
        with tf.Session(mixed.target()) as session:
            for step, i in steps:
                with pytest.raises(tf.errors.FailedPreconditionError, match=f"no {i}"):
                    session.run(step, {x: 1})


Call = Callable[..., Any]


def worker_call(task: Task) -> Call:
    channel = grpc.insecure_channel(task.address, (("grpc.use_local_subchannel_pool", 1),))

    def call(name: str, timeout: float = 10, **fields: Any) -> Any:
        request = getattr(worker_pb2, f"{name}Request")(**fields)
        stub = channel.unary_unary(
            f"/tensorflow.WorkerService/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=getattr(worker_pb2, f"{name}Response").FromString,
        )
        return stub(request, timeout=timeout)

    return call


def key(task: Task, incarnation: int, tensor: str = "edge_0_x") -> str:
    return f"{task.name}/device:CPU:0;{incarnation:016x};/job:ps/replica:0/task:0/device:CPU:0;{tensor};0:0"


def test_the_worker_service_answers_other_programs(mixed: Cluster) -> None:
    task = mixed["worker", 0]
    call = worker_call(task)
    (device,) = call("GetStatus").device_attributes
    assert device.name == f"{task.name}/device:CPU:0"
    wrong = [
        (key(task, device.incarnation ^ 1), grpc.StatusCode.ABORTED),
        ("no key", grpc.StatusCode.INVALID_ARGUMENT),
        (key(task, device.incarnation, "x"), grpc.StatusCode.INVALID_ARGUMENT),
    ]
    for text, code in wrong:
        with pytest.raises(grpc.RpcError) as caught:
            call("RecvTensor", step_id=1, rendezvous_key=text)
        assert caught.value.code() is code
    # A question that nobody answers ends with its deadline, and when its step is cleaned up.
    with pytest.raises(grpc.RpcError) as caught:
        call("RecvTensor", 0.3, step_id=2, rendezvous_key=key(task, device.incarnation))
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    call("CleanupGraph", step_id=3)
    with pytest.raises(grpc.RpcError) as caught:
        call("RecvTensor", step_id=3, rendezvous_key=key(task, device.incarnation))
    assert caught.value.code() is grpc.StatusCode.ABORTED
    for handle in ("12345", "someone's"):
        with pytest.raises(grpc.RpcError) as caught:
            call("RunGraph", graph_handle=handle, step_id=4)
        assert caught.value.code() is grpc.StatusCode.ABORTED
        call("DeregisterGraph", graph_handle=handle)


def test_who_asks_for_a_tensor_of_a_failed_step_gets_its_error(mixed: Cluster) -> None:
    """As TensorFlow's worker needs it: it asks as soon as its own part begins, also after ours has failed."""
    task = mixed["ps", 0]
    call = worker_call(task)
    (device,) = call("GetStatus").device_attributes
    call("CreateWorkerSession", session_handle="s")
    attrs = {
        "tensor_name": b"edge_7_x",
        "send_device": device.name.encode(),
        "send_device_incarnation": device.incarnation,
        "recv_device": b"/job:worker/replica:0/task:0/device:CPU:0",
        "client_terminated": False,
    }
    graph = graph_pb2.GraphDef()
    x = graph.node.add(name="x", op="Placeholder", device=device.name)
    x.attr["dtype"].type = dtypes.float32.enum
    send = graph.node.add(name="send", op="_Send", device=device.name, input=["x"])
    send.attr["T"].type = dtypes.float32.enum
    for name, value in attrs.items():
        to_proto(value, send.attr[name])
    handle = call("RegisterGraph", session_handle="s", graph_def=graph).graph_handle
    answer = call("RunGraph", graph_handle=handle, step_id=77, store_errors_in_response_body=True)
    assert answer.status_code == tf.errors.INVALID_ARGUMENT
    with pytest.raises(grpc.RpcError, match="must feed a value for placeholder tensor 'x'") as caught:
        call("RecvTensor", step_id=77, rendezvous_key=key(task, device.incarnation, "edge_7_x"))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    call("DeleteWorkerSession", session_handle="s")
