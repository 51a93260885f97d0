"""Arguments that are refused where the graph is built, with the error class that programs catch."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

CASES = """
tf.nn.softmax(tf.ones([2, 3]), axis=5)
tf.nn.log_softmax(tf.ones([]), axis=0)
tf.nn.dropout(tf.ones([2]), keep_prob=[0.5, 1.0])
tf.train.replica_device_setter(cluster=3)
tf.py_func(3, [], tf.float32)
inside(tf.colocate_with(None))
inside(tf.device(lambda op: 3))
inside(tf.control_dependencies([other]))
tf.get_variable("v", [4], partitioner=lambda shape, dtype: [5])
"""


def outcome(tf: Any, case: str) -> str:
    def inside(scope: Any) -> None:
        with scope:
            tf.constant(1)

    with tf.Graph().as_default():
        other = tf.constant(2)
    with tf.Graph().as_default():
        try:
            eval(case, {"tf": tf, "inside": inside, "other": other})
        except Exception as error:
            return type(error).__name__
    return ""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_an_error_class(case: str) -> None:
    theirs = outcome(real, case)
    assert theirs
    assert outcome(fleet, case) == theirs
