"""Function libraries of graphs as nobody's client makes them: nothing grows beyond its limits, or breaks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
import pytest

from tensorfleet.core import attr_value, dtypes, errors, tensor_util
from tensorfleet.core.attr_value import NameAttrList
from tensorfleet.core.frames import current_frames
from tensorfleet.proto import function_pb2, graph_pb2, master_pb2
from tensorfleet.proto.types_pb2 import DT_FLOAT, DT_INT32, DT_STRING
from tensorfleet.security.settings import Security
from tensorfleet_service.executor import functions
from tensorfleet_service.graph.attributes import MAX_TEXT
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master import bodies, inline
from tensorfleet_service.master.inline import Inliner
from tests.security.conftest import MakeTasks
from tests.until import until

SECONDS = 30.0
FLOAT = dtypes.float32
Row = tuple[str, str, list[str], dict[str, Any]]

STATEFUL = "StatefulPartitionedCall"
NEG: Row = ("n", "Neg", ["a"], {"T": FLOAT})
RANDOM: list[Row] = [
    ("s", "Shape", ["a"], {"T": FLOAT, "out_type": dtypes.int32}),
    ("n", "RandomUniform", ["s:output:0"], {"T": dtypes.int32, "dtype": FLOAT, "seed": 0, "seed2": 0}),
]


def func(name: str, **attrs: int) -> NameAttrList:
    made = NameAttrList(name=name)
    for key, value in attrs.items():
        made.attr[key].i = value
    return made


def call(name: str, inputs: int = 1, outputs: int = 1, **attrs: int) -> dict[str, Any]:
    return {"Tin": [FLOAT] * inputs, "Tout": [FLOAT] * outputs, "f": func(name, **attrs)}


def add(where: Any, name: str, op: str, inputs: Iterable[str], attrs: dict[str, Any]) -> None:
    made = where.add(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        attr_value.to_proto(value, made.attr[key])


class Hostile:
    """A graph of a placeholder `x` and what a test adds."""

    def __init__(self) -> None:
        self.graph = graph_pb2.GraphDef()
        self.node("x", "Placeholder", [], {"dtype": FLOAT})

    def node(self, name: str, op: str, inputs: list[str], attrs: dict[str, Any]) -> None:
        add(self.graph.node, name, op, inputs, attrs)

    def function(
        self, name: str, rows: Iterable[Row], result: str, arguments: int = 1, results: int = 1
    ) -> function_pb2.FunctionDef:
        made = self.graph.library.function.add()
        made.signature.name = name
        for i in range(arguments):
            made.signature.input_arg.add(name="a" if not i else f"a{i}", type=DT_FLOAT)
        for i in range(results):
            made.signature.output_arg.add(name=f"r{i}", type=DT_FLOAT)
            made.ret[f"r{i}"] = result
        for row in rows:
            add(made.node_def, *row)
        return made

    def doubling(self, levels: int, leaf: list[Row], result: str, op: str = "PartitionedCall") -> None:
        """Functions f0, f1, … of which each calls the next one twice."""
        for i in range(levels):
            rows: list[Row] = [
                ("p", op, ["a"], call(f"f{i + 1}")),
                ("q", op, ["p:output:0"], call(f"f{i + 1}")),
            ]
            self.function(f"f{i}", rows, "q:output:0")
        self.function(f"f{levels}", leaf, result)
        self.node("y", op, ["x"], call("f0"))

    def inlined(self) -> int:
        """The number of nodes that a signature with all nodes of the graph becomes."""
        graph = SessionGraph()
        graph.extend(self.graph)
        return len(Inliner(graph.functions).inline(list(graph.nodes.values())))


@pytest.fixture
def hostile() -> Hostile:
    return Hostile()


class Stranger:
    """Sends graphs to a task by gRPC, as they are."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)

    def call(self, method: str, request: Any, seconds: float = SECONDS) -> bytes:
        made = self.channel.unary_unary(f"/tensorflow.MasterService/{method}")
        return bytes(made(request.SerializeToString(), timeout=seconds))

    def run(self, graph: graph_pb2.GraphDef, fetch: str = "y:0", seconds: float = SECONDS) -> None:
        """Runs a graph in a session of its own."""
        data = self.call("CreateSession", master_pb2.CreateSessionRequest(graph_def=graph))
        handle = master_pb2.CreateSessionResponse.FromString(data).session_handle
        request = master_pb2.RunStepRequest(session_handle=handle, fetch=[fetch])
        request.feed.add(name="x:0").tensor.CopyFrom(tensor_util.make_tensor_proto(1.0, FLOAT))
        self.call("RunStep", request, seconds)

    def fails(self, graph: graph_pb2.GraphDef, code: grpc.StatusCode, text: str) -> None:
        with pytest.raises(grpc.RpcError, match=text) as raised:
            self.run(graph)
        assert raised.value.code() is code, raised.value


