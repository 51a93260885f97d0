"""`tf.debugging.enable_check_numerics` beside TensorFlow's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()
BOTH = pytest.mark.parametrize("tf", [fleet, real], ids=["fleet", "real"])


@pytest.fixture(autouse=True)
def switched_off() -> Iterator[None]:
    yield
    fleet.debugging.disable_check_numerics()
    real.debugging.disable_check_numerics()


def types(tf: Any, build: Callable[[Any], Any]) -> list[tuple[str, list[str]]]:
    with tf.Graph().as_default() as graph:
        build(tf)
        return [(op.type, [t.op.type for t in op.inputs]) for op in graph.get_operations()]


def _plain(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [2])
    tf.debugging.enable_check_numerics()
    tf.debugging.enable_check_numerics()
    y = tf.log(x) * tf.constant(2.0)
    tf.reshape(tf.cast(y, tf.int32), [2, 1])
    tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a / 2.0), [0, y])
    tf.debugging.disable_check_numerics()
    tf.debugging.disable_check_numerics()
    return y / 0.0


def _gradient(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [2])
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    tf.debugging.enable_check_numerics()
    return tf.gradients(tf.reduce_sum(w * x), [w])


@pytest.mark.parametrize("build", [_plain, _gradient])
def test_graphs_get_the_same_checks(build: Callable[[Any], Any]) -> None:
    assert types(fleet, build) == types(real, build)


@BOTH
def test_a_step_fails_that_makes_a_nan(tf: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.debugging.enable_check_numerics()
        x = tf.placeholder(tf.float32, [2])
        y = tf.reduce_sum(tf.log(x, name="here"))
        tf.debugging.disable_check_numerics()
        unchecked = tf.log(x)
        assert session.run(y, {x: [1, 1]}) == 0
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y, {x: [0, 1]})
        assert 'Detected Infinity or NaN in output 0 of graph op "Log"' in caught.value.message
        assert "test_check_numerics" in caught.value.message
        with pytest.raises(tf.errors.InvalidArgumentError, match="Placeholder"):
            session.run(y, {x: [float("nan"), 1]})
        assert session.run(unchecked, {x: [0, 1]})[0] == -float("inf")


@BOTH
def test_what_graphs_have_none_of(tf: Any) -> None:
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError):
            tf.test.experimental.sync_devices()
        with pytest.raises(RuntimeError, match="No default"):
            tf.summary.initialize()
