"""The gradient of an activation whose output has two uses: the sum of their gradients in the same pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tests.service.executor.test_patterns import found, results
from tests.service.executor.test_pooling_patterns import count_calls

VALUES = "a = Placeholder()\nb = Placeholder()\nx = Placeholder()\n"
SUM = "s = AddN(a, b) N=2\n"


@pytest.mark.parametrize("op", ["ReluGrad", "EluGrad"])
def test_sum_and_gradient_are_one_pattern(op: str) -> None:
    assert found(f"{VALUES}{SUM}z = {op}(s, x)") == ["s z"]
    assert found(f"{VALUES}{SUM}z = {op}(s, x)", marked=False) == []


@pytest.mark.parametrize(
    "text",
    [
        SUM + "z = ReluGrad(x, s)",
        SUM + "n = NoOp(^s)\nz = ReluGrad(s, x)",
        SUM + "n = Identity(s)\nz = ReluGrad(s, x)",
        "s = AddN(a, b, x) N=3\nz = ReluGrad(s, x)",
        SUM + "v = VariableV2()\nu = AssignAdd(v, a)\nz = ReluGrad(s, x)",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert found(VALUES + text) == []


def test_a_sum_that_is_a_pattern_of_its_own_stays_one() -> None:
    products = "p = MatMul(a, b)\nq = MatMul(b, a)\ns = AddN(p, q) N=2\n"
    assert found(VALUES + products + "z = ReluGrad(s, x)") == ["p q s"]


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-42, 3e38])


@pytest.mark.parametrize("activation", ["relu", "elu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [10, 40_000])
def test_values_are_those_of_the_nodes(
    activation: str, dtype: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_calls(monkeypatch)
    generator = np.random.default_rng(count)
    values = [generator.standard_normal((count // 10, 10)).astype(dtype) for _ in range(3)]
    for array in values:
        array.reshape(-1)[generator.integers(0, count, 5)] = generator.choice(SPECIAL, 5)
    with tf.Graph().as_default():
        x, first, second = (tf.placeholder(dtype, [None, 10]) for _ in range(3))
        y = getattr(tf.nn, activation)(x)
        # What comes from feeds is no elementwise group of its own, as a gradient of a convolution is not.
        gradient = tf.gradients([tf.identity(y), tf.reshape(y, [-1])], x, [first, tf.reshape(second, [-1])])[
            0
        ]
        feed = dict(zip((x, first, second), values, strict=True))
        one, other = (results([gradient], feed, fuses)[0] for fuses in (True, False))
    assert len(calls) == 1
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)
    numbers = ~np.isnan(other)
    assert one[numbers].tobytes() == other[numbers].tobytes()


@pytest.mark.parametrize("fuses", [True, False])
def test_gradients_of_other_shapes_are_refused(fuses: bool) -> None:
    with tf.Graph().as_default():
        x, first, second = (tf.placeholder(tf.float32) for _ in range(3))
        y = tf.nn.relu(x)
        gradient = tf.gradients([tf.identity(y), tf.identity(y, "other")], x, [first, second])[0]
        feed = {x: np.ones((300, 200)), first: np.ones((300, 200)), second: np.ones((1, 200))}
        with pytest.raises(errors.InvalidArgumentError, match="must have the same size and shape"):
            results([gradient], feed, fuses)
