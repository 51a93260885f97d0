"""Loops whose ops are strewn over devices give what they give on one, and so do their gradients."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.gradients.control_flow_cases import CASES, FEEDS

DEVICES = [f"/cpu:{i}" for i in range(3)]


def values(name: str, seed: int | None) -> list[Any]:
    draw = random.Random(seed)

    def anywhere(op: Any) -> str:
        has_handle = any(t.dtype.base is tf.resource for t in (*op.inputs, *op.outputs))
        return op.device if seed is None or has_handle else op.device or draw.choice(DEVICES)

    with tf.Graph().as_default(), tf.device(anywhere):
        x, c = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
        m, p = tf.placeholder(tf.float64, [None, 2]), tf.placeholder(tf.bool, [])
        y = CASES[name](tf, x, c, m, p)
        grads = [grad for grad in tf.gradients(y, [x, c, m]) if grad is not None]
        config = tf.ConfigProto(device_count={"CPU": 3}, operation_timeout_in_ms=20_000)
        with tf.Session(config=config) as session:
            return [
                value
                for feeds in FEEDS
                for value in session.run([y, *grads], dict(zip([x, c, m, p], feeds, strict=True)))
            ]


@pytest.mark.parametrize("name", CASES)
def test_ops_on_any_device(name: str) -> None:
    expected = values(name, None)
    for seed in range(3):
        for own, other in zip(values(name, seed), expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12, err_msg=f"seed {seed}")
