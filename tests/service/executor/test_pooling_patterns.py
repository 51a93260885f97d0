"""The gradient of a rectifier and that of max pooling after it, computed together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet_service.executor import patterns
from tests.service.executor.test_patterns import found, results

IMAGES = "x = Placeholder()\ny = Placeholder()\np = Placeholder()\ng = Placeholder()\n"
POOLING = "m = MaxPoolGrad(x, p, g) ksize=[1,2,2,1] strides=[1,2,2,1] padding=VALID\n"
RECTIFIER = "z = ReluGrad(m, x)"


def test_the_gradients_are_one_pattern() -> None:
    assert found(IMAGES + POOLING + RECTIFIER) == ["m z"]
    assert found(IMAGES + POOLING + RECTIFIER, marked=False) == []


@pytest.mark.parametrize(
    "text",
    [
        POOLING + "z = ReluGrad(m, y)",  # of a rectifier elsewhere
        POOLING + "z = ReluGrad(x, m)",
        POOLING + "n = Neg(m)\n" + RECTIFIER,
        POOLING + "n = NoOp(^m)\n" + RECTIFIER,
        POOLING + "v = VariableV2()\nu = AssignAdd(v, g)\n" + RECTIFIER,
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert found(IMAGES + text) == []


def test_half_precision_is_left_alone() -> None:
    text = IMAGES.replace("()", "() dtype=float16") + POOLING.replace("g)", "g) T=float16") + RECTIFIER
    assert found(text + " T=float16") == []


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each call of a pattern's function, whether it computed."""
    calls: list[bool] = []
    original = patterns._Together.__call__

    def call(self: patterns._Together, *values: Any) -> tuple[Any, ...] | None:
        result = original(self, *values)
        calls.append(result is not None)
        return result

    monkeypatch.setattr(patterns._Together, "__call__", call)
    return calls


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_values_are_those_of_the_nodes(data: st.DataObject) -> None:
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    shape = data.draw(
        st.tuples(st.integers(0, 3), st.integers(2, 9), st.integers(2, 9), st.integers(1, 20))
        | st.just((4, 33, 31, 40))
    )
    window, stride = data.draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    padding = data.draw(st.sampled_from(["SAME", "VALID"]))
    x = generator.standard_normal(shape).astype(dtype)
    if data.draw(st.booleans()):
        x = np.round(x)  # equal maxima, and zeros
    if data.draw(st.booleans()):
        x[generator.random(shape) < 0.1] = data.draw(st.sampled_from(SPECIAL))
    with tf.Graph().as_default():
        images = tf.placeholder(dtype, [None, None, None, shape[3]])
        pooled = tf.nn.max_pool(
            tf.nn.relu(images), [1, window, window, 1], [1, stride, stride, 1], padding=padding
        )
        dy = tf.placeholder(dtype, [None, None, None, None])
        gradient = tf.gradients(pooled, images, dy)[0]
        size = results([tf.shape(pooled)], {images: x}, True)[0]
        dys = generator.standard_normal(size).astype(dtype)
        if data.draw(st.booleans()):
            dys[generator.random(size) < 0.1] = data.draw(st.sampled_from(SPECIAL))
        one, other = (results([gradient], {images: x, dy: dys}, fuses)[0] for fuses in (True, False))
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other)
    # But for the signs of zeros, the bits are the same.
    numbers = ~np.isnan(other)
    assert (one + dtype(0))[numbers].tobytes() == (other + dtype(0))[numbers].tobytes()


@pytest.mark.parametrize("shape", [(1, 2, 2, 1), (4, 33, 31, 40)])
def test_a_gradient_that_is_no_number_reaches_a_pixel_that_is_none(shape: tuple[int, ...]) -> None:
    x, dys = np.ones(shape, np.float32), np.ones(shape, np.float32)
    x.flat[:4] = np.nan
    dys.flat[:3] = np.nan, np.inf, 2.0
    with tf.Graph().as_default():
        images, dy = (tf.placeholder(tf.float32, shape) for _ in range(2))
        pooled = tf.nn.max_pool(tf.nn.relu(images), [1, 1, 1, 1], [1, 1, 1, 1], padding="SAME")
        gradient = tf.gradients(pooled, images, dy)[0]
        for fuses in (True, False):
            found = results([gradient], {images: x, dy: dys}, fuses)[0]
            np.testing.assert_array_equal(found.flat[:4], [np.nan, np.nan, 0.0, 0.0])


def test_they_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch)
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, 4, 4, 1])
        pooled = tf.nn.max_pool(tf.nn.relu(images), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        gradient = tf.gradients(pooled, images)[0]
        feed = {images: np.arange(-8, 8, dtype=np.float32).reshape(1, 4, 4, 1)}
        expected = np.zeros((4, 4), np.float32)
        expected[3, 1] = expected[3, 3] = 1  # the maxima of the upper windows are below 0
        for fuses in (True, False):
            np.testing.assert_array_equal(results([gradient], feed, fuses)[0][0, :, :, 0], expected)
        assert calls == [True]


def test_a_rectifier_stays_with_the_elementwise_ops_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch)
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, 4, 4, 1])
        pooled = tf.nn.max_pool(tf.nn.relu(images * 2.0), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        gradient = tf.gradients(pooled, images)[0]
        feed = {images: np.ones((1, 4, 4, 1), np.float32)}
        assert results([gradient], feed, True)[0].sum() == 8.0
        assert calls == []


def test_errors_name_the_op_that_refuses() -> None:
    with tf.Graph().as_default():
        x, p, g = (tf.placeholder(tf.float32) for _ in range(3))
        pooling = tf.raw_ops.MaxPoolGrad(
            orig_input=x,
            orig_output=p,
            grad=g,
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="VALID",
            name="pooling",
        )
        gradient = tf.raw_ops.ReluGrad(gradients=pooling, features=x, name="rectifier")
        ones = np.ones((1, 4, 4, 1), np.float32)
        with tf.Session() as session:
            fit = {x: ones, p: ones[:, :2, :2], g: ones[:, :2, :2]}
            assert session.run(gradient, fit).sum() == 4.0
            for wrong in ({g: ones}, {p: ones, g: ones}, {x: ones[0]}):
                with pytest.raises(errors.OpError, match=r"node pooling\b"):
                    session.run(gradient, fit | wrong)
