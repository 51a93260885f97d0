"""Parts of a graph chosen, copied and rewired; gradients that compute activations anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

ge = tf.contrib.graph_editor


@pytest.fixture
def chain() -> tuple[Any, ...]:
    """a → b → c → d, and e beside c."""
    a = tf.constant([1.0, 2.0], name="a")
    with tf.name_scope("inner"):
        b = tf.multiply(a, 2.0, name="b")
        c = tf.add(b, 1.0, name="c")
    d = tf.negative(c, name="d")
    e = tf.square(b, name="e")
    return a, b, c, d, e


def names(ops: Any) -> set[str]:
    return {op.name for op in ops if op.type != "Const"}


def run(*tensors: Any) -> list[Any]:
    with tf.Session() as session:
        return [value.tolist() for value in session.run(list(tensors))]


def test_walks_and_names(chain: Any) -> None:
    a, b, c, d, e = chain
    graph = tf.get_default_graph()
    assert names(ge.get_backward_walk_ops(d.op)) == {"d", "inner/c", "inner/b"}
    assert names(ge.get_backward_walk_ops([d], stop_at_ts=[b])) == {"d", "inner/c"}
    assert names(ge.get_backward_walk_ops(d.op, inclusive=False, within_ops=[d.op, c.op])) == {"inner/c"}
    assert names(ge.get_forward_walk_ops([a])) == {"inner/b", "inner/c", "d", "e"}
    assert names(ge.get_walks_intersection_ops([b], [d])) == {"inner/c", "d"}
    assert names(ge.get_name_scope_ops(graph, "inner")) == {"inner/b", "inner/c"}
    assert names(ge.select_ops("^inner/b$", "d", d.op, graph=graph)) == {"inner/b", "d"}
    assert set(ge.filter_ts_from_regex([c.op, d.op], "^inner/[bc]:")) == {b, c}
    assert set(ge.filter_ts([d.op], True)) == {c, d}
    assert ge.get_consuming_ops([b]) == [c.op, e.op]
    with pytest.raises(ValueError, match="keyword argument 'graph'"):
        ge.select_ops("inner")
    with pytest.raises(TypeError, match="operation or tensor"):
        ge.make_list_of_op([3])


def test_views_have_what_crosses_their_border(chain: Any) -> None:
    _, b, c, d, _ = chain
    view = ge.sgv([c.op, d.op])
    assert (b in view.inputs, view.outputs, len(view.ops)) == (True, [d], 2)
    assert ge.sgv_scope("inner", tf.get_default_graph()).outputs == [b, c]
    assert view.remap_outputs([]).outputs == []
    assert view.find_op_by_name("d") is d.op


def test_copies_with_other_inputs(chain: Any) -> None:
    _, b, c, d, _ = chain
    copied, info = ge.copy_with_input_replacements(
        ge.sgv([c.op, d.op]), {b: tf.constant([5.0, 6.0])}, dst_scope="new"
    )
    assert copied.outputs == [info.transformed(d)]
    assert info.transformed(c).name == "new/inner/c:0"
    assert info.original(info.transformed(d.op)) is d.op
    assert run(d, copied.outputs[0]) == [[-3.0, -5.0], [-6.0, -7.0]]
    assert run(ge.graph_replace(d, {b: b * 10.0})) == [[-21.0, -41.0]]
    assert run(*ge.graph_replace([d, c], {c: tf.constant([1.0, 1.0])})) == [[-1.0, -1.0], [1.0, 1.0]]
    other = tf.Graph()
    moved, _ = ge.copy(ge.sgv([c.op, d.op]), other)
    assert [op.graph is other for op in moved.ops] == [True, True]
    assert all(t.op.type == "Placeholder" for t in moved.inputs)
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    with pytest.raises(ValueError, match="loop"):
        ge.copy(ge.sgv(ge.get_backward_walk_ops(loop.op)))


def test_operations_get_other_inputs(chain: Any) -> None:
    a, b, c, d, e = chain
    assert ge.reroute_ts([a], [b], can_modify=[c.op]) == 1
    assert run(d, e) == [[-2.0, -3.0], [4.0, 16.0]]
    assert ge.swap_ts([c], [e]) == 1
    assert run(d) == [[-4.0, -16.0]]
    ge.add_control_inputs(d.op, [c.op])
    assert d.op.control_inputs == [c.op]
    ge.remove_control_inputs(d.op, c.op)
    with pytest.raises(ValueError, match="not a control_input"):
        ge.remove_control_inputs(d.op, c.op)
    view, made = ge.detach_inputs(ge.sgv([d.op]))
    with tf.Session() as session:
        assert session.run(view.outputs[0], {made[0]: [7.0, 8.0]}).tolist() == [-7.0, -8.0]


def recomputing_gradients(ys: Any, xs: Any, checkpoints: list[Any]) -> Any:
    """Gradients that compute the activations between checkpoints a second time."""
    before = set(tf.get_default_graph().get_operations())
    forward = ge.get_forward_walk_ops([x.value().op.inputs[0] for x in xs], inclusive=True)
    ops = [op for op in ge.get_backward_walk_ops([ys.op], inclusive=True) if op in set(forward)]
    stopped = {point: tf.stop_gradient(point) for point in checkpoints}
    kept = {point.op for point in checkpoints}
    copied, info = ge.copy_with_input_replacements(ge.sgv([op for op in ops if op not in kept]), stopped)
    assert {op.type for op in copied.ops} >= {"MatMul", "Tanh"}
    ge.reroute_ts(stopped.values(), stopped.keys(), can_modify=list(info._transformed_ops.values()))
    gradients = tf.gradients(ys, xs)
    new = [op for op in tf.get_default_graph().get_operations() if op not in before]
    again = [(t, info.transformed(t)) for op in ops if op not in kept for t in op.outputs]
    taken = [op for op in new if op.name.startswith("gradients")]
    for old, recomputed in again:
        ge.reroute_ts([recomputed], [old], can_modify=taken)
    return gradients


def test_gradients_by_recomputed_activations() -> None:
    rng = np.random.default_rng(0)
    hidden = tf.constant(rng.normal(size=(2, 3)), tf.float32)
    weights, points = [], []
    for layer in range(4):
        with tf.variable_scope(f"layer{layer}", use_resource=True):
            weights.append(tf.get_variable("w", initializer=tf.constant(rng.normal(size=(3, 3)), tf.float32)))
            hidden = tf.tanh(tf.matmul(hidden, weights[-1]))
        if layer == 1:
            points.append(hidden)
    loss = tf.reduce_sum(hidden)
    expected = tf.gradients(loss, weights)
    found = recomputing_gradients(loss, weights, points)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for one, other in zip(*session.run([expected, found]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