@pytest.fixture
def stranger(tasks: MakeTasks) -> Any:
    made = Stranger(tasks({"worker:0": Security()})["worker:0"].address)
    yield made
    made.channel.close()


INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("op", ["_Arg", "_Retval", "_Send", "_Recv", "_ToHost"])
def test_a_function_has_no_ops_of_the_runtime(hostile: Hostile, op: str) -> None:
    hostile.function("f", [NEG, ("own", op, [], {})], "n:y:0")
    with pytest.raises(errors.InvalidArgumentError, match=f"{op}.*may not be in function f"):
        SessionGraph().extend(hostile.graph)


@pytest.mark.parametrize("noinline", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), [(0, 1), (2, 1), (1, 2), (1, 0)])
def test_calls_of_other_counts(
    hostile: Hostile, stranger: Stranger, inputs: int, outputs: int, noinline: bool
) -> None:
    hostile.function("f", [NEG], "n:y:0").attr["_noinline"].b = noinline
    hostile.node("c", "PartitionedCall", ["x"] * inputs, call("f", inputs, outputs))
    hostile.node("z", "NoOp", ["^c"], {})
    hostile.node("y", "Neg", ["x", "^c"], {"T": FLOAT})
    stranger.fails(hostile.graph, INVALID, "Function f has 1 (arguments|results), and is called with")


@pytest.mark.parametrize("op", ["PartitionedCall", "If", "While", "SymbolicGradient"])
def test_calls_with_other_types(hostile: Hostile, stranger: Stranger, op: str) -> None:
    hostile.function("f", [NEG], "n:y:0").signature.input_arg[0].type = DT_INT32
    hostile.graph.library.function[0].node_def[0].attr["T"].type = DT_INT32
    hostile.graph.library.function[0].signature.output_arg[0].type = DT_INT32
    function = func("f")
    attrs: dict[str, Any] = {
        "If": {"Tcond": FLOAT, "then_branch": function, "else_branch": function} | _types(1),
        "While": {"T": [FLOAT], "cond": function, "body": function},
        "SymbolicGradient": call("f", 2),
    }.get(op, call("f"))
    hostile.node("y", op, ["x"] * (2 if op in ("If", "SymbolicGradient") else 1), attrs)
    with pytest.raises(grpc.RpcError) as raised:
        stranger.run(hostile.graph)
    assert raised.value.code() in (INVALID, grpc.StatusCode.NOT_FOUND), raised.value


def _types(count: int) -> dict[str, Any]:
    return {"Tin": [FLOAT] * count, "Tout": [FLOAT]}


@pytest.mark.parametrize("by_name", [True, False])
def test_counts_of_arguments_are_bounded_before_they_are_made(
    hostile: Hostile, stranger: Stranger, by_name: bool
) -> None:
    hostile.function("f", [], "a").signature.input_arg[0].number_attr = "N"
    if by_name:
        hostile.node("y", "f", ["x"], {"N": 1 << 40})
    else:
        hostile.node("y", "PartitionedCall", ["x"], call("f", N=1 << 40))
    stranger.fails(hostile.graph, INVALID, "stands for 1099511627776 tensors")


@pytest.mark.parametrize("text", ["a:-1", "a:x", "a:" + "9" * 5000, "n:y:-1", "n:y:" + "9" * 5000])
def test_numbers_of_outputs(hostile: Hostile, text: str) -> None:
    hostile.function("f", [NEG], text)
    hostile.node("y", "PartitionedCall", ["x"], call("f"))
    with pytest.raises(errors.InvalidArgumentError, match="neither an argument nor an output"):
        hostile.inlined()


@pytest.mark.parametrize("target", [b"\xff\xfe", [b"a", b"b"], []])
def test_targets_of_remote_calls(hostile: Hostile, stranger: Stranger, target: Any) -> None:
    hostile.function("f", [NEG], "n:y:0")
    tensor = tensor_util.make_tensor_proto(target, dtypes.string)
    made = hostile.graph.node.add(name="t", op="Const")
    made.attr["dtype"].type = DT_STRING
    made.attr["value"].tensor.CopyFrom(tensor)
    hostile.node("y", "RemoteCall", ["t", "x"], call("f"))
    stranger.fails(hostile.graph, INVALID, "y")


def test_groups_that_are_not_text(hostile: Hostile, stranger: Stranger) -> None:
    made = hostile.function("f", [NEG], "n:y:0")
    made.node_def[0].attr["_class"].list.s.append(b"loc:@\xff")
    hostile.node("y", "PartitionedCall", ["x"], call("f"))
    stranger.run(hostile.graph)


