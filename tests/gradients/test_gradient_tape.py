"""tf.GradientTape in graphs, and tf.vectorized_map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_and_watched_tensors(use_resource: bool) -> None:
    w = tf.Variable(3.0, use_resource=use_resource)
    fixed = tf.Variable(2.0, trainable=False, use_resource=use_resource)
    x, other = tf.constant(4.0), tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = w * w * x * other * fixed
    found = tape.gradient(y, {"w": w, "rest": [x, other, fixed]})
    assert found["rest"][1:] == [None, None]
    assert run([found["w"], found["rest"][0]]) == [240.0, 90.0]
    assert tape.watched_variables() == (w,)


def test_what_is_outside_of_the_block_is_constant() -> None:
    x = tf.constant(3.0)
    before = x * x
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        inside = x * before
        with tape.stop_recording():
            unseen = x * 7.0
        y = inside * 2.0 + unseen
    # Not 3x², as the square was built before.
    assert run(tape.gradient(y, x)) == 18.0
    assert run(tape.gradient(y, inside)) == 2.0
    assert tape.gradient(unseen, x) is None
    zero = tape.gradient(unseen, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert run(zero) == 0.0
    assert run(tape.gradient([y, inside], x, output_gradients=[1.0, 10.0])) == 18.0 + 90.0


def test_tapes_in_tapes_give_second_derivatives() -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        first = inner.gradient(y, x)
    assert run([first, outer.gradient(first, x)]) == [12.0, 12.0]


def test_jacobians() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.matmul(x, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * [[1.0, 1.0, 2.0]]
        z = tf.reduce_sum(y, 1)
    m = np.array([[1.0, 2.0, 6.0], [4.0, 5.0, 12.0]])
    full = np.einsum("ab,ji->aibj", np.eye(2), m)
    np.testing.assert_allclose(run(tape.jacobian(y, x)), full)
    np.testing.assert_allclose(run(tape.batch_jacobian(y, x)), [m.T, m.T])
    np.testing.assert_allclose(run(tape.jacobian(z, [x])[0]), full.sum(1))
    with tf.GradientTape() as once:
        once.watch(x)
        y = x * x
    assert run(once.jacobian(y, x)).shape == (2, 2, 2, 2)


def test_a_tape_is_used_once() -> None:
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, x)
    with pytest.raises(ValueError, match="still recording"), tape, tape:
        pass
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
    with pytest.raises(ValueError, match=r"not tf\.Tensor"):
        tape.watch(1.0)


def test_functions_of_rows() -> None:
    rows = tf.placeholder(tf.float32, [None, 2])

    def function(pair: Any) -> Any:
        row, number = pair
        return {"sum": tf.reduce_sum(row) * 2.0, "positive": row > 0.0, "index": number}

    result = tf.vectorized_map(function, (rows, tf.constant([7, 8])))
    [gradient] = tf.gradients(result["sum"], rows)
    with tf.Session() as session:
        found, slope = session.run([result, gradient], {rows: [[1.0, 2.0], [-3.0, 4.0]]})
    assert found["sum"].tolist() == [6.0, 2.0]
    assert found["positive"].tolist() == [[True, True], [False, True]]
    assert found["index"].tolist() == [7, 8]
    assert slope.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert result["sum"].shape.as_list() == [2]
