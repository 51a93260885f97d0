"""Nodes as bytes: the same messages as those that are filled field by field."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

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


def test_bytes_of_a_node_that_changes_meanwhile_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default() as graph:
        x, y = tf.constant(1.0, name="x"), tf.constant(2.0, name="y")
    encode = node_bytes.encode

    def slowly(name: str, *rest: Any) -> bytes | None:
        data = encode(name, *rest)
        if name == "y":
            y.op._add_control_input(x.op)  # as another thread does that builds the graph
        return data

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(node_bytes, "encode", slowly)
        graph.as_graph_def()
    check(graph)


def test_arrays_that_a_program_changes_later_are_not_those_of_its_constants() -> None:
    with tf.Graph().as_default() as graph:
        for value in (np.zeros(3, np.float32), np.array(["a", "b"], object), np.zeros(())):
            tf.constant(value)
            before = texts(graph.as_graph_def())
            value[...] = value.dtype.type(7) if value.dtype != object else "c"
            check(graph)
            assert texts(graph.as_graph_def()) == before


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_have_the_messages_that_are_filled(seed: int) -> None:
    """The whole graph is asked for after each step, so that all that is kept was kept before the next one."""
    rng = random.Random(seed)
    with tf.Graph().as_default() as graph:
        values = [tf.constant(1.0), tf.placeholder(tf.float32, [])]
        for _ in range(25):
            rng.choice(STEPS)(rng, graph, values)
            check(graph)


def _any_op(rng: random.Random, graph: tf.Graph) -> tf.Operation:
    return rng.choice(graph.get_operations())


def _free_op(rng: random.Random, graph: tf.Graph) -> tf.Operation:
    return rng.choice([op for op in graph.get_operations() if op._control_flow_context is None])


def _computed(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    values.append(rng.choice(values) * rng.choice(values) + rng.random())


def _placed(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    def place(op: tf.Operation) -> str:
        graph.as_graph_def()
        return f"/task:{len(op.name) % 3}"

    with tf.device(rng.choice([place, "/cpu:1", None])), tf.device(rng.choice([place, "/job:ps"])):
        _computed(rng, graph, values)
    with tf.colocate_with(_free_op(rng, graph), ignore_existing=rng.random() < 0.5):
        _computed(rng, graph, values)


def _ordered(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    with tf.control_dependencies([_free_op(rng, graph), _free_op(rng, graph)]):
        _computed(rng, graph, values)


def _branches(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    x, y = rng.choice(values), rng.choice(values)

    def then() -> Any:
        graph.as_graph_def()
        return x * y

    values.append(tf.cond(x < y, then, lambda: tf.cond(y > 2.0, then, lambda: x + 1.0)))


def _loop(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    x, other = rng.choice(values), _free_op(rng, graph)

    def body(i: Any, a: Any) -> Any:
        graph.as_graph_def()
        with tf.control_dependencies([other]):
            return i + 1, tf.cond(a > x, lambda: a * x, lambda: tf.sin(a))

    made = tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]
    graph.as_graph_def()
    gradient = tf.gradients(made, x)[0]
    values += [made] if gradient is None else [made, gradient]


def _imported(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    if len(graph.get_operations()) < 300:
        tf.import_graph_def(graph.as_graph_def(), name="again")


def _changed(rng: random.Random, graph: tf.Graph, values: list[Any]) -> None:
    op = _any_op(rng, graph)
    match rng.randrange(4):
        case 0:
            op._set_attr(f"_a{rng.randrange(3)}", attr_value_pb2.AttrValue(i=rng.randrange(9)))
        case 1:
            op._set_device(f"/cpu:{rng.randrange(3)}")
        case 2:
            known, *_ = graph.get_operations()
            if op is not known:
                op._add_control_input(known)
        case 3:
            value = rng.choice(values)
            value.op._set_attr("_class", attr_value_pb2.AttrValue(list={"s": [b"loc:@Const"]}))
            for i, tensor in enumerate(value.op.inputs):
                if tensor.op.type == "Const" and tensor.dtype == tf.float32:
                    value.op._update_input(i, values[0])


STEPS = [_computed, _computed, _placed, _ordered, _branches, _loop, _imported, _changed, _changed]
