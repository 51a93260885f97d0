"""Layers on quantized tensors: sums, products, convolution, pooling, biases, concatenation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, program

F = np.float32
random = np.random.RandomState(5)
IMAGES = random.uniform(-3, 5, (2, 5, 4, 3)).astype(F)
FILTERS = random.uniform(-1, 2, (2, 3, 3, 4)).astype(F)
VECTOR = random.uniform(-2, 1, 3).astype(F)


def quantized(make: Maker, values: Any, low: float, high: float, dtype: str = "quint8") -> Any:
    return make("QuantizeV2", values, F(low), F(high), T=dtype, mode="MIN_FIRST")


def integers(make: Maker, outputs: Any, dtype: str = "int32") -> Any:
    values, low, high = outputs
    return make("Bitcast", values, type=dtype), low, high


def numbers(make: Maker, outputs: Any) -> Any:
    return make("Dequantize", *outputs, mode="MIN_FIRST"), *outputs[1:]


def _pairwise(op: str, name: str, y: Any, **settings: Any) -> None:
    def made(make: Maker) -> Any:
        a, *ends = quantized(make, IMAGES, -3, 5)
        b, *others = quantized(make, y, -2, 6)
        outputs = make(op, a, b, *ends, *others)
        return integers(make, outputs) if op == "QuantizedMul" else numbers(make, outputs)

    made.__name__ = f"{op}_of_{name}"
    program(op, **settings)(made)


for _name, _y in {
    "equal_shapes": IMAGES[::-1] * F(0.5) + 1,
    "a_scalar": F(1.5),
    "a_vector": VECTOR,
}.items():
    _pairwise("QuantizedMul", _name, np.ascontiguousarray(_y), rtol=1e-6)
    # TensorFlow rounds what a step stands for to whole steps of the sum: a tenth of a step of the arguments.
    _pairwise("QuantizedAdd", _name, np.ascontiguousarray(_y), rtol=1e-3, atol=3e-3)


@program("QuantizedAdd")
def sum_of_ranges_upside_down(make: Maker) -> Any:
    a, low, high = quantized(make, IMAGES, -3, 5)
    return make("QuantizedAdd", a, a, high, low, low, high)[1]


@program("QuantizedBiasAdd", rtol=1e-5, atol=2e-3)
def biases(make: Maker) -> Any:
    a, *ends = quantized(make, IMAGES, -3, 5)
    b, *others = quantized(make, VECTOR, -2, 1)
    return numbers(make, make("QuantizedBiasAdd", a, b, *ends, *others, out_type="qint32"))


@program("QuantizedBiasAdd")
def biases_of_another_size(make: Maker) -> Any:
    a, *ends = quantized(make, make.fed(IMAGES), -3, 5)
    b, *others = quantized(make, make.fed(VECTOR[:2]), -2, 1)
    return make("QuantizedBiasAdd", a, b, *ends, *others, out_type="qint32")[1]


def _convolved(padding: str, stride: int) -> None:
    def made(make: Maker) -> Any:
        a, *ends = quantized(make, IMAGES, -3, 5)
        b, *others = quantized(make, FILTERS, -1, 2)
        outputs = make(
            "QuantizedConv2D", a, b, *ends, *others, strides=[1, stride, stride, 1], padding=padding
        )
        return integers(make, outputs)

    made.__name__ = f"quantized_convolution_{padding}_{stride}"
    program("QuantizedConv2D", rtol=1e-6)(made)


for _padding in ("SAME", "VALID"):
    for _stride in (1, 2):
        _convolved(_padding, _stride)


@program("QuantizedConv2D")
def quantized_convolution_with_other_strides(make: Maker) -> Any:
    a, *ends = quantized(make, IMAGES, -3, 5)
    b, *others = quantized(make, FILTERS, -1, 2)
    return make("QuantizedConv2D", a, b, *ends, *others, strides=[1, 1, 2, 1], padding="SAME")[1]


def _pooled(op: str, padding: str) -> None:
    def made(make: Maker) -> Any:
        a, *ends = quantized(make, IMAGES, -3, 5)
        outputs = make(op, a, *ends, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=padding)
        return integers(make, outputs, "uint8")

    made.__name__ = f"{op}_{padding}"
    program(op)(made)


for _op in ("QuantizedMaxPool", "QuantizedAvgPool"):
    for _padding in ("SAME", "VALID"):
        _pooled(_op, _padding)


def _joined(name: str, axis: int, *ranges: tuple[float, float]) -> None:
    def made(make: Maker) -> Any:
        parts = [quantized(make, IMAGES, *ends) for ends in ranges]
        columns = [list(column) for column in zip(*parts, strict=True)]
        values, low, high = make("QuantizedConcat", np.int32(axis), *columns)
        return make("Bitcast", values, type="uint8"), low, high

    made.__name__ = f"quantized_concat_of_{name}"
    program("QuantizedConcat")(made)


_joined("one_range", 1, (-3, 5), (-3, 5))
_joined("two_ranges", 3, (-3, 5), (-1, 9))
_joined("a_negative_axis", -2, (-3, 5), (-1, 9))
_joined("three_ranges", 2, (-3, 5), (-1, 9), (0, 2))


@program("QuantizedReshape")
def quantized_reshape(make: Maker) -> Any:
    a, *ends = quantized(make, IMAGES, -3, 5)
    return integers(make, make("QuantizedReshape", a, np.int32([4, -1, 3]), *ends), "uint8")


@program("QuantizedReshape")
def quantized_reshape_to_another_size(make: Maker) -> Any:
    a, *ends = quantized(make, IMAGES, -3, 5)
    return make("QuantizedReshape", a, make.fed(np.int32([7, -1])), *ends)[1]
