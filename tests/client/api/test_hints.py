"""Advice in error messages, after the words that TensorFlow has for the same error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("update", [False, True])
def test_a_variable_without_a_value_says_what_to_run(use_resource: bool, update: bool) -> None:
    w = tf.Variable(1.0, name="w", use_resource=use_resource)
    with pytest.raises(tf.errors.OpError) as raised, tf.Session() as sess:
        sess.run(tf.assign_add(w, 1.0) if update else w)
    first, second = raised.value.message.splitlines()[:2]
    if not use_resource:
        assert first == "Attempting to use uninitialized value w"
    elif update:
        assert first == "Resource localhost/w does not exist."
    else:
        assert first.startswith(
            "Could not find variable w. This could mean that the variable has been deleted."
        )
    assert "tf.global_variables_initializer()" in second
    assert "tf.local_variables_initializer()" in second


@pytest.mark.parametrize(
    ("x", "y", "source", "target"),
    [
        (1.0, 1, "int32", "float32"),
        (1, 1.0, "int32", "float32"),
        (np.float64(1), np.float32(1), "float32", "float64"),
        (np.int64(1), np.float32(1), "int64", "float32"),
    ],
)
def test_two_dtypes_name_the_cast(x: Any, y: Any, source: str, target: str) -> None:
    with pytest.raises(TypeError) as raised:
        tf.constant(x) + tf.constant(y)
    assert "that does not match type" in str(raised.value)
    assert str(raised.value).endswith(f". Convert the {source} one: tf.cast(…, tf.{target}).")


def test_strings_and_numbers_name_no_cast() -> None:
    with pytest.raises(TypeError) as raised:
        tf.constant("a") + tf.constant(1)
    assert str(raised.value).endswith("does not match type string of argument 'x'.")


def test_a_list_of_two_dtypes_names_the_cast() -> None:
    with pytest.raises(
        TypeError, match=r"types \[float32, int32\] that don't all match\. Convert .*tf\.cast"
    ):
        tf.concat([tf.constant([1.0]), tf.constant([1])], 0)


@pytest.mark.parametrize("value", ["abc", ["1", "b"], [[1], [1, 2]]])
def test_a_feed_that_is_no_number_names_its_tensor(value: Any) -> None:
    x = tf.placeholder(tf.float32, name="x")
    with (
        tf.Session() as sess,
        pytest.raises(ValueError, match=r"fed for Tensor x:0, which has dtype float32"),
    ):
        sess.run(x, {x: value})


def test_a_string_that_is_no_number_is_found_in_its_tensor() -> None:
    number = tf.string_to_number([["1", "2"], ["3", "four"]], name="n")
    with pytest.raises(tf.errors.InvalidArgumentError) as raised, tf.Session() as sess:
        sess.run(number)
    first, second = raised.value.message.splitlines()[:2]
    assert first == "StringToNumberOp could not correctly convert string: four"
    assert second == "It is no float32: element [1, 1] of the input string_tensor of n"


def test_a_job_that_is_not_in_the_cluster_names_those_that_are() -> None:
    cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "b:2"]})
    with pytest.raises(ValueError, match=r"'workers'\. It has ps, worker\. Did you mean \"worker\"\?"):
        cluster.task_address("workers", 0)
    with pytest.raises(ValueError, match=r"No task with index 2 in job 'worker', which has 0, 1"):
        cluster.task_address("worker", 2)
    with pytest.raises(
        tf.errors.InternalError, match=r'"wroker" was not .*ps, worker\. Did you mean "worker"'
    ):
        tf.train.Server(cluster, "wroker", 0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r'Task 2 was not defined in job "worker".* 0, 1'
    ):
        tf.train.Server(cluster, "worker", 2)
    with pytest.raises(tf.errors.NotFoundError, match=r"protocol 'pigeon'; take grpc or grpc\+stream"):
        tf.train.Server(cluster, "worker", 1, protocol="pigeon")


def test_an_example_is_its_users_program() -> None:
    from tensorfleet.examples.digit_classifier import Classifier

    classifier = Classifier(4, 0.1, 0)
    definition = classifier.loss.op.definition
    assert definition is not None
    assert "examples/digit_classifier.py" in definition
    assert definition.endswith(" in __init__: self.loss = tf.reduce_mean(losses)")
