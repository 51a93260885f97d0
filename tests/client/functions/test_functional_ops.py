"""If, While, For, gradients and calls of functions, on this process's devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.functions import functional_ops as ops
from tensorfleet.functions.defun import Defun


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


@Defun(tf.float32)
def twice(x: Any) -> Any:
    return x * 2.0


@Defun(tf.float32)
def thrice(x: Any) -> Any:
    return x * 3.0


@pytest.mark.parametrize(
    ("condition", "result"), [(True, 2), (0, 3), (7, 2), ("", 3), ("x", 2), (np.zeros([0]), 3), ([0, 0], 2)]
)
def test_if_takes_conditions_of_all_kinds(condition: Any, result: float) -> None:
    assert run(ops.If(tf.constant(condition), [1.0], twice, thrice)) == [result]


def test_while_hands_on_what_its_body_captured() -> None:
    n = tf.constant(7.0)

    @Defun(tf.int32, tf.float32)
    def below(i: Any, x: Any) -> Any:
        return i < 5

    @Defun(tf.int32, tf.float32)
    def body(i: Any, x: Any) -> Any:
        return i + 1, x * n

    results = ops.While([0, 1.0], below, body)
    assert len(results) == 2
    assert run(results) == [5, 7**5]
    captures = Defun(tf.int32, tf.float32)(lambda i, x: x < n)
    with pytest.raises(ValueError, match="can not have implicitly captured inputs"):
        ops.While([0, 1.0], captures, body)
    with pytest.raises(ValueError, match="signatures do not match"):
        ops.While([0, 1.0], Defun(tf.int32)(lambda i: i < 5), body)


@pytest.mark.parametrize("as_while", [None, True])
@pytest.mark.parametrize(("bounds", "result"), [((0, 5, 1), 71), ((5, 0, -2), 64), ((3, 3, 1), 1)])
def test_for_goes_up_and_down(as_while: bool | None, bounds: tuple[int, int, int], result: float) -> None:
    n = tf.constant(7.0)

    @Defun(tf.int32, tf.float32)
    def body(i: Any, x: Any) -> Any:
        return x + tf.cast(i, tf.float32) * n

    assert run(ops.For(*bounds, [1.0], body, rewrite_with_while=as_while)) == [result]


def test_symbolic_gradients() -> None:
    @Defun(tf.float32, tf.float32)
    def product(x: Any, y: Any) -> Any:
        return x * y, tf.exp(x)

    found = ops.symbolic_gradient([3.0, 4.0, 2.0, 0.0], [tf.float32] * 2, product)
    assert run(found) == [8, 6]
    assert run(ops.Gradient([3.0, 4.0, 1.0, 0.0], product)) == [4, 3]
    with pytest.raises(ValueError, match=r"len\(inputs\) < len\(outputs\)"):
        ops.symbolic_gradient([3.0], [tf.float32] * 2, product)


def test_partitioned_calls() -> None:
    offset = tf.constant(10.0)

    @Defun(tf.float32)
    def shifted(x: Any) -> Any:
        return x + offset

    assert run(ops.partitioned_call([1.0], shifted)) == [11]
    assert run(ops.partitioned_call([1.0, *shifted.captured_inputs], shifted)) == [11]
    noisy = Defun(tf.float32)(lambda x: x + tf.random_uniform([]))
    assert ops.partitioned_call([1.0], noisy)[0].op.type == "StatefulPartitionedCall"


def test_remote_calls_on_this_device_may_have_targets_that_are_fed() -> None:
    target = tf.placeholder(tf.string, [])
    [y] = ops.remote_call([4.0], [tf.float32], twice, target)
    assert run(y, {target: "/device:CPU:0"}) == 8
    with pytest.raises(tf.errors.UnimplementedError, match="/job:other, is another device"):
        run(y, {target: "/job:other"})
    with pytest.raises(tf.errors.InvalidArgumentError, match="The target of RemoteCall"):
        run(y, {target: "/no device"})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
        run(ops.remote_call([4.0], [tf.float32], twice, "/job:other"))


def test_what_names_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="'f' expects a function"):
        ops.symbolic_gradient([1.0, 1.0], [tf.float32], 5)


def test_calls_in_conditionals_and_loops() -> None:
    """With effects, which happen as often as the call is reached; what waits for them sees them."""
    v: Any = tf.Variable(0.0, use_resource=True)
    x = tf.placeholder(tf.float32, [])

    @Defun(tf.float32)
    def added(a: Any) -> Any:
        with tf.control_dependencies([v.assign_add(a)]):
            return tf.constant(5.0)

    chosen = tf.cond(x > 0, lambda: added(x), lambda: x)
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.reshape(added(a), [])), [0, 1.0])
    doubled = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.reshape(twice(a), [])), [0, x])[1]
    with tf.control_dependencies([added(100.0).op]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(chosen, {x: 1}) == 5
        assert session.run(v) == 1
        assert session.run(chosen, {x: -1}) == -1
        assert session.run(v) == 1
        assert session.run(loop) == (3, 5)
        assert session.run(v) == 12
        assert session.run([doubled, *tf.gradients(doubled, x)], {x: 3}) == [24, 8]
        assert session.run(after) == 112


def test_loops_and_conditionals_in_functions() -> None:
    @Defun(tf.float32, tf.int32)
    def power(x: Any, n: Any) -> Any:
        y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * tf.reshape(x, [])), [0, 1.0])[1]
        return tf.cond(n > 2, lambda: y, lambda: -y)

    @Defun(tf.float32)
    def both(x: Any) -> Any:
        return power(x, 3) + power(x, 2)

    x = tf.constant(2.0)
    assert run([both(x), power(both(x), 2)]) == [4, -16]
