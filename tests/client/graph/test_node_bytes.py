"""Nodes as bytes: the same messages as those that are filled field by field."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.graph import node_bytes
from tensorfleet.proto import attr_value_pb2, graph_pb2


def filled(graph: tf.Graph) -> graph_pb2.GraphDef:
    """The graph's message, made without bytes."""
    message = graph_pb2.GraphDef()
    for op in graph.get_operations():
        op.fill_node_def(message.node.add())
    return message


def texts(message: graph_pb2.GraphDef) -> list[bytes]:
    """The nodes, in a form in which a NaN equals itself."""
    return [node.SerializeToString(deterministic=True) for node in message.node]


def check(graph: tf.Graph) -> None:
    for _ in range(2):  # made, and as it was kept
        found = graph.as_graph_def()
        assert texts(found) == texts(filled(graph))


def numbers() -> None:
    for value in (0.0, -0.0, float("nan"), 1, True, "text", b"\xff\x00", [1.0, 2.0], [[True], [False]], 1j):
        tf.constant(value)
    tf.constant(np.broadcast_to(np.float32(3), (5, 5)))
    tf.constant(np.arange(4, dtype=">i4"))
    tf.zeros([2, 0])


def every_kind() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="a/b")
    tf.placeholder(tf.float32)
    tf.split(x, 3, axis=1)[2] + 1.0
    tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    tf.nn.leaky_relu(x, 0.1)
    tf.py_func(lambda v: v, [x], tf.float32)
    tf.queue.FIFOQueue(3, [tf.float32, tf.string], [[2], []])
    with tf.device("/job:ps/task:1"), tf.control_dependencies([x.op, tf.no_op(name="z"), tf.no_op(name="y")]):
        tf.get_variable("v" * 200, [3], partitioner=None)
    tf.data.Dataset.range(3).map(lambda v: v + 1)
    tf.constant(np.arange(node_bytes.MAX_BYTES, dtype=np.float32))
    tf.constant(["x" * 100] * 100)
    tf.constant(1)


def loops() -> None:
    x = tf.constant(2.0)
    y = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.cond(a > 1, lambda: a * x, lambda: a)), [0, x]
    )
    tf.gradients(y, x)


@pytest.mark.parametrize("build", [numbers, every_kind, loops])
def test_the_messages_are_those_that_are_filled(build: Callable[[], None]) -> None:
    with tf.Graph().as_default() as graph:
        build()
    check(graph)


def test_what_changes_a_node_changes_its_bytes() -> None:
    with tf.Graph().as_default() as graph:
        x, y = tf.constant(1.0, name="x"), tf.constant(2.0, name="y")
        z = tf.add(x, y)
        check(graph)
        z.op._update_input(1, x)
        check(graph)
        z.op._add_control_input(y.op)
        check(graph)
        z.op._remove_control_input(y.op)
        check(graph)
        z.op._set_device("/cpu:0")
        check(graph)
        z.op._set_attr("_mine", attr_value_pb2.AttrValue(i=3))
        check(graph)


def test_equal_values_of_other_kinds_stay_apart() -> None:
    with tf.Graph().as_default() as graph:
        op = tf.no_op()
        for i, value in enumerate((True, 1, 1.0, (1,), 0, False, 0.0, -0.0, (), [], None, b"")):
            op.put_attr("_k", value)
            assert op.encoded() is not None
            tf.no_op(name=f"n{i}").put_attr("_k", value)
    check(graph)


def test_nodes_since_a_version_and_large_ones_keep_their_order() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="a")
        version = graph.version
        for name in "bcd":
            tf.constant(np.zeros(node_bytes.MAX_BYTES), name=name)
            tf.constant(2, name=f"{name}2")
    names = ["b", "b2", "c", "c2", "d", "d2"]
    assert [node.name for node in graph.as_graph_def().node] == ["a", *names]
    assert [node.name for node in graph.as_graph_def(from_version=version).node] == names
    assert [node.name for node in graph.as_graph_def(from_version=graph.version).node] == []


def test_large_constants_are_not_kept_twice() -> None:
    with tf.Graph().as_default() as graph:
        op = tf.constant(np.zeros(node_bytes.MAX_BYTES)).op
        text = tf.constant(["x" * 100] * 100).op
        small = tf.constant(1.0).op
        graph.as_graph_def()
    assert (op._encoded, text._encoded) == (None, None)
    assert small._encoded is not None


def test_attributes_that_are_remembered_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_bytes, "_known", {})
    monkeypatch.setattr(node_bytes, "_MAX_KNOWN", 8)
    with tf.Graph().as_default() as graph:
        for i in range(50):
            tf.constant(i)
    check(graph)
    assert len(node_bytes._known) <= 8
