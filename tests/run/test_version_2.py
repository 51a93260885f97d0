"""`tensorflow.compat.v2` in graphs: functions with their arguments in the order of version 2."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.run.paths import module
from tensorfleet.run.python import v2


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def tf2() -> Any:
    return module("compat.v2")


def test_each_function_is_one_of_version_1() -> None:
    for path, text in v2.SIGNATURES.items():
        known = inspect.signature(v2.function_of(path)).parameters
        for word in text.split():
            both = word.removesuffix("!").partition(":")[0]
            name = word[1:].partition("=")[0] if word.startswith("+") else both.rpartition("=")[2]
            assert name in known, f"{path}: {name}"


def test_arguments_are_in_the_order_of_version_2(tf2: Any) -> None:
    x = tf.constant([[1.0, 4.0], [3.0, 2.0]])
    image = tf.ones([1, 4, 4, 1])
    values = {
        "argmax": tf2.argmax(x, 0, tf.int32),
        "math.argmax": tf2.math.argmax(x, 0, tf.int32),
        "where": tf2.where([True, False], x, 0.0),
        "dropout": tf2.nn.dropout(x, 0.0),
        "moments": tf2.nn.moments(x, [0], None, True)[0],
        "loss": tf2.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[2.0, 2.0]]),
        "conv": tf2.nn.conv2d(image, tf.ones([2, 2, 1, 1]), 1, "VALID", "NHWC", 2),
        "ones": tf2.ones_like(input=x),
        "loop": tf2.while_loop(lambda i: i < 3, lambda i: [i + 1], [0])[0],
    }
    with tf.Session() as session:
        found = session.run(values)
    assert found["argmax"].tolist() == found["math.argmax"].tolist() == [1, 0]
    assert found["argmax"].dtype == np.int32
    assert found["where"].tolist() == [[1.0, 0.0], [3.0, 0.0]]
    assert found["dropout"].tolist() == [[1.0, 4.0], [3.0, 2.0]]
    assert found["moments"].tolist() == [[2.0, 3.0]]
    np.testing.assert_allclose(found["loss"], [np.log(2)], rtol=1e-6)
    assert found["conv"].tolist() == [[[[4.0], [4.0]], [[4.0], [4.0]]]]
    assert found["ones"].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert found["loop"] == 3
    with pytest.raises(TypeError, match="keep_prob"):
        tf2.nn.dropout(x, 0.5, keep_prob=0.5)


def test_arguments_have_the_defaults_of_version_2(tf2: Any) -> None:
    """Libraries compare them with those of functions of their own before they wrap both."""

    def ones_like(input, dtype=None, name=None):  # type: ignore[no-untyped-def]
        return input, dtype, name

    def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):  # type: ignore[no-untyped-def]
        return tensor, paddings, mode, constant_values, name

    def reduce_any(input_tensor, axis=None, keepdims=False, name=None):  # type: ignore[no-untyped-def]
        return input_tensor, axis, keepdims, name

    def shape(input, out_type=tf.int32, name=None):  # type: ignore[no-untyped-def]
        return input, out_type, name

    inspected: Any = module("python.util.tf_inspect")
    spec = inspected.getfullargspec
    for function in (ones_like, pad, reduce_any, shape):
        assert spec(getattr(tf2, function.__name__)) == spec(function)
    assert spec(tf.pad).args == ["tensor", "paddings", "mode", "name", "constant_values"]
    with pytest.raises(TypeError, match="rate"):
        tf2.nn.dropout(1.0)


def test_variables_are_resources(tf2: Any) -> None:
    made = tf2.Variable(1.0, False, name="made")
    assert made.handle.dtype == tf.resource
    assert made not in tf.trainable_variables()
    assert isinstance(made, tf2.Variable)
    assert isinstance(tf.Variable(1.0, use_resource=False), tf2.Variable)
    assert not isinstance(1.0, tf2.Variable)


def test_names_that_are_others_in_version_2(tf2: Any) -> None:
    assert tf2.losses.MeanSquaredError is tf.keras.losses.MeanSquaredError
    assert tf2.optimizers.SGD is tf.keras.optimizers.SGD
    assert tf2.compat.v1 is module("compat.v1")
    assert tf2.nn.relu is tf.nn.relu
    assert "reduce_sum" in dir(tf2)
    with pytest.raises(
        AttributeError, match=r"no tensorflow\.compat\.v2\.image\.resize; .*v1\.image\.resize"
    ):
        _ = tf2.image.resize
    with pytest.raises(AttributeError, match=r"no tensorflow\.compat\.v2\.summary\.scalar"):
        _ = tf2.summary.scalar
