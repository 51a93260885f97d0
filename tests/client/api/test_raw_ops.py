"""tf.raw_ops: a function for each op type."""

from __future__ import annotations

import inspect

import pytest

import tensorfleet as tf


def test_an_op_by_its_name() -> None:
    total = tf.raw_ops.Add(x=1.0, y=tf.constant(2.0), name="total")
    assert total.op.name == "total"
    with tf.Session() as session:
        assert session.run(total) == 3.0
        split = tf.raw_ops.Split(axis=0, value=[1, 2, 3, 4], num_split=2)
        assert [part.tolist() for part in session.run(split)] == [[1, 2], [3, 4]]
        found = tf.raw_ops.Unique(x=[3, 3, 1])
        assert session.run(found.y).tolist() == [3, 1]
    assert isinstance(tf.raw_ops.NoOp(), tf.Operation)


def test_attributes_have_their_defaults() -> None:
    parameters = inspect.signature(tf.raw_ops.MatMul).parameters
    assert list(parameters) == ["a", "b", "transpose_a", "transpose_b", "grad_a", "grad_b", "name"]
    product = tf.raw_ops.MatMul(a=[[1.0, 2.0]], b=[[3.0, 4.0]], transpose_b=True)
    with tf.Session() as session:
        assert session.run(product) == 11.0


def test_arguments_are_given_by_name() -> None:
    with pytest.raises(
        TypeError, match=r"Add only takes keyword args \(possible keys: \['x', 'y', 'name'\]\)"
    ):
        tf.raw_ops.Add(1.0, 2.0)
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        tf.raw_ops.Add(x=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        tf.raw_ops.Add(x=1.0, y=1.0, z=1.0)


def test_other_names_are_no_ops() -> None:
    assert "Conv2D" in dir(tf.raw_ops)
    with pytest.raises(AttributeError, match=r"no op Nope\. docs/ops\.md lists"):
        _ = tf.raw_ops.Nope
    assert not hasattr(tf.raw_ops, "_Send")
