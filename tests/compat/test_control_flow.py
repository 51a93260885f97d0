"""Conditionals and loops beside TensorFlow: the same graphs, node by node, and its client on our server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as real

import tensorfleet as ours
from tests.compat.cluster import Cluster

real.disable_v2_behavior()

Build = Callable[[Any], dict[str, Any]]


def conditionals(tf: Any) -> dict[str, Any]:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    v = tf.Variable(1.0, name="v")
    inner = tf.cond(p, lambda: tf.cond(x > 0.0, lambda: x, lambda: -x), lambda: tf.constant(7.0))
    a, b = tf.cond(p, lambda: (tf.assign(v, 5.0), x), lambda: (tf.assign(v, 6.0), x + 3))
    grouped = tf.cond(p, lambda: tf.group(tf.assign_add(v, 1.0)), lambda: tf.no_op())
    with tf.control_dependencies([tf.no_op(name="before")]):
        after = tf.cond(p, lambda: x + tf.constant(1.0), lambda: tf.constant(2.0))
    return {
        "plain": tf.cond(p, lambda: x + 1.0, lambda: x * 2.0),
        "inner": inner,
        "a": a,
        "b": b,
        "grouped": grouped,
        "after": after,
        "case": tf.case([(x > 1.0, lambda: x), (x > 0.0, lambda: x * 10)], default=lambda: tf.constant(-1.0)),
        "initialized": v.initialized_value(),
    }


def loops(tf: Any) -> dict[str, Any]:
    x, p = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
    total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + x), [0, x], name="sum")

    def inner(i: Any, a: Any) -> Any:
        return i + 1, tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b + x), [0, a])[1]

    with tf.control_dependencies([tf.constant(1.0, name="before")]):
        after = tf.while_loop(lambda i: i < 4.0, lambda i: i + 1.0, [tf.constant(0.0)])
    grown = tf.while_loop(
        lambda i, m: i < 3,
        lambda i, m: (i + 1, tf.concat([m, m], 0)),
        [tf.constant(0), tf.ones([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )
    return {
        "one": tf.while_loop(lambda i: i < 10, lambda i: i + 2, [tf.constant(0)]),
        "total": total[1],
        "most": tf.while_loop(lambda i: i < 100, lambda i: i + 1, [tf.constant(0)], maximum_iterations=7),
        "nested": tf.while_loop(lambda i, a: i < 3, inner, [0, x], name="outer")[1],
        "on_branch": tf.cond(p, lambda: tf.while_loop(lambda i: i < 10.0, lambda i: i + x, [x]), lambda: x),
        "branch_in": tf.while_loop(
            lambda i: i < 10.0, lambda i: tf.cond(i > 5.0, lambda: i + x, lambda: i + 1.0), [x]
        ),
        "after": after,
        "grown": grown[1],
    }


def rows(tf: Any) -> dict[str, Any]:
    x = tf.placeholder(tf.float32, [], name="x")
    tf.placeholder(tf.bool, [], name="p")
    y = tf.stack([x, x + 1.0, x + 2.0])
    m = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return {
        "map": tf.map_fn(lambda v: v * 2.0 + 1.0, y),
        "map_two": tf.map_fn(lambda t: t[0] + t[1], (m, m), dtype=tf.float32),
        "foldl": tf.foldl(lambda a, v: a * 0.5 + v, y),
        "foldr": tf.foldr(lambda a, v: a * 0.5 + v, m),
        "scan": tf.scan(lambda a, v: a + v, y),
        "scan_two": tf.scan(
            lambda a, v: (a[0] + v, a[1] * 2.0), m, initializer=(tf.zeros([2]), tf.constant(1.0))
        ),
    }


CASES: list[Build] = [conditionals, loops, rows]


def nodes(graph_def: Any) -> dict[str, Any]:
    return {
        node.name: (
            node.op,
            list(node.input),
            sorted(node.attr["_class"].list.s) if "_class" in node.attr else [],
            node.attr["frame_name"].s,
            node.attr["is_constant"].b,
        )
        for node in graph_def.node
    }


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_the_graph_is_tensorflows(build: Build) -> None:
    with real.Graph().as_default() as theirs:
        expected = build(real)
    with ours.Graph().as_default() as own:
        made = build(ours)
    assert nodes(own.as_graph_def()) == nodes(theirs.as_graph_def())
    for key, tensor in made.items():
        if isinstance(tensor, ours.Tensor):
            assert tensor.name == expected[key].name
            assert str(tensor.shape) == str(expected[key].shape)


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_the_values_are_tensorflows_also_for_its_client_on_our_server(build: Build, local: Cluster) -> None:
    with real.Graph().as_default():
        fetches = build(real)
        initialize = real.global_variables_initializer()
        with real.Session() as reference, real.Session(local.target("local")) as remote:
            for session in (reference, remote):
                session.run(initialize)
            for feeds in ({"x:0": x, "p:0": p} for x in (3.0, 0.5) for p in (True, False)):
                for key, fetch in fetches.items():
                    expected, got = reference.run(fetch, feeds), remote.run(fetch, feeds)
                    for a, b in zip(_leaves(expected), _leaves(got), strict=True):
                        np.testing.assert_array_equal(b, a, err_msg=f"{key} {feeds}")


def _leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def test_queues_of_tensorflows_client_on_our_server(local: Cluster) -> None:
    with real.Graph().as_default():
        fifo = real.FIFOQueue(10, [real.int32, real.string], shapes=[[], []])
        shuffled = real.RandomShuffleQueue(10, 2, real.int32, shapes=[[]], seed=3)
        accumulator = real.ConditionalAccumulator(real.float32, shape=[2])
        with real.Session(local.target("local")) as session:
            session.run(fifo.enqueue_many([[1, 2, 3], ["a", "b", "c"]]))
            numbers, letters = session.run(fifo.dequeue_many(2))
            assert (numbers.tolist(), letters.tolist()) == ([1, 2], [b"a", b"b"])
            session.run(fifo.close())
            with pytest.raises(real.errors.OutOfRangeError, match=r"requested 2, current size 1"):
                session.run(fifo.dequeue_many(2))
            session.run(shuffled.enqueue_many([[1, 2, 3, 4, 5, 6, 7]]))
            assert session.run(shuffled.dequeue_many(3)).tolist() == [2, 7, 1]
            session.run([accumulator.apply_grad([1.0, 3.0]), accumulator.apply_grad([3.0, 5.0])])
            assert session.run(accumulator.take_grad(2)).tolist() == [2.0, 4.0]
