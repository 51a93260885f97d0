"""Ranges of quantized tensors that no integers stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tests.kernels.harness import run_op

F = np.float32
X = np.arange(8, dtype=np.uint8).reshape(-1).view(dtypes.quint8.np).reshape(2, 4)
SUMS = np.arange(8, dtype=np.int32).reshape(-1).view(dtypes.qint32.np).reshape(2, 4)
NOT_FINITE = [(np.nan, np.nan), (0.0, np.nan), (-np.inf, np.inf)]


@pytest.mark.parametrize(("low", "high"), NOT_FINITE)
def test_ranges_are_finite(low: float, high: float) -> None:
    ends = F(low), F(high)
    one, sums = {"out_type": dtypes.quint8}, {"Toutput": dtypes.qint32}
    images = X.reshape(2, 1, 4, 1)
    window = {"strides": [1, 1, 1, 1], "padding": b"SAME", "out_type": dtypes.qint32}
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("QuantizedRelu", (X, *ends), one),
        ("QuantizedMatMul", (X, X.T.copy(), *ends, *ends), sums),
        ("QuantizedAdd", (X, X, *ends, *ends), sums),
        ("QuantizedBiasAdd", (X, X[0], *ends, *ends), {"out_type": dtypes.qint32}),
        ("QuantizedConv2D", (images, images[:1].reshape(1, 4, 1, 1), *ends, *ends), window),
        ("QuantizedConcat", (np.int32(0), [X, X], [ends[0]] * 2, [ends[1]] * 2), {}),
        ("Requantize", (SUMS, *ends, F(-1), F(1)), one),
        ("RequantizationRange", (SUMS, *ends), {}),
    ]
    for op, inputs, attrs in calls:
        with pytest.raises(errors.InvalidArgumentError, match="must be finite"):
            run_op(op, *inputs, **attrs)


def test_ranges_are_scalars_and_not_empty() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="rank 0"):
        run_op("RequantizationRange", SUMS, F([0, 1]), F([1, 2]))
    with pytest.raises(errors.InvalidArgumentError, match="no integers for the range"):
        run_op("QuantizedBiasAdd", X, X[0], F(0), F(0), F(0), F(0), out_type=dtypes.qint32)
