"""Graphs that come as GraphDef messages."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import tensorfleet as tf
from tensorfleet.proto.op_def_pb2 import OpList

CONST = (
    "node {name: 'c' op: 'Const' attr {key: 'dtype' value {type: DT_FLOAT}} "
    "attr {key: 'value' value {tensor {dtype: DT_FLOAT float_val: 1 tensor_shape {}}}}}"
)
FLOAT = "attr {key: 'T' value {type: DT_FLOAT}}"


def parse(text: str) -> tf.GraphDef:
    return text_format.Parse(text, tf.GraphDef())


def some_graph() -> tf.GraphDef:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.device("/job:ps/task:1"):
            w = tf.constant(np.ones((2, 3), np.float32), name="w")
        with tf.control_dependencies([tf.no_op(name="first")]):
            y = tf.matmul(x, w, name="deep/y")
        with graph.colocate_with(w.op):
            tf.identity(y, name="z")
        return graph.as_graph_def()


def test_import_is_the_inverse_of_export(graph: tf.Graph) -> None:
    exported = some_graph()
    assert tf.import_graph_def(exported, name="") is None
    assert graph.as_graph_def() == exported
    assert graph.get_tensor_by_name("deep/y:0").shape.as_list() == [None, 3]
    assert [op.name for op in graph.get_operation_by_name("first").control_outputs] == ["deep/y"]


def test_nodes_may_come_in_any_order(graph: tf.Graph) -> None:
    exported = some_graph()
    nodes = list(exported.node)
    random.Random(1).shuffle(nodes)
    shuffled = tf.GraphDef(versions=exported.versions, node=nodes)
    tf.import_graph_def(shuffled, name="")
    by_name = sorted(graph.as_graph_def().node, key=lambda node: node.name)
    assert by_name == sorted(exported.node, key=lambda node: node.name)


def test_prefix_is_made_unique_and_goes_into_colocations(graph: tf.Graph) -> None:
    exported = some_graph()
    tf.import_graph_def(exported)
    tf.import_graph_def(exported)
    assert graph.get_operation_by_name("import/z").get_attr("_class") == [b"loc:@import/w"]
    assert graph.get_operation_by_name("import_1/z").get_attr("_class") == [b"loc:@import_1/w"]
    assert graph.get_operation_by_name("import_1/deep/y").inputs[1].name == "import_1/w:0"
    assert tf.constant(1.0, name="import/w").name == "import/w_1:0"


def test_devices_of_nodes_and_of_scopes_are_merged(graph: tf.Graph) -> None:
    with tf.device("/job:worker/device:GPU:0"):
        tf.import_graph_def(some_graph(), name="")
    assert graph.get_operation_by_name("x").device == "/job:worker/device:GPU:0"
    assert graph.get_operation_by_name("w").device == "/job:ps/task:1/device:GPU:0"
    assert graph.get_operation_by_name("z").device == graph.get_operation_by_name("w").device


def test_input_map_and_return_elements(graph: tf.Graph) -> None:
    mine = tf.placeholder(tf.float32, [5, 2], name="mine")
    order = tf.no_op(name="order")
    y, op, x = tf.import_graph_def(
        some_graph(), {"x": mine, "^first": order}, ["deep/y:0", "z", "x:0"], name="q"
    )
    assert y.op.inputs[0] is mine
    assert y.op.control_inputs == [order]
    assert y.shape.as_list() == [5, 3]
    assert (op.name, x) == ("q/z", mine)
    (converted,) = tf.import_graph_def(parse(CONST), {"c:0": 2.0}, ["c:0"], name="r")
    assert converted.name == "r/_inputs/Const:0"


def test_loop_is_closed_at_the_end(graph: tf.Graph) -> None:
    tf.import_graph_def(
        parse(
            CONST + f"node {{name: 'enter' op: 'Enter' input: 'c' {FLOAT} "
            "attr {key: 'frame_name' value {s: 'f'}}}"
            f"node {{name: 'merge' op: 'Merge' input: 'enter' input: 'next' {FLOAT} "
            "attr {key: 'N' value {i: 2}}}"
            f"node {{name: 'next' op: 'NextIteration' input: 'merge' {FLOAT}}}"
        ),
        name="",
    )
    merge = graph.get_operation_by_name("merge")
    assert [tensor.name for tensor in merge.inputs] == ["enter:0", "next:0"]
    assert merge.outputs[0].shape.ndims is None


def test_attributes_that_the_producer_says_are_default_are_left_out(graph: tf.Graph) -> None:
    text = CONST.replace("op: 'Const'", "op: 'Const' attr {key: 'new' value {i: 4}}")
    producer = text_format.Parse(
        "op {name: 'Const' attr {name: 'new' type: 'int' default_value {i: 4}}}", OpList()
    )
    tf.import_graph_def(parse(text), producer_op_list=producer, name="a")
    tf.import_graph_def(parse(text), name="b")
    assert "new" not in graph.get_operation_by_name("a/c").node_def.attr
    assert graph.get_operation_by_name("b/c").get_attr("new") == 4


def test_functions_are_kept(graph: tf.Graph) -> None:
    tf.import_graph_def(parse("library {function {signature {name: 'f'}}}"))
    assert graph.as_graph_def().library.function[0].signature.name == "f"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (CONST + CONST, {}, "Node 'c' is not unique"),
        ("node {name: 'p' op: 'Placeholder'}", {}, "NodeDef missing attr 'dtype' from Op<name=Placeholder; "),
        (f"node {{name: 'd' op: 'Neg' input: 'gone' {FLOAT}}}", {}, "Node 'd': Unknown input node 'gone'"),
        (
            CONST + f"node {{name: 'd' op: 'Neg' input: '^c' input: 'c' {FLOAT}}}",
            {},
            "must come after regular",
        ),
        (CONST + f"node {{name: 'd' op: 'Add' input: 'c' {FLOAT}}}", {}, "do not match 1 inputs spec"),
        (CONST + f"node {{name: 'd' op: 'Neg' input: 'c:1' {FLOAT}}}", {}, "Connecting to invalid output 1"),
        (
            CONST + "node {name: 'd' op: 'Neg' input: 'c' attr {key: 'T' value {type: DT_INT32}}}",
            {},
            "Input 0 of node d was passed float from c:0 incompatible with expected int32.",
        ),
        (
            "node {name: 'd' op: 'Neg' attr {key: 'T' value {type: DT_RESOURCE}}}",
            {},
            "Value for attr 'T' of resource is not in the list of allowed values: ",
        ),
        (f"node {{name: 'd' op: 'Neg' input: 'd' {FLOAT}}}", {}, "1 nodes in a cycle"),
        ("node {name: 'a b' op: 'NoOp'}", {}, "Node 'a b': Node name contains invalid characters"),
        ("versions {min_consumer: 99999}", {}, "GraphDef min consumer version 99999 above current version"),
        (
            "node {name: 'd' op: 'NoOp' attr {key: '_class' value {list {s: 'loc:@zz'}}}}",
            {},
            "Node 'd' expects to be colocated with unknown node 'zz'",
        ),
        (CONST, {"return_elements": ["x:0"]}, "Requested return tensor 'x:0' not found in graph def"),
        (CONST, {"return_elements": ["x"]}, "Requested return node 'x' not found in graph def"),
        (CONST, {"return_elements": ["c:3"]}, "Invalid return output 3 of node 'c', which has 1 output(s)"),
        (CONST, {"input_map": {"a": 2}}, "requires a non-empty `name` if `input_map` contains non-Tensor"),
        (CONST, {"input_map": {"a": 2}, "name": "q"}, "were not found in graph_def: [a:0]"),
    ],
)
def test_contradictions_are_told_in_tensorflows_words(
    text: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the text is compared below
        tf.import_graph_def(parse(text), **{"name": "", **arguments})
    assert message in str(caught.value)


def test_unknown_op_and_arguments_of_other_types() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'NoSuchOp'"):
        tf.import_graph_def(parse("node {name: 'n' op: 'NoSuchOp'}"))
    with pytest.raises(TypeError, match="graph_def must be a GraphDef proto"):
        tf.import_graph_def("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="return_elements must be a list of strings"):
        tf.import_graph_def(parse(CONST), return_elements=[3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="input_map must be a dictionary mapping strings"):
        tf.import_graph_def(parse(CONST), input_map={1: 2})  # type: ignore[dict-item]


def test_sub_graph_has_what_its_nodes_need() -> None:
    sub = tf.graph_util.extract_sub_graph(some_graph(), ["deep/y"])
    assert [node.name for node in sub.node] == ["x", "w", "first", "deep/y"]
    with pytest.raises(AssertionError, match="nope is not in graph"):
        tf.graph_util.extract_sub_graph(some_graph(), ["nope"])


def test_training_nodes_are_short_circuited(graph: tf.Graph) -> None:
    c = tf.constant(1.0, name="c")
    tf.negative(tf.identity(tf.identity(c, name="i"), name="j"), name="n")
    slim = tf.graph_util.remove_training_nodes(graph.as_graph_def(), ["kept"])
    assert [(node.name, list(node.input)) for node in slim.node] == [("c", []), ("n", ["c"])]


def test_variables_become_constants(graph: tf.Graph) -> None:
    pytest.importorskip("tensorfleet_service")
    for use_resource in (False, True):
        with tf.Graph().as_default() as with_variables:
            variable = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
            tf.multiply(variable, 3.0, name="y")
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                frozen = tf.graph_util.convert_variables_to_constants(
                    session, with_variables.as_graph_def(), ["y"]
                )
        assert not {"VariableV2", "VarHandleOp", "ReadVariableOp"} & {node.op for node in frozen.node}
        with tf.Graph().as_default():
            (y,) = tf.import_graph_def(frozen, return_elements=["y:0"])
            with tf.Session() as session:
                assert session.run(y).tolist() == [3, 6]


def _in_a_branch(variable: Any) -> tf.Tensor:
    return tf.cond(tf.placeholder_with_default(True, []), lambda: variable[1:] * 2, lambda: variable[:1] + 1)


def _in_a_loop(variable: Any) -> tf.Tensor:
    return tf.while_loop(
        lambda i, _: i < 3, lambda i, x: (i + 1, x @ variable), [0, tf.constant([[1.0, 2.0]])]
    )[1]


@pytest.mark.parametrize(
    "use",
    [lambda v: tf.nn.embedding_lookup(v, [1, 0, 1]), _in_a_branch, _in_a_loop],
    ids=["rows", "branch", "loop"],
)
def test_resource_variables_are_frozen_where_their_handles_go(graph: tf.Graph, use: Any) -> None:
    variable = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    tf.identity(use(variable), "y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run("y:0")
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(True), ["y"])
    assert not {"VarHandleOp", "ReadVariableOp", "ResourceGather"} & {node.op for node in frozen.node}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(frozen, name="")
        assert session.run("y:0").tolist() == expected.tolist()


@pytest.mark.parametrize("mapped", [True, False])
def test_what_shapes_told_of_a_graph_does_not_hold_where_it_is_imported(
    graph: tf.Graph, mapped: bool
) -> None:
    with tf.Graph().as_default() as other:
        x = tf.placeholder(tf.float32, [4, 5, 5, 1], name="x")
        y = tf.nn.conv2d(x, np.ones([3, 3, 1, 2], np.float32), [1, 1, 1, 1], "SAME")
        tf.identity(tf.gradients(y, x, grad_ys=y)[0], "gradient")
        exported = other.as_graph_def()
    inputs = None
    if mapped:
        inputs = {"x": tf.placeholder(tf.float32, [4, None, None, 1])}
    else:
        [node] = [node for node in exported.node if node.name == "x"]
        for dimension in node.attr["shape"].shape.dim[1:3]:
            dimension.size = -1
    x, gradient = tf.import_graph_def(exported, inputs, return_elements=["x:0", "gradient:0"])
    with tf.Session() as session:
        assert session.run(gradient, {x: np.ones([4, 7, 7, 1])}).shape == (4, 7, 7, 1)


@pytest.mark.parametrize("text", ["a:", "^a:0", "a:x", "a:0:1"])
def test_a_malformed_input_is_unknown(text: str) -> None:
    message = tf.GraphDef()
    message.node.add(name="a", op="NoOp")
    message.node.add(name="b", op="NoOp", input=[text])
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Node 'b': Unknown input node"):
        tf.import_graph_def(message)
