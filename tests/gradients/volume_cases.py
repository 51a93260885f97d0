"""Convolution and pooling in float64, for the gradient checker: volumes, and dilated windows."""

from __future__ import annotations

from typing import Any

from tests.gradients.cases import case, ints, values

_STRIDES = [1, 2, 1, 2, 1]

for _padding in ("SAME", "VALID"):
    _conv: dict[str, Any] = {"strides": _STRIDES, "padding": _padding}
    _out = (1, 2, 3, 2, 3) if _padding == "SAME" else (1, 1, 2, 1, 3)
    case("Conv3D", values(1, 3, 3, 3, 2), values(2, 2, 2, 2, 3, seed=1), **_conv)
    case("Conv3DBackpropInputV2", ints(1, 3, 3, 3, 2), values(2, 2, 2, 2, 3), values(*_out, seed=1), **_conv)
    case("Conv3DBackpropFilterV2", values(1, 3, 3, 3, 2), ints(2, 2, 2, 2, 3), values(*_out, seed=1), **_conv)
    _pool: dict[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": _STRIDES, "padding": _padding}
    case("AvgPool3D", values(1, 3, 3, 3, 2), **_pool)
    case("AvgPool3DGrad", ints(1, 3, 3, 3, 3), values(*_out), **_pool)
    case(
        "MaxPoolWithArgmax",
        values(2, 4, 3, 2),
        ksize=[1, 2, 2, 1],
        strides=[1, 2, 1, 1],
        padding=_padding,
    )
    case(
        "Conv2D",
        values(1, 5, 6, 2),
        values(2, 2, 2, 3, seed=1),
        strides=[1, 1, 1, 1],
        padding=_padding,
        dilations=[1, 2, 3, 1],
    )