def test_calls_that_double_are_replaced_up_to_a_limit(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline, "MAX_NODES", 1000)
    hostile.doubling(30, [NEG], "n:y:0")
    assert 100 < hostile.inlined() < 1000


def test_long_names_are_not_multiplied(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "MAX_NAME_BYTES", 1 << 20)
    rows = [(f"n{i}", "Neg", ["a" if not i else f"n{i - 1}:y:0"], {"T": FLOAT}) for i in range(200)]
    hostile.function("f", rows, "n199:y:0")
    hostile.node("y" * 10_000, "PartitionedCall", ["x"], call("f"))
    assert hostile.inlined() == 2


@pytest.mark.parametrize("what", ["a function", "an op of a body"])
def test_names_have_a_limit(hostile: Hostile, stranger: Stranger, what: str) -> None:
    for length in (MAX_TEXT, MAX_TEXT + 1):
        name = "n" * length
        made = Hostile()
        inner = name if what == "an op of a body" else "n"
        made.function(name if what == "a function" else "f", [(inner, *NEG[1:])], f"{inner}:y:0")
        made.node("y", "PartitionedCall", ["x"], call(name if what == "a function" else "f"))
        if length == MAX_TEXT:
            stranger.run(made.graph)
        else:
            stranger.fails(made.graph, INVALID, f"has more than {MAX_TEXT} characters: nnn")


def test_bodies_with_other_attributes_are_not_multiplied(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_REPEATED_NODES", 1000)
    rows = [(f"n{i}", "Neg", ["a" if not i else f"n{i - 1}:y:0"], {"T": FLOAT}) for i in range(200)]
    hostile.function("f", rows, "n199:y:0")
    for i in range(50):
        hostile.node(f"c{i}", "PartitionedCall", ["x"], call("f", other=i))
    assert hostile.inlined() < 8 * 210


def test_functions_with_state_that_double_are_compiled_up_to_a_limit(
    hostile: Hostile, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "MAX_COMPILED_NODES", 2000)
    hostile.doubling(30, RANDOM, "n:output:0", STATEFUL)
    for function in hostile.graph.library.function:
        function.attr["_noinline"].b = True
    exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
    stranger.fails(hostile.graph, exhausted, "stand for more than 2000 nodes")
    few = Hostile()
    few.doubling(4, RANDOM, "n:output:0", STATEFUL)
    stranger.run(few.graph)


def test_what_is_no_longer_used_makes_room(
    hostile: Hostile, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "MAX_COMPILED_NODES", 100)
    hostile.function("f", [NEG], "n:y:0").attr["_noinline"].b = True
    data = stranger.call("CreateSession", master_pb2.CreateSessionRequest(graph_def=hostile.graph))
    handle = master_pb2.CreateSessionResponse.FromString(data).session_handle
    for i in range(20):
        more = graph_pb2.GraphDef()
        add(more.node, f"y{i}", "PartitionedCall", ["x"], call("f", other=i))
        request = master_pb2.ExtendSessionRequest(
            session_handle=handle, graph_def=more, current_graph_version=i + 1
        )
        stranger.call("ExtendSession", request)
        run = master_pb2.RunStepRequest(session_handle=handle, fetch=[f"y{i}:0"])
        run.feed.add(name="x:0").tensor.CopyFrom(tensor_util.make_tensor_proto(1.0, FLOAT))
        stranger.call("RunStep", run)


def test_calls_that_never_come_to_an_end_end_with_their_step(hostile: Hostile, stranger: Stranger) -> None:
    hostile.doubling(45, [NEG], "n:y:0")
    for function in hostile.graph.library.function:
        function.attr["_noinline"].b = True
    before = _computing()
    with pytest.raises(grpc.RpcError) as raised:
        stranger.run(hostile.graph, seconds=1.0)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: _computing() <= before, SECONDS)


def _computing() -> int:
    """The threads of this process that call functions of graphs now."""
    count = 0
    for frame in current_frames().values():
        at: Any = frame
        while at is not None:
            if at.f_code.co_filename.endswith("executor/functions.py"):
                count += 1
                break
            at = at.f_back
    return count


FUNCTIONAL = ["If", "Case", "While"]


def functional(op: str, *names: str, count: int = 1) -> dict[str, Any]:
    """The attributes of a conditional or loop over `count` numbers."""
    functions = [func(name) for name in names]
    types = {"Tin": [FLOAT] * count, "Tout": [FLOAT] * count}
    attrs: dict[str, dict[str, Any]] = {
        "If": {"Tcond": FLOAT, "then_branch": functions[0], "else_branch": functions[-1]} | types,
        "Case": {"branches": functions} | types,
        "While": {"T": [FLOAT] * count, "cond": functions[0], "body": functions[-1]},
    }
    return attrs[op]


