"""Operations of the same process become the same nodes as the messages that stand for them."""

from __future__ import annotations

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet_service.graph.graph import Node, to_graph_def
from tensorfleet_service.graph.session_graph import SessionGraph


def nodes_of(graph: tf.Graph) -> tuple[list[Node], list[Node]]:
    """The nodes by operations, and by messages."""
    by_part, by_message = SessionGraph(), SessionGraph()
    by_part.extend(graph.part())
    by_message.extend(graph.as_graph_def())
    return list(by_part.nodes.values()), list(by_message.nodes.values())


def assert_same(graph: tf.Graph) -> list[Node]:
    own, other = nodes_of(graph)
    assert to_graph_def(own) == to_graph_def(other)
    for node, expected in zip(own, other, strict=True):
        assert (node.op, node.device) == (expected.op, expected.device)
        assert node.input_types == expected.input_types
        assert node.output_types == expected.output_types
        assert list(node.attrs) == list(expected.attrs)
    return own


def test_control_inputs_other_outputs_devices_and_large_constants() -> None:
    with tf.Graph().as_default() as graph:
        large = tf.constant(np.arange(4096, dtype=np.float32))
        text = tf.constant(["a", "\u00e9" * 200])
        halves = tf.split(large, 2)
        with tf.device("/device:CPU:0"), tf.control_dependencies([text]):
            total = halves[1] + halves[0]
        with tf.control_dependencies([total, text]):
            tf.no_op(name="end")
        v = tf.get_variable("v", [3])
        tf.assign_add(v, [1.0, 2.0, 3.0])
    nodes = {node.name: node for node in assert_same(graph)}
    assert {control.name for control in nodes["end"].controls} == {total.op.name, text.op.name}
    assert nodes[total.op.name].device == "/device:CPU:0"


def test_loops_lead_backwards() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        out = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, tf.cond(a > 2, lambda: a, lambda: a * 2)), [0, x]
        )
        tf.gradients(out[1], x)
    assert any(node.op == "NextIteration" for node in assert_same(graph))


def test_functions_come_with_them() -> None:
    with tf.Graph().as_default() as graph:
        tf.data.Dataset.range(3).map(lambda x: x * 2).make_one_shot_iterator().get_next()
    assert_same(graph)
    by_part, by_message = SessionGraph(), SessionGraph()
    by_part.extend(graph.part())
    by_message.extend(graph.as_graph_def())
    assert by_part.functions
    assert by_part.functions == by_message.functions


def test_the_master_keeps_nothing_of_the_operations() -> None:
    with tf.Graph().as_default() as graph:
        values = np.zeros(2048, np.float32)
        constant = tf.constant(values)
        small = tf.constant([1.0, 2.0])
        made = SessionGraph()
        made.extend(graph.part())
        for op in (constant.op, small.op):
            op.attrs["value"] = op.attrs["value"] + 1.0
            op.attrs["_more"] = 1
    nodes = made.nodes
    assert not nodes[constant.op.name].attrs["value"].any()
    assert nodes[small.op.name].attrs["value"].tolist() == [1.0, 2.0]
    assert all("_more" not in node.attrs for node in nodes.values())


def test_errors_are_those_of_the_message() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        y = tf.negative(x, name="y")
        y.op.put_attr("T", tf.int32)
    for given in (graph.part(), graph.as_graph_def()):
        made = SessionGraph()
        with pytest.raises(
            errors.InvalidArgumentError, match=r"Input 0 of node y was passed float from .* expected int32"
        ):
            made.extend(given)
        assert not made.nodes
