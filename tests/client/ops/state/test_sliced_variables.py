"""`variable[…].assign(…)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

SLICES: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (lambda v: v[1], [9, 8, 7, 6], np.s_[1]),
    (lambda v: v[:, 1:3], np.ones([3, 2]), np.s_[:, 1:3]),
    (lambda v: v[::2, ..., 0], [5, 6], np.s_[::2, ..., 0]),
    (lambda v: v[tf.newaxis, 1:2, 1], [[7]], np.s_[np.newaxis, 1:2, 1]),
    (lambda v: v[tf.constant(2), 3], 8, np.s_[2, 3]),
    (lambda v: v[::-1, -1], [1, 2, 3], np.s_[::-1, -1]),
    (lambda v: v[0], 3, np.s_[0]),
    (lambda v: v[...], 0, np.s_[...]),
]


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("index", range(len(SLICES)))
def test_a_slice_is_set(index: int, use_resource: bool) -> None:
    part, value, places = SLICES[index]
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", initializer=tf.constant(expected), use_resource=use_resource)
        chosen = part(variable)
        changed = chosen.assign(value)
        session.run(tf.global_variables_initializer())
        before = session.run(chosen)
        np.testing.assert_array_equal(before, expected[places])
        held = session.run(variable)
        expected[places] = value
        np.testing.assert_array_equal(session.run(changed), expected)
        np.testing.assert_array_equal(session.run(variable), expected)
        assert not np.array_equal(held, expected), "what was read before stays as it was"


def test_names_are_tensorflows() -> None:
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [3, 4], use_resource=False)
        assert variable[1].assign([0.0] * 4).op.name == "strided_slice/_assign"
        assert variable[1].assign([0.0] * 4, name="mine").op.name == "mine"


@pytest.mark.parametrize("use_resource", [False, True])
def test_mistakes(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", [3, 4], use_resource=use_resource)
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2\] into final shape \[4\]"):
            session.run(variable[1].assign([1.0, 2.0]))
        with pytest.raises(TypeError):
            variable[1].assign(["a"])
        with pytest.raises(AttributeError):
            (variable + 1.0)[0].assign(1.0)
        uninitialized = tf.get_variable("u", [3, 4], use_resource=use_resource)
        with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.NotFoundError), match="u"):
            session.run(uninitialized[1].assign([0.0] * 4))
