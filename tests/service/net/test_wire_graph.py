"""A task's part of a step in TensorFlow's form, and back; ops that TensorFlow has fused; frames."""

from __future__ import annotations

import queue
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import attr_value, dtypes, errors
from tensorfleet.proto import graph_pb2
from tensorfleet_service.devices.device import Device
from tensorfleet_service.executor.rendezvous import child_frame, edge_of, key_of
from tensorfleet_service.graph.fused_ops import take_apart
from tensorfleet_service.graph.graph import describe
from tensorfleet_service.graph.session_graph import from_graph_def
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.net.wire_graph import from_wire, to_wire
from tensorfleet_service.worker.worker import Worker
from tests.service.fake_peers import FakePeers
from tests.service.graphs import graph

TASKS = [f"/job:worker/replica:0/task:{i}" for i in range(2)]
DEVICES = [f"{task}/device:CPU:0" for task in TASKS]
TIMEOUT = 20.0
INCARNATIONS = {DEVICES[0]: 5, DEVICES[1]: 2**64 - 2}


def test_there_and_back() -> None:
    nodes = prune(
        graph(
            """
            x = Placeholder()
            a = Neg(x) @ /task:1
            b = AddV2(a, x) @ /task:0
            c = AddV2(b, x) @ /task:1
            """
        ),
        ["x"],
        ["c", "a"],
        [],
    )
    place(nodes, DEVICES, DEVICES[0])
    second = next(part for part in partition(nodes, INCARNATIONS) if part.device == DEVICES[1])
    graph_def, keys = to_wire(second.nodes, [], INCARNATIONS)
    ops = {node.op for node in graph_def.node}
    assert ops == {"_Recv", "_Send", "Neg", "AddV2"}
    assert [position for _, position in keys.feeds] == [0]
    made, made_keys = from_wire(graph_def)
    assert describe(made) == describe(second.nodes)
    assert made_keys == keys
    assert keys.fetches[0].endswith(";fetch_0;0:0")
    assert keys.fetches[0].split(";")[1] == f"{2**64 - 2:016x}"


def _exchange(made: graph_pb2.GraphDef, op: str, name: str, tensor: str, *inputs: str) -> None:
    node = made.node.add(name=name, op=op, device=DEVICES[1], input=inputs)
    ends = {"send_device": DEVICES[0], "recv_device": DEVICES[1]}
    if op.endswith("Send"):
        ends = {"send_device": DEVICES[1], "recv_device": DEVICES[0]}
    values = {"tensor_name": tensor, **ends, "send_device_incarnation": 5, "client_terminated": False}
    values["T" if op.endswith("Send") else "tensor_type"] = dtypes.float32
    for key, value in values.items():
        attr_value.to_proto(value.encode() if isinstance(value, str) else value, node.attr[key])


def test_a_graph_in_an_order_that_would_wait_for_ever() -> None:
    """What is sent does not depend on what is received: it must go out although it stands behind it."""
    made = graph_pb2.GraphDef()
    _exchange(made, "_HostSend", "last", "edge_9_y", "received")
    _exchange(made, "_HostRecv", "received", "edge_3_x")
    constant = made.node.add(name="c", op="Const", device=DEVICES[1])
    attr_value.to_proto(dtypes.float32, constant.attr["dtype"])
    attr_value.to_proto(np.float32(1), constant.attr["value"])
    _exchange(made, "_Send", "first", "edge_7_c", "c")
    nodes, _ = from_wire(made)
    assert {node.attrs["_edge"] for node in nodes if node.op in ("_Send", "_Recv")} == {3, 7, 9}
    pushed: queue.Queue[Any] = queue.Queue()
    worker = Worker(TASKS[1], [Device(DEVICES[1], "CPU", 0, 5, "", np)], 5)
    worker.connect(FakePeers(lambda task, step, edge, value: pushed.put((task, edge, value))))
    _, registered = worker.register_graph("s", nodes)
    ended: queue.Queue[Any] = queue.Queue()
    worker.run(registered, 1, [], lambda error, values: ended.put(error))
    assert pushed.get(timeout=TIMEOUT) == (TASKS[0], 7, 1.0)
    worker.deliver(1, (3,), (np.float32(4),))
    assert pushed.get(timeout=TIMEOUT) == (TASKS[0], 9, 4.0)
    assert ended.get(timeout=TIMEOUT) is None
    worker.close()


def test_a_name_that_is_no_edge() -> None:
    made = graph_pb2.GraphDef()
    _exchange(made, "_Recv", "received", "something")
    with pytest.raises(errors.InvalidArgumentError, match="Invalid name of a sent tensor: something"):
        from_wire(made)


def test_keys_are_of_devices() -> None:
    made = graph_pb2.GraphDef()
    _exchange(made, "_Recv", "received", "edge_3_x")
    (node,), _ = from_wire(made)
    assert key_of(node) == f"{DEVICES[0]};0000000000000005;{DEVICES[1]};edge_3_x;0:0"
    assert edge_of(key_of(node), INCARNATIONS) == 3
    with pytest.raises(errors.AbortedError, match="different device incarnation: 5 vs"):
        edge_of(key_of(node), {DEVICES[0]: 6})
    with pytest.raises(errors.InvalidArgumentError, match="is asked for a tensor of this task"):
        edge_of(key_of(node), {DEVICES[1]: 5})


def test_frames_differ() -> None:
    """That the numbers are TensorFlow's, the mixed clusters show."""
    outer = child_frame(0, 0, "while/while_context")
    numbers = [outer, child_frame(outer, 0, "inner"), child_frame(outer, 1, "inner"), child_frame(0, 0, "")]
    assert len(set(numbers)) == 4
    assert all(0 < number < 2**64 for number in numbers)


def _fused(op: str, inputs: list[str], **attrs: object) -> graph_pb2.GraphDef:
    made = graph_pb2.GraphDef()
    for name in ("a", "b", "c"):
        placeholder = made.node.add(name=name, op="Placeholder", device=DEVICES[0])
        attr_value.to_proto(dtypes.float32, placeholder.attr["dtype"])
    node = made.node.add(name="fused", op=op, device=DEVICES[0], input=inputs)
    for key, value in attrs.items():
        attr_value.to_proto(value, node.attr[key])
    return made


def test_fused_ops_are_taken_apart() -> None:
    made = _fused(
        "_FusedMatMul",
        ["a", "b", "c", "^a"],
        T=dtypes.float32,
        transpose_b=True,
        num_args=1,
        fused_ops=[b"BiasAdd", b"LeakyRelu"],
        leakyrelu_alpha=0.5,
    )
    take_apart(made)
    nodes = {node.name: node for node in from_graph_def(made)}
    assert nodes["fused"].op == "LeakyRelu"
    assert nodes["fused"].attrs["alpha"] == 0.5
    ((bias, _),) = nodes["fused"].inputs
    assert bias.op == "BiasAdd"
    assert [source.name for source, _ in bias.inputs] == ["fused/0_MatMul", "c"]
    assert nodes["fused/0_MatMul"].attrs["transpose_b"] is True
    assert nodes["fused/0_MatMul"].controls == [nodes["a"]]


def test_an_unknown_fused_op() -> None:
    made = _fused("_FusedMatMul", ["a", "b", "c"], T=dtypes.float32, fused_ops=[b"BiasAdd", b"Odd"])
    with pytest.raises(errors.UnimplementedError, match="_FusedMatMul with Odd has no kernel: set rewrite"):
        take_apart(made)
