"""Gradients through conditionals, loops and tensor arrays agree with central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.gradients.checker import STEP
from tests.gradients.control_flow_cases import CASES, FEEDS

pytest.importorskip("tensorfleet_service")


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_differences(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, c = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
        m, p = tf.placeholder(tf.float64, [None, 2]), tf.placeholder(tf.bool, [])
        y = tf.reduce_sum(CASES[name](tf, x, c, m, p))
        grads = tf.gradients(y, [x, c, m])
        assert any(grad is not None for grad in grads)
        for feeds in FEEDS:
            values: list[Any] = [np.asarray(value) for value in feeds]
            given = dict(zip([x, c, m, p], values, strict=True))
            for tensor, grad, value in zip([x, c, m], grads, values, strict=False):
                slope = np.zeros(value.shape)
                for index in np.ndindex(value.shape):
                    ends = []
                    for step in (STEP, -STEP):
                        moved = value.copy()
                        moved[index] += step
                        ends.append(session.run(y, {**given, tensor: moved}))
                    slope[index] = (ends[0] - ends[1]) / (2 * STEP)
                found = np.zeros(value.shape) if grad is None else session.run(grad, given)
                np.testing.assert_allclose(
                    found, slope, rtol=1e-5, atol=1e-7, err_msg=f"{tensor.name} {feeds}"
                )
