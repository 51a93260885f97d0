"""Graphs that no client of ours makes: a clear error each, and not a line of traceback."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import tensorfleet as tf
import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import attr_value, errors
from tensorfleet.proto import config_pb2, graph_pb2, worker_pb2
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.graph import attributes
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember
from tensorfleet_service.master.step_future import StepFuture
from tensorfleet_service.rpc.tasks import Tasks
from tensorfleet_service.worker.worker import Worker

TASK = "/job:worker/replica:0/task:0"
CPU = f"{TASK}/device:CPU:0"


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(TASK, task_devices(TASK, 1, cpus=1, gpus=0), 1)
    yield made
    made.close()


@pytest.fixture
def master(worker: Worker) -> Master:
    return Master(lambda handle, _: [LocalMember(worker, handle, False)], lambda _: None)


@pytest.fixture
def tasks(worker: Worker) -> Tasks:
    peers: Any = SimpleNamespace(serve=lambda _: None, push=None, pulls_from=lambda _: False)
    return Tasks(worker, peers)


def prepare(master: Master, graph: graph_pb2.GraphDef, fetches: tuple[str, ...] = ()) -> None:
    session = master.create_session(graph, config_pb2.ConfigProto())
    try:
        session.prepare((), fetches, () if fetches else (graph.node[-1].name,))
    finally:
        session.close()


def one(op: str, **types: int) -> tuple[graph_pb2.GraphDef, graph_pb2.GraphDef]:
    graph = graph_pb2.GraphDef()
    node = graph.node.add(name="n", op=op)
    for name, enum in types.items():
        node.attr[name].type = enum  # type: ignore[assignment]
    return graph, node  # type: ignore[return-value]


CLASSES: dict[str, Callable[[Any], None]] = {
    "number": lambda attr: setattr(attr, "i", 5),
    "text": lambda attr: setattr(attr, "s", b"loc:@x"),
    "numbers": lambda attr: attr.list.i.append(5),
    "shape": lambda attr: attr.shape.SetInParent(),
    "function": lambda attr: setattr(attr.func, "name", "f"),
}


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_class_of_another_kind(master: Master, kind: str) -> None:
    graph, node = one("NoOp")
    CLASSES[kind](node.attr["_class"])  # type: ignore[attr-defined]
    with pytest.raises(errors.InvalidArgumentError, match=r"'_class' must be of kind list\(string\)"):
        prepare(master, graph)


def test_more_tensors_than_anybody_has(master: Master) -> None:
    graph, node = one("AddN", T=1)
    node.attr["N"].i = 1 << 62  # type: ignore[attr-defined]
    with pytest.raises(errors.InvalidArgumentError, match="at most 1048576 tensors"):
        prepare(master, graph)


def test_a_name_that_is_no_text(master: Master) -> None:
    graph, node = one("FIFOQueueV2")
    node.attr["component_types"].list.type.append(1)  # type: ignore[attr-defined]
    node.attr["shared_name"].s = b"\xff\xfe"  # type: ignore[attr-defined]
    with pytest.raises(errors.InvalidArgumentError, match=r"An attribute is not valid text.*\n.*node n"):
        prepare(master, graph)


DEVICES = ["/job:", "/job:worker/task:99999999999999999999", "\x00", "/device:CPU:-1", "CPU:0:0", "/job:é"]


@pytest.mark.parametrize("device", DEVICES)
def test_devices_that_are_none(master: Master, device: str) -> None:
    graph, node = one("NoOp")
    node.device = device  # type: ignore[attr-defined]
    with pytest.raises(errors.InvalidArgumentError):
        prepare(master, graph)


@pytest.mark.parametrize("count", [1, 40, 5000])
def test_functions_in_a_circle(master: Master, caplog: pytest.LogCaptureFixture, count: int) -> None:
    graph = graph_pb2.GraphDef()
    const = graph.node.add(name="c", op="Const")
    const.attr["dtype"].type = 1
    tensor = const.attr["value"].tensor
    tensor.dtype = 1
    tensor.tensor_shape.SetInParent()
    tensor.float_val.append(1)
    for i in range(count):
        function = graph.library.function.add()
        function.signature.name = f"f{i}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        call(function.node_def.add(name="call", input=["x"]), f"f{(i + 1) % count}")
        function.ret["y"] = "call:output:0"
    call(graph.node.add(name="n", input=["c"]), "f0")
    with pytest.raises(
        (errors.InvalidArgumentError, errors.UnimplementedError), match=r"calls itself|deep: f\d+ -> f\d+"
    ):
        prepare(master, graph, ("n:0",))
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.WARNING]


def call(node: Any, function: str) -> None:
    node.op = "PartitionedCall"
    node.attr["f"].func.name = function
    node.attr["Tin"].list.type.append(1)
    node.attr["Tout"].list.type.append(1)


# --------------------------------------------------------------------------------------- from another task


def exchange(op: str) -> tuple[graph_pb2.GraphDef, Any]:
    graph = graph_pb2.GraphDef()
    if op == "_Send":
        graph.node.add(name="c", op="Placeholder", device=CPU).attr["dtype"].type = 1
    node = graph.node.add(name="n", op=op, device=CPU, input=["c"] if op == "_Send" else [])
    node.attr["T" if op == "_Send" else "tensor_type"].type = 1
    node.attr["send_device"].s = node.attr["recv_device"].s = CPU.encode()
    node.attr["tensor_name"].s = b"edge_1_c"
    node.attr["send_device_incarnation"].i = 1
    node.attr["_edge"].i = 1
    return graph, node


def register(tasks: Tasks, graph: graph_pb2.GraphDef) -> None:
    tasks.register(worker_pb2.RegisterGraphRequest(session_handle="session", graph_def=graph))


@pytest.mark.parametrize("op", ["_Send", "_Recv"])
@pytest.mark.parametrize(
    ("name", "value"), [("_edge", -1), ("_edge", 1.5), ("_edge", b"1"), ("recv_device", b"\xff")], ids=str
)
def test_exchanges_that_no_master_makes(tasks: Tasks, op: str, name: str, value: Any) -> None:
    graph, node = exchange(op)
    setattr(node.attr[name], {int: "i", float: "f", bytes: "s"}[type(value)], value)
    with pytest.raises(errors.InvalidArgumentError, match=f"'{name}'"):
        register(tasks, graph)


def test_an_exchange_without_a_number(tasks: Tasks) -> None:
    graph, node = exchange("_Recv")
    del node.attr["_edge"]
    with pytest.raises(errors.OpError, match="_edge"):
        register(tasks, graph)


def test_a_partition_in_another_order(tasks: Tasks) -> None:
    graph = graph_pb2.GraphDef()
    graph.node.add(name="n", op="Neg", device=CPU, input=["c"]).attr["T"].type = 1
    graph.node.add(name="c", op="Placeholder", device=CPU).attr["dtype"].type = 1
    with pytest.raises(errors.InvalidArgumentError, match="'n' comes before its input 'c'"):
        register(tasks, graph)


def ran(master: Master, graph: graph_pb2.GraphDef, fetch: str) -> Any:
    session = master.create_session(graph, config_pb2.ConfigProto())
    try:
        future = StepFuture()
        signature = session.prepare((), (fetch,), ())
        step = master.run_step(session, signature, [], future.done, None, None, may_block=True)
        return future.wait(step, 30)
    finally:
        session.close()


def repeated(dtype: int, *dims: int) -> graph_pb2.GraphDef:
    """The shape of a constant that repeats one value."""
    graph, node = one("Const", dtype=dtype)
    value = node.attr["value"].tensor
    value.dtype = dtype
    for size in dims:
        value.tensor_shape.dim.add(size=size)
    shape = graph.node.add(name="s", op="Shape", input=["n"])
    shape.attr["T"].type = dtype  # type: ignore[assignment]
    shape.attr["out_type"].type = 3
    return graph


@pytest.mark.parametrize("dtype", [1, 7])
def test_dimensions_beyond_32_bits(master: Master, dtype: int, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(
        errors.InvalidArgumentError, match="Shape output type is 32-bit but dim 1 is 1099511627776"
    ):
        ran(master, repeated(dtype, 2, 1 << 40), "s:0")
    assert "defect" not in caplog.text


def test_more_than_any_memory_holds(master: Master, caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default() as graph:
        tf.fill(tf.placeholder_with_default([1 << 20] * 4, [4]), 1.0, name="filled")
    with pytest.raises(errors.ResourceExhaustedError, match="Out of memory in Fill"):
        ran(master, graph.as_graph_def(), "filled:0")
    assert "defect" not in caplog.text


@pytest.mark.parametrize("part", ["name", "op", "device"])
def test_long_texts_of_nodes(master: Master, part: str) -> None:
    graph, node = one("Neg")
    setattr(node, part, "n" * (attributes.MAX_TEXT + 1))
    with pytest.raises(errors.InvalidArgumentError, match=f"more than {attributes.MAX_TEXT} characters") as e:
        prepare(master, graph)
    assert len(e.value.message) < 1000


def test_a_long_input_is_not_repeated(master: Master) -> None:
    graph, node = one("Neg", T=1)
    node.input.append("n" * (attributes.MAX_TEXT + 1))  # type: ignore[attr-defined]
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Unknown input node 'nnn.*… \(65537 characters\)"
    ) as e:
        prepare(master, graph)
    assert len(e.value.message) < 1000


def test_names_in_a_signature_are_not_repeated(master: Master) -> None:
    graph, _ = one("NoOp")
    with pytest.raises(errors.NotFoundError, match="not found") as e:
        prepare(master, graph, ("n" * (attributes.MAX_TEXT + 1),))
    assert len(e.value.message) < 1000


def test_a_list_has_so_many_values(master: Master, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attr_value, "MAX_ITEMS", 3)
    for values, refused in (([1] * 3, False), ([1] * 4, True)):
        graph, node = one("NoOp")
        node.attr["_own"].list.i.extend(values)  # type: ignore[attr-defined]
        if not refused:
            prepare(master, graph)
            continue
        with pytest.raises(errors.InvalidArgumentError, match="a list of 4 values, of which there may be 3"):
            prepare(master, graph)
