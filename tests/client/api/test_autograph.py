"""`tf.autograph`: functions stay what they are; control flow of Python on tensors is refused at its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tensorfleet as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_decorators_return_the_function() -> None:
    marked = tf.autograph.experimental.do_not_convert

    def double(x: Any) -> Any:
        return 2 * x

    assert marked(double) is marked()(double) is tf.autograph.to_graph(double) is double
    assert tf.autograph.experimental.Feature.ALL.value == "ALL"


def test_a_function_with_loops_of_python_builds_its_graph() -> None:
    def power(x: Any, exponent: int) -> Any:
        result = tf.ones([])
        for _ in range(exponent):
            result *= x
        return result

    with tf.Session() as session:
        assert session.run(tf.autograph.to_graph(power)(tf.constant(3.0), 4)) == 81.0


def test_control_flow_on_tensors_says_what_to_do() -> None:
    def absolute(x: Any) -> Any:
        if x < 0.0:
            return -x
        return x

    def total(x: Any) -> Any:
        return sum(row for row in x)

    with pytest.raises(TypeError, match=r"tf\.cond"):
        tf.autograph.to_graph(absolute)(tf.constant(-1.0))
    with pytest.raises(TypeError, match=r"tf\.unstack"):
        tf.autograph.to_graph(total)(tf.constant([1.0, 2.0]))
    with pytest.raises(NotImplementedError, match="give the method"):
        tf.autograph.to_graph(dict)