def named_elsewhere(function: function_pb2.FunctionDef) -> None:
    """Has a function ask for a device of its own, so that what calls it is lowered."""
    function.node_def[0].device = "/job:worker"


@pytest.mark.parametrize("op", FUNCTIONAL)
def test_conditionals_that_double_are_lowered_up_to_a_limit(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    monkeypatch.setattr(inline, "MAX_NODES", 2000)
    lead = {"If": ["a"], "Case": ["i:y:0"], "While": []}[op]
    number: Row = ("i", "Cast", ["a"], {"SrcT": FLOAT, "DstT": dtypes.int32, "Truncate": False})
    for level in range(30):
        attrs = functional(op, f"f{level + 1}", f"f{level + 1}")
        rows: list[Row] = [number, ("p", op, [*lead, "a"], attrs)]
        hostile.function(f"f{level}", [*rows, ("q", op, [*lead, "a"], attrs)], "q:output:0")
    named_elsewhere(hostile.function("f30", [NEG], "n:y:0"))
    hostile.node("y", "PartitionedCall", ["x"], call("f0"))
    assert 100 < hostile.inlined() < 3000


def test_branches_and_inputs_are_not_multiplied(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "MAX_NODES", 5000)
    named_elsewhere(hostile.function("f", [NEG], "n:y:0", arguments=100))
    hostile.node("i", "Cast", ["x"], {"SrcT": FLOAT, "DstT": dtypes.int32, "Truncate": False})
    attrs = functional("Case", *["f"] * 100) | {"Tin": [FLOAT] * 100, "Tout": [FLOAT]}
    hostile.node("y", "Case", ["i", *["x"] * 100], attrs)
    assert hostile.inlined() == 3


@pytest.mark.parametrize("op", FUNCTIONAL)
def test_long_names_of_conditionals_are_not_multiplied(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    monkeypatch.setattr(inline, "MAX_NAME_BYTES", 1 << 16)
    named_elsewhere(hostile.function("f", [NEG], "n:y:0"))
    hostile.node("i", "Cast", ["x"], {"SrcT": FLOAT, "DstT": dtypes.int32, "Truncate": False})
    lead = {"If": ["x"], "Case": ["i"], "While": []}[op]
    hostile.node("y" * 10_000, op, [*lead, "x"], functional(op, "f", "f"))
    assert hostile.inlined() == 3


@pytest.mark.parametrize("op", ["If", "While"])
def test_conditionals_that_call_themselves(hostile: Hostile, op: str) -> None:
    lead = ["a"] if op == "If" else []
    rows: list[Row] = [NEG, ("p", op, [*lead, "n:y:0"], functional(op, "f", "f"))]
    named_elsewhere(hostile.function("f", rows, "p:output:0"))
    hostile.node("y", op, ["x"] * (2 if op == "If" else 1), functional(op, "f", "f"))
    assert hostile.inlined() < 3000


def test_devices_in_bodies_that_are_none(hostile: Hostile) -> None:
    hostile.function("f", [NEG], "n:y:0").node_def[0].device = "/nothing:like/that"
    hostile.node("y", "If", ["x", "x"], functional("If", "f", "f"))
    assert hostile.inlined() > 2


def test_functions_of_each_other_have_devices(hostile: Hostile) -> None:
    """Looking for the devices in bodies ends, and takes no more than the bodies are."""
    for i in range(2000):
        attrs = functional("If", f"f{(i + 1) % 2000}", f"f{(i * 7) % 2000}")
        hostile.function(f"f{i}", [("p", "If", ["a", "a"], attrs)], "p:output:0")
    hostile.node("y", "If", ["x", "x"], functional("If", "f0", "f1"))
    assert hostile.inlined() == 2


@pytest.mark.parametrize("op", FUNCTIONAL)
def test_other_types_where_bodies_ask_for_devices(hostile: Hostile, stranger: Stranger, op: str) -> None:
    named_elsewhere(hostile.function("f", [NEG], "n:y:0", arguments=2))
    hostile.node("i", "Cast", ["x"], {"SrcT": FLOAT, "DstT": dtypes.int32, "Truncate": False})
    lead = {"If": ["x"], "Case": ["i"], "While": []}[op]
    hostile.node("y", op, [*lead, "x"], functional(op, "f", "f"))
    stranger.fails(hostile.graph, INVALID, "Function f has 2 arguments, and is called with 1")
