"""Gradients of If, Case, While and For that programs make themselves, and control flow v2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.functions import functional_ops as ops
from tensorfleet.functions.defun import Defun
from tensorfleet.run.python import control_flow_util


@pytest.fixture
def functional() -> Iterator[None]:
    tf.enable_control_flow_v2()
    yield
    tf.disable_control_flow_v2()


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


@Defun(tf.float32)
def cube(x: Any) -> Any:
    return x * x * x


@Defun(tf.float32)
def twice(x: Any) -> Any:
    return x * 2.0


def _three_derivatives(y: Any, x: Any) -> list[Any]:
    [first] = tf.gradients(y, x)
    [second] = tf.gradients(first, x)
    return [y, first, second]


def test_if() -> None:
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    [y] = ops.If(p, [x], cube, twice)
    fetches = _three_derivatives(y, x)
    assert run(fetches, {x: 3.0, p: True}) == [27, 27, 18]
    assert run(fetches, {x: 3.0, p: False}) == [6, 2, 0]


def test_case() -> None:
    x, i = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    for function in (cube, twice):
        function.add_to_graph(tf.get_default_graph())
    [y] = tf.raw_ops.Case(branch_index=i, input=[x], Tout=[tf.float32], branches=[cube, twice])
    fetches = _three_derivatives(y, x)
    assert run(fetches, {x: 2.0, i: 0}) == [8, 12, 12]
    assert run(fetches, {x: 2.0, i: 7}) == [4, 2, 0]


@pytest.mark.parametrize("first", [True, False])
def test_while_with_its_counter_anywhere(first: bool) -> None:
    x = tf.placeholder(tf.float32, [])
    if first:
        cond = Defun(tf.int32, tf.float32)(lambda i, x: i < 3)
        body = Defun(tf.int32, tf.float32)(lambda i, x: (i + 1, x * x))
        y = ops.While([0, x], cond, body)[1]
    else:
        cond = Defun(tf.float32, tf.int32)(lambda x, i: i < 3)
        body = Defun(tf.float32, tf.int32)(lambda x, i: (x * x, i + 1))
        y = ops.While([x, 0], cond, body)[0]
    found = run(_three_derivatives(y, x), {x: 1.1})
    np.testing.assert_allclose(found, [1.1**8, 8 * 1.1**7, 56 * 1.1**6], rtol=1e-6)


def test_a_loop_keeps_a_value_once() -> None:
    """However often it is differentiated."""
    x = tf.placeholder(tf.float32, [])
    cond = Defun(tf.int32, tf.float32)(lambda i, x: i < 3)
    body = Defun(tf.int32, tf.float32)(lambda i, x: (i + 1, x * x))
    results = ops.While([0, x], cond, body)
    slopes = [tf.gradients(results[1] * factor, x)[0] for factor in (1.0, 2.0)]
    assert len(results[0].op.outputs) == 4  # with the number of turns, and a list of the values of x
    np.testing.assert_allclose(run(slopes, {x: 1.1}), [8 * 1.1**7, 16 * 1.1**7], rtol=1e-6)


def test_what_a_loop_captured() -> None:
    x, w = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    cond = Defun(tf.int32, tf.float32)(lambda i, x: i < 4)
    body = Defun(tf.int32, tf.float32)(lambda i, x: (i + 1, x * w))
    y = ops.While([0, x], cond, body)[1]
    np.testing.assert_allclose(run(tf.gradients(y, [x, w]), {x: 1.1, w: 2.0}), [16, 35.2], rtol=1e-6)


@pytest.mark.parametrize("as_while", [None, True])
def test_for(as_while: bool | None) -> None:
    x = tf.placeholder(tf.float32, [])
    body = Defun(tf.int32, tf.float32)(lambda i, x: x * x * tf.cast(i, tf.float32))
    [y] = ops.For(1, 4, 1, [x], body, rewrite_with_while=as_while)
    wanted = [12 * 1.1**8, 96 * 1.1**7, 672 * 1.1**6]
    np.testing.assert_allclose(run(_three_derivatives(y, x), {x: 1.1}), wanted, rtol=1e-6)


def test_in_functions_of_defun() -> None:
    """Where TensorFlow 1.15 says that If has no gradient."""
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])

    @Defun(tf.bool, tf.float32)
    def chosen(p: Any, x: Any) -> Any:
        return ops.If(p, [x], cube, twice)[0]

    fetches = _three_derivatives(chosen(p, x), x)
    assert run(fetches, {x: 3.0, p: True}) == [27, 27, 18]
    assert run(fetches, {x: 3.0, p: False}) == [6, 2, 0]


def test_after_an_import() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        cond = Defun(tf.int32, tf.float32)(lambda i, x: i < 3)
        body = Defun(tf.int32, tf.float32)(lambda i, x: (i + 1, x * x))
        tf.identity(ops.While([0, x], cond, body)[1], name="y")
    x, y = tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "y:0"])
    np.testing.assert_allclose(run(tf.gradients(y, x), {x: 1.1}), [8 * 1.1**7], rtol=1e-6)


def test_a_graph_with_gradients_is_imported_and_run() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        [y] = ops.If(x > 1, [x], cube, twice)
        tf.identity(_three_derivatives(y, x)[2], name="second")
    x, second = tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "second:0"])
    assert run(second, {x: 3.0}) == 18


def test_rows_of_a_variable_stay_rows(functional: None) -> None:
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0], use_resource=True)
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.reduce_sum(tf.gather(v, [0, 0]) ** 2), lambda: tf.constant(0.0))
    [slope] = tf.gradients(y, v)
    assert isinstance(slope, tf.IndexedSlices)
    taken, other = run(slope, {p: True}), run(slope, {p: False})
    assert taken.values.tolist() == [2, 2]
    assert taken.indices.tolist() == [0, 0]
    assert taken.dense_shape.tolist() == [3]
    assert other.values.tolist() == []
    assert other.dense_shape.tolist() == [3]


def test_the_flag_that_programs_set() -> None:
    x = tf.placeholder(tf.float32, [])
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = True
    try:
        assert tf.control_flow_v2_enabled()
        y = tf.cond(x > 0, lambda: x, lambda: -x)
    finally:
        control_flow_util.ENABLE_CONTROL_FLOW_V2 = False
    assert not tf.control_flow_v2_enabled()
    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert "StatelessIf" in types
    assert "Merge" not in types
    assert run(y, {x: -3.0}) == 3


def test_results_keep_their_structure(functional: None) -> None:
    x = tf.constant(1.0)
    assert isinstance(tf.cond(x > 0, lambda: [x], lambda: [-x]), list)
    assert set(tf.cond(x > 0, lambda: {"a": x, "b": (x, x)}, lambda: {"a": x, "b": (x, -x)})) == {"a", "b"}
    same = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True)
    assert run([same, tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])]) == [[3], 3]


def test_what_acts_in_a_branch_and_is_not_needed_does_not_run(functional: None) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    def changed() -> Any:
        v.assign_add(1.0)
        return tf.constant(1.0)

    results = tf.cond(v > 0, changed, lambda: tf.constant(2.0))
    needed = tf.cond(v > 0, lambda: v.assign_add(1.0).op, tf.no_op)
    read = []
    for result in (results, needed):
        with tf.control_dependencies([result]):
            read.append(v.read_value())
    assert [run(value) for value in read] == [1, 2]


def test_branches_and_turns_that_differ(functional: None) -> None:
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match="must have the same number, type, and overall structure"):
        tf.cond(x > 0, lambda: 1.0, lambda: 1)
    with pytest.raises(TypeError, match="must have the same number, type, and overall structure"):
        tf.cond(x > 0, lambda: (1.0, 2.0), lambda: 1.0)
    with pytest.raises(ValueError, match="but has shape \\(4,\\) after one iteration"):
        tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.ones([2])])
    with pytest.raises(TypeError, match="type should remain constant"):
        tf.while_loop(lambda x: True, lambda x: tf.cast(x, tf.int32), [tf.ones([2])])


def test_switches_in_a_function_are_told() -> None:
    @Defun(tf.float32)
    def loop(x: Any) -> Any:
        return tf.while_loop(lambda y: y < 9, lambda y: y * y, [tf.reshape(x, [])])

    x = tf.constant(2.0)
    [y] = ops.If(x > 0, [x], loop, twice)
    with pytest.raises(LookupError, match=r"Build it under tf.enable_control_flow_v2\(\)"):
        tf.gradients(y, x)
