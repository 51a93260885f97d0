"""The service's graph: what it takes from a client, and how it says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet.proto import graph_pb2
from tensorfleet_service.graph.graph import describe, to_graph_def
from tensorfleet_service.graph.session_graph import SessionGraph, from_graph_def
from tests.service.graphs import graph, graph_def

X = "x = Placeholder()\n"

BAD_INPUTS = {
    "unknown input": (X + "n = Identity(gone)", "Node 'n': Unknown input node 'gone'"),
    "unknown input output": (X + "n = Identity(gone:1)", "Node 'n': Unknown input node 'gone:1'"),
    "unknown control": (X + "n = Identity(x; ^gone)", "Node 'n': Unknown input node '^gone'"),
    "output": (
        X + "n = Identity(x:1)",
        "Node 'n': Connecting to invalid output 1 of source node x which has 1 outputs.",
    ),
    "output no number": (X + "n = Identity(x:a)", "Illegal op input name 'x:a'"),
    "output negative": (X + "n = Identity(x:-1)", "Illegal op input name 'x:-1'"),
    "few": (X + "n = AddV2(x)", "NodeDef expected inputs 'float, float' do not match 1 inputs specified; "),
    "many": (X + "n = Identity(x, x)", "NodeDef expected inputs 'float' do not match 2 inputs specified; "),
    "type": (
        "x = Placeholder() dtype=int32\ny = Placeholder()\nn = AddV2(y, x)",
        "Input 1 of node n was passed int32 from x:0 incompatible with expected float.",
    ),
    "reference": (
        X + "n = Assign(x, x)",
        "Input 0 of node n was passed float from x:0 incompatible with expected float_ref.",
    ),
    "controls first": (X + "n = Identity(^x, x)", "All control inputs must follow all data inputs"),
    "cycle": (
        X + "a = AddV2(x, c)\nb = Identity(a)\nc = Identity(b)\nd = Identity(c)",
        "Graph is invalid, contains a cycle with 3 nodes, including: b, c, a",
    ),
    "control cycle": (
        "a = NoOp(^b)\nb = NoOp(^a)",
        "Graph is invalid, contains a cycle with 2 nodes, including: b, a",
    ),
    "own input": ("a = Identity(a)", "Graph is invalid, contains a cycle with 1 nodes, including: a"),
    "not unique": (X + X, "Node 'x' is not unique"),
    "name": ("a:0 = NoOp()", "Illegal op name 'a:0'"),
    "name of the runtime": ("_a = NoOp()", "Illegal op name '_a'"),
    "op of the runtime": ("a = _Arg() index=0", "Op type '_Arg' is for the runtime alone"),
    "allowed type": (
        "x = Placeholder() dtype=string\nn = MatMul(x, x) T=string",
        "Value for attr 'T' of string is not in the list of allowed values: bfloat16, half, float, double, ",
    ),
    "allowed string": (
        "x = Placeholder() dtype=string\nn = StringToNumber(x) out_type=bool",
        "Value for attr 'out_type' of bool is not in the list of allowed values: float, double, ",
    ),
    "least value": ("n = AddN() N=0", "Value for attr 'N' of 0 must be at least minimum 1"),
    "least length": ("n = IdentityN() T=[]", "Length for attr 'T' of 0 must be at least minimum 1"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_wrong_graphs_are_refused_with_tensorflows_words(case: str) -> None:
    text, message = BAD_INPUTS[case]
    if case == "least length":
        definition = graph_def("n = IdentityN()")
        definition.node[0].attr["T"].list.SetInParent()
    else:
        definition = graph_def(text)
    with pytest.raises(errors.InvalidArgumentError) as caught:
        SessionGraph().extend(definition)
    assert caught.value.message.startswith(message)
    assert caught.value.message.endswith("}}]]")


@pytest.mark.parametrize(
    ("attr", "field", "value", "message"),
    [
        ("dtype", "i", 3, "AttrValue had value with type 'int' when 'type' expected\n\t for attr 'dtype'"),
        ("shape", "s", b"a", "AttrValue had value with type 'string' when 'shape' expected"),
        ("dtype", "type", 77, "Attribute 'dtype' cannot be read: "),
        ("dtype", "placeholder", "T", "Attribute 'dtype' cannot be read: "),
    ],
)
def test_attributes_of_another_kind_are_refused(attr: str, field: str, value: object, message: str) -> None:
    definition = graph_def(X)
    setattr(definition.node[0].attr[attr], field, value)
    with pytest.raises(errors.InvalidArgumentError, match="x") as caught:
        SessionGraph().extend(definition)
    assert caught.value.message.startswith(message)


def test_lists_are_checked_by_their_items() -> None:
    definition = graph_def(X + "n = Squeeze(x)")
    definition.node[1].attr["squeeze_dims"].list.s.append(b"a")
    with pytest.raises(errors.InvalidArgumentError) as caught:
        SessionGraph().extend(definition)
    assert "type 'list(string)' when 'list(int)' expected" in caught.value.message


def test_unknown_ops_and_missing_attributes_are_not_found() -> None:
    definition = graph_pb2.GraphDef()
    definition.node.add(name="n", op="NoSuchOp")
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'NoSuchOp' in binary running on"):
        SessionGraph().extend(definition)
    definition.node[0].op = "Placeholder"
    with pytest.raises(errors.NotFoundError, match="No attr named 'dtype' in NodeDef:"):
        SessionGraph().extend(definition)


def test_a_refused_extension_leaves_nothing_behind() -> None:
    session = graph(X)
    bad = graph_def("y = Identity(x)\nz = Identity(gone)")
    bad.library.function.add().signature.name = "f"
    with pytest.raises(errors.InvalidArgumentError):
        session.extend(bad)
    assert list(session.nodes) == ["x"]
    assert session.functions == {}
    assert session.version == 1
    session.extend(graph_def("y = Identity(x)"))
    assert describe(session.nodes.values()) == "x = Placeholder()\ny = Identity(x)\n"
    assert session.version == 2
    with pytest.raises(errors.InvalidArgumentError, match="Node 'x' is not unique"):
        session.extend(graph_def(X))


def test_nodes_come_in_any_order() -> None:
    made = graph("c = AddV2(a, b; ^d)\nb = Neg(a)\nd = NoOp()\na = Placeholder()")
    assert describe(made.nodes.values()).splitlines()[0] == "c = AddV2(a, b; ^d)"
    assert made.nodes["c"].inputs == [(made.nodes["a"], 0), (made.nodes["b"], 0)]


def test_attributes_take_their_defaults_and_unknown_ones_are_kept() -> None:
    definition = graph_def(X + "n = MatMul(x, x)")
    definition.node[1].attr["invented_later"].i = 3
    made = SessionGraph()
    made.extend(definition)
    attrs = made.nodes["n"].attrs
    assert attrs["transpose_a"] is False
    assert attrs["T"] is dtypes.float32
    assert attrs["invented_later"] == 3
    assert made.nodes["x"].attrs["shape"] is None


def test_types_of_references_and_lists() -> None:
    made = graph(
        "v = VariableV2()\nr = Identity(v)\ns = IdentityN(r, x) T=float32,int32\n"
        "x = Placeholder() dtype=int32"
    )
    assert made.nodes["v"].output_types == [dtypes.float32._as_ref]
    assert made.nodes["r"].output_types == [dtypes.float32]
    assert made.nodes["s"].output_types == [dtypes.float32, dtypes.int32]


def test_a_control_input_counts_once() -> None:
    made = graph("a = NoOp()\nb = NoOp(^a, ^a)")
    assert made.nodes["b"].controls == [made.nodes["a"]]


def test_functions_may_come_again_but_not_differ() -> None:
    definition = graph_pb2.GraphDef()
    definition.library.function.add().signature.name = "f"
    made = SessionGraph()
    made.extend(definition)
    made.extend(definition)
    assert list(made.functions) == ["f"]
    definition.library.function[0].signature.input_arg.add(name="a", type=1)
    with pytest.raises(
        errors.InvalidArgumentError, match="a different function with the same name already exists"
    ):
        made.extend(definition)
    definition.library.function[0].signature.name = "AddV2"
    with pytest.raises(errors.InvalidArgumentError, match="an op with the same name already exists"):
        made.extend(definition)


def test_a_loop_is_no_cycle() -> None:
    text = """
        x = Placeholder()
        enter = Enter(x) frame_name=loop
        merge = Merge(enter, next) N=2
        next = NextIteration(merge)
    """
    made = graph(text)
    nodes = from_graph_def(to_graph_def(made.nodes.values()))
    assert describe(nodes) == describe(made.nodes.values())
    with pytest.raises(errors.InvalidArgumentError, match="contains a cycle with 2 nodes"):
        graph(text.replace("NextIteration", "Identity"))


def test_nodes_survive_the_message() -> None:
    made = graph(
        """
        c = Const() dtype=int32 value=[1,2] @ /job:ps/task:1
        d = Const() value=2.5
        axis = Const() dtype=int32 value=0
        s = Split(axis, d) num_split=2
        n = AddV2(s, s:1; ^c)
        """
    )
    made.nodes["n"].assigned = "/job:ps/replica:0/task:1/device:CPU:0"
    message = graph_pb2.GraphDef.FromString(to_graph_def(made.nodes.values()).SerializeToString())
    nodes = from_graph_def(message)
    assert describe(nodes) == describe(made.nodes.values())
    assert nodes[-1].assigned == "/job:ps/replica:0/task:1/device:CPU:0"
    np.testing.assert_array_equal(nodes[0].attrs["value"], np.array([1, 2], np.int32))
    assert nodes[3].attrs == made.nodes["s"].attrs


def test_partitions_may_hold_what_clients_may_not() -> None:
    definition = graph_def("_arg_x_0 = _Arg() index=0")
    assert describe(from_graph_def(definition)) == "_arg_x_0 = _Arg()\n"
    definition.MergeFrom(definition)
    definition.node.add().CopyFrom(definition.node[0])
    with pytest.raises(errors.InvalidArgumentError, match="is not unique"):
        from_graph_def(definition)


def test_many_controls_and_many_extensions_cost_no_more_than_their_edges() -> None:
    definition = graph_def("".join(f"n{i} = NoOp()\n" for i in range(20_000)))
    definition.node.add(name="all", op="NoOp").input.extend(f"^n{i}" for i in range(20_000))
    made = SessionGraph()
    made.extend(definition)
    assert len(made.nodes["all"].controls) == 20_000
