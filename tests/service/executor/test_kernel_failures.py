"""A kernel's own exceptions are defects: InternalError with a traceback in the log. Users' are OpErrors."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.graph.apply import apply_op
from tensorfleet_service.kernels import registry


def _broken(error: Exception) -> Any:
    def factory(node: Any) -> Any:
        def run(*inputs: Any) -> Any:
            raise error

        return run

    return factory


@pytest.mark.parametrize("error", [TypeError("no"), ValueError("no"), IndexError("no"), KeyError("no")])
@pytest.mark.parametrize("inside", ["plan", "executor", "loop"])
def test_a_defect_is_internal_and_leaves_a_traceback(
    error: Exception, inside: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(registry._factories, "Lgamma", _broken(error))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        if inside == "plan":
            y = tf.lgamma(x, name="broken")
        elif inside == "executor":
            y = tf.cond(x[0] > 0, lambda: tf.lgamma(x, name="broken"), lambda: x)
        else:
            y = tf.while_loop(lambda v: v[0] < 9, lambda v: tf.lgamma(v, name="broken") + 9, [x])
        with caplog.at_level(logging.ERROR), pytest.raises(tf.errors.InternalError) as raised:
            session.run(y, {x: [1.0, 2.0]})
    assert type(error).__name__ in str(raised.value)
    assert "broken" in str(raised.value)
    records = [r for r in caplog.records if "Lgamma" in r.getMessage()]
    assert len(records) == 1
    assert records[0].exc_info is not None
    assert records[0].exc_info[1] is error


BAD_INPUTS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("AddV2", [np.ones((2, 3), np.float32), np.ones((2, 2), np.float32)], {}),
    ("BroadcastTo", [np.ones(4, np.float32), np.int32([[4]])], {}),
    ("BroadcastGradientArgs", [np.int32(4), np.int32([4, 4])], {}),
    ("ConcatOffset", [np.int32([0]), [np.int32([1]), np.int32([1])]], {}),
    ("ConcatOffset", [np.int32(0), [np.int32([1]), np.int32([[1]])]], {}),
    ("Multinomial", [np.ones((1, 2), np.float32), np.int32([3])], {}),
    ("HistogramFixedWidth", [np.ones(3), np.float64([0, 1]), np.int32([[1]])], {}),
    ("LinSpace", [np.float32([1, 2]), np.float32(3), np.int32(4)], {}),
    ("MatrixDiagV3", [np.ones(2), np.int32([]), np.int32(-1), np.int32(-1), np.float64(0)], {}),
    ("MatrixDiagPartV3", [np.ones((2, 2)), np.int32(1), np.ones(2)], {}),
    ("RandomGamma", [np.int32([[2]]), np.float32(1)], {}),
    (
        "AvgPoolGrad",
        [np.int32([1, 9, 9, 1]), np.ones((1, 3, 4, 1))],
        {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "SAME"},
    ),
    (
        "Conv2DBackpropFilter",
        [np.ones((1, 4, 4, 1)), np.int32([3, 1, 1, 3]), np.ones((2, 1, 2, 3))],
        {"strides": [1, 2, 2, 1], "padding": "VALID"},
    ),
    (
        "Conv3D",
        [np.ones((1, 2, 2, 2, 1)), np.ones((1, 1, 1, 1, 0))],
        {"strides": [1, 1, 1, 1, 1], "padding": "VALID"},
    ),
    (
        "DepthwiseConv2dNativeBackpropInput",
        [np.int32([1, 3, 4, 2]), np.ones((2, 1, 2, 1)), np.ones((1, 2, 2, 2))],
        {"strides": [1, 2, 2, 1], "padding": "VALID"},
    ),
    (
        "DepthwiseConv2dNativeBackpropFilter",
        [np.ones((1, 3, 3, 2)), np.int32([1, 1, 2, 1]), np.ones((1, 3, 3, 1))],
        {"strides": [1, 1, 1, 1], "padding": "SAME"},
    ),
    (
        "FusedBatchNormV2",
        [np.ones((2, 3, 4, 3), np.float32), *[np.ones(n, np.float32) for n in (3, 6, 0, 0)]],
        {"is_training": True},
    ),
]


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs"), BAD_INPUTS, ids=[f"{i}-{c[0]}" for i, c in enumerate(BAD_INPUTS)]
)
def test_what_users_cause_is_invalid_argument(
    op_type: str, inputs: list[Any], attrs: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Shapes are unknown while the graph is made, so that the kernel sees what it cannot take."""
    with tf.Graph().as_default(), tf.Session() as session:
        feeds: dict[Any, Any] = {}

        def fed(value: Any) -> Any:
            if isinstance(value, list):
                return [fed(item) for item in value]
            placeholder = tf.placeholder(value.dtype)
            feeds[placeholder] = value
            return placeholder

        result = apply_op(op_type, *[fed(value) for value in inputs], **attrs)
        first = result if isinstance(result, tf.Tensor) else next(iter(result))
        with caplog.at_level(logging.ERROR), pytest.raises(tf.errors.InvalidArgumentError):
            session.run(first, feeds)
    assert not caplog.records


def test_no_mean_of_nothing_is_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [0, 2, 2, 3])
        outputs = tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]))
        assert np.isnan(session.run(outputs, {x: np.ones((0, 2, 2, 3))})[1]).all()
    assert not recwarn.list
