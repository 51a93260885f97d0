"""Conditionals and loops as programs write them: what they give, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.ops.control_flow import control_flow_nodes

pytest.importorskip("tensorfleet_service")


def value_of(tensor: Any, feeds: dict[Any, Any] | None = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor, feeds or {})


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_only_the_branch_that_is_taken_changes_variables() -> None:
    p = tf.placeholder(tf.bool, [])
    a, b = tf.Variable(0), tf.Variable(0)
    step = tf.cond(p, lambda: tf.assign_add(a, 1), lambda: tf.assign_add(b, 10))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for taken, expected in ((True, [1, 0]), (False, [1, 10]), (True, [2, 10])):
            session.run(step, {p: taken})
            assert session.run([a, b]) == expected


def test_structures_and_strictness() -> None:
    p = tf.placeholder(tf.bool, [])
    nested = tf.cond(p, lambda: {"a": tf.constant(1), "b": [tf.constant(2.0)]}, lambda: {"a": 3, "b": [4.0]})
    assert value_of(nested, {p: True}) == {"a": 1, "b": [2.0]}
    assert value_of(nested, {p: False}) == {"a": 3, "b": [4.0]}
    assert isinstance(tf.cond(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)]), tf.Tensor)
    assert isinstance(tf.cond(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True), list)


def test_what_cond_refuses() -> None:
    p = tf.placeholder(tf.bool, [])
    with pytest.raises(TypeError, match="must not be a Python bool"):
        tf.cond(True, lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="'true_fn' must be callable"):
        tf.cond(p, 1, lambda: 2)
    with pytest.raises(ValueError, match="'false_fn' must have a return value"):
        tf.cond(p, lambda: 1, lambda: None)
    with pytest.raises(ValueError, match="must have the same type"):
        tf.cond(p, lambda: 1, lambda: 2.0)
    with pytest.raises(ValueError, match="Incompatible return values"):
        tf.cond(p, lambda: [1, 2], lambda: 3)


def test_a_tensor_of_a_branch_cannot_be_fetched() -> None:
    made = []

    def branch() -> Any:
        made.append(tf.constant(1) + 1)
        return made[0]

    p = tf.placeholder(tf.bool, [])
    tf.cond(p, branch, lambda: 0)
    with tf.Session() as session, pytest.raises(ValueError, match="not fetchable"):
        session.run(made[0], {p: True})


def test_loops_in_branches_and_branches_in_loops() -> None:
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    inside = tf.cond(p, lambda: tf.while_loop(lambda i: i < 10.0, lambda i: i + x, [x]), lambda: -x)
    assert value_of(inside, {x: 3.0, p: True}) == 12.0
    assert value_of(inside, {x: 3.0, p: False}) == -3.0
    steps = tf.while_loop(
        lambda i, n: i < 10.0,
        lambda i, n: (tf.cond(i > 5.0, lambda: i + x, lambda: i + 1.0), n + 1),
        [tf.constant(0.0), 0],
    )
    assert value_of(steps, {x: 3.0}) == (12.0, 8)


def test_a_loop_uses_variables_and_changes_them() -> None:
    v = tf.Variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 2.0)]):
            return i + 1

    end = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(end) == 5
        assert session.run(v) == 11.0


def test_shapes_that_grow_need_an_invariant() -> None:
    def grow(i: Any, m: Any) -> Any:
        return i + 1, tf.concat([m, m], 0)

    with pytest.raises(ValueError, match=r"enters the loop with shape \(1, 2\), but has shape \(2, 2\)"):
        tf.while_loop(lambda i, m: i < 3, grow, [0, tf.ones([1, 2])])
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    _, grown = tf.while_loop(lambda i, m: i < 3, grow, [0, tf.ones([1, 2])], shape_invariants=shapes)
    assert grown.shape.as_list() == [None, 2]
    assert value_of(grown).shape == (8, 2)


def test_a_loop_ends_after_its_maximum() -> None:
    assert value_of(tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=7)) == 7
    with pytest.raises(TypeError, match="positive integer"):
        tf.while_loop(lambda i: i < 1, lambda i: i, [0], parallel_iterations=0)


def test_case_takes_the_first_that_holds() -> None:
    x = tf.placeholder(tf.int32, [])
    pairs = [(x < 1, lambda: tf.constant(10)), (x < 5, lambda: tf.constant(20))]
    chosen = tf.case(pairs, default=lambda: tf.constant(30))
    assert [value_of(chosen, {x: n}) for n in (0, 3, 7)] == [10, 20, 30]
    exclusive = tf.case(pairs, default=lambda: tf.constant(30), exclusive=True)
    assert [value_of(exclusive, {x: n}) for n in (3, 7)] == [20, 30]
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
        value_of(exclusive, {x: 0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
        value_of(tf.case(pairs), {x: 7})


def test_functions_over_rows() -> None:
    x = tf.placeholder(tf.float32, [None])
    feeds = {x: [1.0, 2.0, 3.0]}
    assert value_of(tf.map_fn(lambda v: v * v, x), feeds).tolist() == [1.0, 4.0, 9.0]
    assert value_of(tf.map_fn(lambda v: (v, v > 1.5), x, dtype=(tf.float32, tf.bool)), feeds)[1].tolist() == [
        False,
        True,
        True,
    ]
    assert value_of(tf.foldl(lambda a, v: a * 10 + v, x), feeds) == 123.0
    assert value_of(tf.foldr(lambda a, v: a * 10 + v, x), feeds) == 321.0
    assert value_of(tf.scan(lambda a, v: a + v, x), feeds).tolist() == [1.0, 3.0, 6.0]
    assert value_of(tf.scan(lambda a, v: a + v, x, reverse=True), feeds).tolist() == [6.0, 5.0, 3.0]
    assert value_of(tf.map_fn(lambda v: v + 1, x), {x: np.zeros(0, np.float32)}).shape == (0,)


def test_tensor_arrays_hold_what_was_written() -> None:
    array = tf.TensorArray(tf.int32, 2, dynamic_size=True).write(0, 5).write(3, 8).write(1, 6).write(2, 7)
    assert value_of(array.stack()).tolist() == [5, 6, 7, 8]
    assert value_of(array.size()) == 4
    fixed = tf.TensorArray(tf.int32, 2)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Tried to write to index 2 but array is not resizeable"
    ):
        value_of(fixed.write(2, 1).flow)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has already been written to"):
        value_of(fixed.write(0, 1).write(0, 2).flow)


def test_an_initialized_value_is_the_variable_or_its_initial_value() -> None:
    v = tf.Variable(3.0)
    value = v.initialized_value()
    with tf.Session() as session:
        assert session.run(value) == 3.0
        session.run(v.initializer)
        session.run(tf.assign(v, 4.0))
        assert session.run(value) == 4.0


def test_assertions_hold_on_the_branch_that_is_taken_and_in_each_iteration() -> None:
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])

    def checked(value: Any) -> Any:
        with tf.control_dependencies([tf.Assert(value < 3.0, ["too large:", value])]):
            return tf.identity(value)

    y = tf.cond(p, lambda: checked(x), lambda: -x)
    assert value_of(y, {x: 5.0, p: False}) == -5.0
    assert value_of(y, {x: 2.0, p: True}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[too large:\] \[5\]"):
        value_of(y, {x: 5.0, p: True})
    last = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, checked(a + x)), [0, 0.0])[1]
    assert value_of(last, {x: 0.5}) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[too large:\] \[4\]"):
        value_of(last, {x: 2.0})


def test_a_gradient_that_does_not_exist_names_op_and_line_in_loops_too() -> None:
    x = tf.constant([3.0, 1.0, 3.0])

    def body(i: Any, a: Any) -> Any:
        return i + 1, a + tf.bitcast(a, tf.float32, name="unknown")

    y = tf.while_loop(lambda i, _: i < 2, body, [0, x])[1]
    with pytest.raises(
        LookupError, match=r"'while/unknown' \(op type: Bitcast\), made at .*test_control_flow"
    ) as e:
        tf.gradients(y, x)
    assert "tf.bitcast(a, tf.float32" in str(e.value)


def test_a_tensor_of_a_loop_is_not_used_outside_of_it() -> None:
    inside: dict[str, Any] = {}

    def body(i: Any) -> Any:
        inside["x"] = tf.add(i, 1, name="x")
        return inside["x"]

    tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(
        ValueError, match="Cannot use 'while/x' as input to 'y' because 'while/x' is in a while"
    ):
        tf.add(inside["x"], 1, name="y")
    with pytest.raises(ValueError, match="because they are in different while loops"):
        tf.while_loop(lambda i: i < 3, lambda i: i + inside["x"], [0])
    p = tf.placeholder(tf.bool)
    with pytest.raises(ValueError, match="is in a while loop"):
        tf.cond(p, lambda: inside["x"] + 1, lambda: tf.constant(1))


def test_a_tensor_of_a_branch_or_of_an_outer_loop_is_used() -> None:
    kept: dict[str, Any] = {}

    def branch() -> Any:
        kept["x"] = tf.constant(5)
        return kept["x"]

    def outer(i: Any, total: Any) -> Any:
        double = i * 2
        return i + 1, tf.while_loop(lambda j: j < 10, lambda j: j + double + 1, [total])

    p = tf.placeholder(tf.bool)
    tf.cond(p, branch, lambda: tf.constant(1))
    assert value_of(tf.while_loop(lambda i, total: i < 3, outer, [0, 0])[1]) == 10
    tf.add(kept["x"], 1)


def test_slices_of_branches_may_differ_in_the_dtype_of_indices() -> None:
    p = tf.placeholder(tf.bool)
    values = tf.constant([10.0])
    result = tf.cond(
        p,
        lambda: [tf.IndexedSlices(values, tf.constant([3])), tf.constant(1.0)],
        lambda: [tf.IndexedSlices(values * 2, tf.constant([4], tf.int64)), tf.constant(2.0)],
    )
    assert result[0].indices.dtype is tf.int64
    for taken, expected in ((True, ([10.0], [3])), (False, ([20.0], [4]))):
        found = value_of(result[0], {p: taken})
        assert (found.values.tolist(), found.indices.tolist()) == expected
    with pytest.raises(ValueError, match="same type"):
        tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(1, tf.int64))


def test_rows_whose_indices_have_two_dtypes_are_merged_in_gradients() -> None:
    with tf.Graph().as_default():
        table = tf.Variable(tf.ones([4, 2]))
        flag = tf.placeholder(tf.bool, [])
        rows = tf.nn.embedding_lookup(table, tf.constant([1, 2]))
        both = tf.cond(
            flag, lambda: rows * 1.0, lambda: tf.nn.embedding_lookup(table, tf.constant([3], tf.int64))
        )
        grad = tf.gradients(both, table)[0]
        seen = control_flow_nodes.merge([rows_of(tf.int32), rows_of(tf.int64)])[0]
        assert seen.indices.dtype == tf.int64
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for value, wanted in ((True, [0, 1, 1, 0]), (False, [0, 0, 0, 1])):
                found = session.run(tf.convert_to_tensor(grad), {flag: value})
                assert found[:, 0].tolist() == wanted


def rows_of(dtype: tf.DType) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0], dtype), tf.constant([4, 2]))
