"""Quantized tensors, and numbers rounded as if quantized."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
random = np.random.RandomState(4)
X = random.uniform(-3, 5, (3, 4)).astype(F)
CLOSE: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6}

for _dtype in (F, np.float64):
    _x = X.astype(_dtype)
    _t = np.dtype(_dtype).type
    for _signed in (True, False):
        for _narrow in (True, False):
            for _given in (True, False):
                _attrs: Any = {
                    "signed_input": _signed,
                    "narrow_range": _narrow,
                    "range_given": _given,
                    "settings": CLOSE,
                }
                node("QuantizeAndDequantizeV2", _x, _t(-2), _t(3), num_bits=4, **_attrs)
                node("QuantizeAndDequantizeV4", _x, _t(-2), _t(3), round_mode="HALF_UP", **_attrs)
                node("QuantizeAndDequantizeV3", _x, _t(-2), _t(3), np.int32(5), **_attrs)
                if not _given:
                    # Given ranges of slices are refused by TensorFlow's kernel, though not by its shape rule.
                    node("QuantizeAndDequantizeV4", _x, _x[0], _x[0], axis=1, **_attrs)
    node("QuantizeAndDequantizeV4Grad", _x, _x * 2, _t(-2), _t(3), settings={"rtol": 2e-3})
    node("QuantizeAndDequantizeV4Grad", _x, _x * 2, _x[0], _x[0] + 1, axis=1, settings={"rtol": 2e-3})
node("QuantizeAndDequantizeV2", X, F(3), F(-2), range_given=True)
node("QuantizeAndDequantizeV2", X, F(-3), F(2), num_bits=0)
node("QuantizeAndDequantizeV2", X, F(-3), F(2), num_bits=64)


@program("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4", **CLOSE)
def gradients_of_rounding(make: Maker) -> Any:
    tf = make.tf
    x, low, high = tf.constant(X), tf.constant(F(-2)), tf.constant(F(3))
    made = [
        make("QuantizeAndDequantizeV2", x, low, high, range_given=True),
        make("QuantizeAndDequantizeV3", x, low, high, np.int32(8)),
        tf.quantization.quantize_and_dequantize_v2(x, low, high, range_given=True),
    ]
    return tf.gradients([y**2 for y in made], [x, low, high])


def quantized(make: Maker, values: Any, dtype: str, low: float = -2, high: float = 3, **attrs: Any) -> Any:
    return make("QuantizeV2", values, F(low), F(high), T=dtype, **attrs)


def _round_trip(dtype: str, mode: str, narrow: bool, axis: int) -> None:
    def made(make: Maker) -> Any:
        low, high = (F(-2), F(3)) if axis == -1 else (X.min(0) - F(0.5), X.max(0) + F(0.25))
        attrs: Any = {"mode": mode, "narrow_range": narrow, "axis": axis}
        q, least, most = make("QuantizeV2", X, low, high, T=dtype, **attrs)
        plain = make("Bitcast", q, type=dtype.removeprefix("q"))
        return plain, least, most, make("Dequantize", q, least, most, **attrs)

    made.__name__ = f"round_trip_{dtype}_{mode}_{narrow}_{axis}"
    program("QuantizeV2", "Dequantize", rtol=1e-5, atol=1e-5)(made)


for _name in ("qint8", "quint8", "qint16", "quint16"):
    for _mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        for _axis in (-1, 1):
            if _name not in ("qint16", "quint16") or _mode != "MIN_FIRST":
                _round_trip(_name, _mode, False, _axis)
        if _mode == "SCALED":
            _round_trip(_name, _mode, True, -1)


@program("QuantizeV2")
def range_upside_down(make: Maker) -> Any:
    return make("QuantizeV2", make.fed(X), make.fed(F(3)), make.fed(F(2)), T="qint8")[1]


@program("QuantizedRelu", "QuantizedRelu6", **CLOSE)
def quantized_activations(make: Maker) -> Any:
    q, low, high = quantized(make, X * 3, "quint8", -4, 9, mode="MIN_FIRST")
    made = [make(name, q, low, high) for name in ("QuantizedRelu", "QuantizedRelu6")]
    return [(make("Bitcast", y, type="uint8"), *ends) for y, *ends in made]


@program("QuantizedMatMul", "RequantizationRange", "Requantize", "QuantizeDownAndShrinkRange", rtol=1e-5)
def quantized_product(make: Maker) -> Any:
    a, *ends_a = quantized(make, X, "quint8", -3, 5, mode="MIN_FIRST")
    b, *ends_b = quantized(make, X + 1, "quint8", -2, 6, mode="MIN_FIRST")
    product, low, high = make("QuantizedMatMul", a, b, *ends_a, *ends_b, transpose_b=True)
    least, most = make("RequantizationRange", product, low, high)
    small, *ends = make("Requantize", product, low, high, least, most, out_type="quint8")
    down, *other = make("QuantizeDownAndShrinkRange", product, low, high, out_type="quint8")
    return (
        make("Bitcast", product, type="int32"),
        *(low, high, least, most, ends, other),
        make("Bitcast", small, type="uint8"),
        make("Bitcast", down, type="uint8"),
    )
