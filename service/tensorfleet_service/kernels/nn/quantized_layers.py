"""Kernels of `tensorfleet.ops.nn.quantized_layers`, which compute with plain integers in host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.ops.nn.windows import windows_of
from tensorfleet_service.kernels.nn.patches import Geometry, check_rank
from tensorfleet_service.kernels.nn.pool import window_size
from tensorfleet_service.kernels.nn.quantize import (
    as_quantized,
    check_end,
    halves_away,
    limits,
    plain,
    quantized_number,
    raw,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, ints, invalid, shape_text

F = np.float32
_SUM_RANGES = {"QuantizedAdd": F(1 << 14), "QuantizedBiasAdd": F(1 << 17)}
"""How much wider than its arguments the range of a sum is: TensorFlow's."""


def _scalars(**ends: Any) -> list[float]:
    """The ends of ranges. Raises InvalidArgumentError if one is not a scalar."""
    for name, end in ends.items():
        check_end(name, end)
    return [float(end) for end in ends.values()]


def _level(low: float, high: float, dtype: DType) -> Any:
    """The number that one step of the integers stands for."""
    lowest, highest = limits(dtype)
    return F((F(high) - F(low)) / F(float(highest) - lowest))


def _product_range(a: Any, b: Any, dtype: DType) -> tuple[Any, Any]:
    level = F(a * b)
    lowest, highest = limits(dtype)
    return level * F(lowest), level * F(highest)


def _centred(values: Any, dtype: DType, low: float, high: float) -> Any:
    """The integers of a tensor less the one that stands for zero."""
    return plain(values, dtype).astype(np.int64) - quantized_number(0.0, low, high, dtype)


def _check_pair(x: Any, y: Any) -> None:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise invalid(f"Incompatible shapes: {shape_text(x.shape)} vs. {shape_text(y.shape)}") from None


@kernel("QuantizedMul")
def multiply(node: KernelNode) -> Kernel:
    first, second = node.input_types[:2]
    target = node.output_types[0]

    def run(x: Any, y: Any, min_x: Any, max_x: Any, min_y: Any, max_y: Any) -> Any:
        low, high, other_low, other_high = _scalars(min_x=min_x, max_x=max_x, min_y=min_y, max_y=max_y)
        _check_spans((low, high, "x"), (other_low, other_high, "y"))
        _check_pair(x, y)
        product = _centred(x, first, low, high) * _centred(y, second, other_low, other_high)
        ends = _product_range(_level(low, high, first), _level(other_low, other_high, second), target)
        return as_quantized(product.astype(np.int32), target), *ends

    return run


def _check_spans(*spans: tuple[float, float, str]) -> None:
    for low, high, name in spans:
        if not low < high:
            raise invalid(f"max_{name} must be larger than min_{name}.")


@kernel("QuantizedAdd", "QuantizedBiasAdd")
def add(node: KernelNode) -> Kernel:
    first, second = node.input_types[:2]
    target, is_bias = node.output_types[0], node.op == "QuantizedBiasAdd"

    def run(x: Any, y: Any, low: Any, high: Any, other_low: Any, other_high: Any) -> Any:
        ends = _scalars(min=low, max=high, other_min=other_low, other_max=other_high)
        if is_bias:
            if x.ndim < 2 or y.ndim != 1 or x.shape[-1] != y.shape[0]:
                raise invalid(
                    "Must provide as many biases as the last dimension of the input tensor: "
                    f"{shape_text(y.shape)} vs. {shape_text(x.shape)}"
                )
        else:
            _check_spans((ends[0], ends[1], "x"), (ends[2], ends[3], "y"))
        _check_pair(x, y)
        most = F(max(F(ends[1]), F(-ends[0]), F(ends[3]), F(-ends[2])) * _SUM_RANGES[node.op])
        parts = [
            _requantized(plain(x, first), first, ends[0], ends[1], target, -most, most),
            _requantized(plain(y, second), second, ends[2], ends[3], target, -most, most),
        ]
        zero = quantized_number(0.0, float(-most), float(most), target)
        total = parts[0] + parts[1] - zero
        lowest, highest = limits(target)
        return as_quantized(np.clip(total, lowest, highest), target), -most, most

    return run


def _requantized(x: Any, dtype: DType, low: float, high: float, target: DType, least: Any, most: Any) -> Any:
    """Integers of another dtype and range for the same numbers, as int64."""
    # In the steps and the precision in which TensorFlow does it, as the integers depend on them.
    lowest, highest = limits(dtype)
    scale = F((F(high) - F(low)) / (float(highest) - lowest))
    start = F(halves_away(F(F(low) / scale)) * scale) if scale else F(low)
    numbers = F(start - scale * F(lowest)) + x.astype(F) * scale
    bottom, top = limits(target)
    if not 0 < float(F(most - least)) < np.inf:
        raise invalid(f"There are no integers for the range from {least} to {most}")
    factor = F((float(top) - bottom) / float(F(most - least)))
    offset = float(halves_away(F(F(least) * factor))) - bottom
    made = halves_away((numbers * factor).astype(F)).astype(np.float64) - offset
    return np.clip(made, bottom, top).astype(np.int64)


@kernel("QuantizedConv2D")
def convolve(node: KernelNode) -> Kernel:
    first, second = node.input_types[:2]
    target, attrs = node.output_types[0], node.attrs
    strides, dilations = attrs["strides"], attrs["dilations"]
    if len(strides) != 4 or strides[0] != 1 or strides[3] != 1:
        raise invalid(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if strides[1] != strides[2]:
        raise invalid(
            "Current implementation only supports equal length strides in the row and column dimensions."
        )
    if list(dilations) != [1, 1, 1, 1]:
        raise invalid(
            "Current implementation does not yet support dilations in the batch and depth dimensions."
        )
    windows = windows_of(attrs)

    def run(images: Any, weights: Any, *ends: Any) -> Any:
        names = ("min_input", "max_input", "min_filter", "max_filter")
        low, high, other_low, other_high = _scalars(**dict(zip(names, ends, strict=True)))
        check_rank(images, "input", windows)
        check_rank(weights, "filter", windows)
        if images.shape[3] != weights.shape[2]:
            raise invalid(
                f"input and filter must have the same depth: {images.shape[3]} vs {weights.shape[2]}"
            )
        # Zero is exactly what padding adds, as the integer for zero is taken away before.
        centred, filters = (
            _centred(images, first, low, high),
            _centred(weights, second, other_low, other_high),
        )
        geometry = Geometry(windows, images.shape[1:3], weights.shape[:2])
        padded = geometry.padded(np, centred, 0)
        total = np.zeros((len(images), *geometry.out, weights.shape[3]), np.int64)
        for position in geometry.positions():
            total += padded[geometry.at(position)] @ filters[position]
        levels = _level(low, high, first), _level(other_low, other_high, second)
        return as_quantized(total.astype(np.int32), target), *_product_range(*levels, target)

    return run


@kernel("QuantizedMaxPool", "QuantizedAvgPool")
def pool(node: KernelNode) -> Kernel:
    dtype, attrs = node.input_types[0], node.attrs
    for name in ("ksize", "strides"):
        if len(attrs[name]) != 4:
            raise invalid(f"Sliding window {name} field must specify 4 dimensions")
        if attrs[name][0] != 1:
            text = "Pooling is not yet supported on the batch dimension."
            raise errors.UnimplementedError(None, None, text)
    windows = windows_of(attrs)
    window = window_size(node.attrs, windows)
    reduce: Callable[..., Any] = np.maximum if node.op == "QuantizedMaxPool" else np.add

    def run(images: Any, low: Any, high: Any) -> Any:
        _scalars(min_input=low, max_input=high)
        check_rank(images, "tensor_in", windows)
        x = plain(images, dtype).astype(np.int64)
        geometry = Geometry(windows, images.shape[1:3], window)
        padding = np.iinfo(np.int64).min if reduce is np.maximum else 0
        padded = geometry.padded(np, x, padding)
        first, *others = geometry.positions()
        out = padded[geometry.at(first)].copy()
        for position in others:
            reduce(out, padded[geometry.at(position)], out=out)
        if reduce is np.add:
            ones = geometry.padded(np, np.ones((1, *images.shape[1:3], 1), np.int64), 0)
            counts = sum(ones[geometry.at(position)] for position in geometry.positions())
            out = np.trunc(out / counts)
        return as_quantized(out, dtype), F(low), F(high)

    return run


@kernel("QuantizedConcat")
def concat(node: KernelNode) -> Kernel:
    count, dtype = node.attrs["N"], node.attrs["T"]

    def run(axis: Any, *inputs: Any) -> Any:
        values = [host_array(value) for value in inputs[:count]]
        lows, highs = inputs[count : 2 * count], inputs[2 * count :]
        if np.ndim(axis):
            raise invalid(f"Concat dim tensor should be a scalar, but got shape {shape_text(axis.shape)}")
        at, rank = int(axis), values[0].ndim
        if not 0 <= at < rank:
            raise invalid(
                f"ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but got {at}"
            )
        for i, value in enumerate(values):
            rest = [np.delete(shape, at).tolist() for shape in (values[0].shape, value.shape)]
            if value.ndim != rank or rest[0] != rest[1]:
                raise invalid(
                    "ConcatOp : Dimensions of inputs should match: shape[0] = "
                    f"{format_dims(values[0].shape)} vs. shape[{i}] = {format_dims(value.shape)}"
                )
        for end in (*lows, *highs):
            check_end("input_mins and input_maxes", end)
        ends = [(float(low), float(high)) for low, high in zip(lows, highs, strict=True)]
        least, most = min(0.0, *(low for low, _ in ends)), max(high for _, high in ends)
        if limits(dtype)[0] < 0:
            most = max(abs(least), abs(most))
            least = -most
        parts = [
            plain(value, dtype)
            if (low, high) == (least, most)
            else _requantized(plain(value, dtype), dtype, low, high, dtype, F(least), F(most))
            for value, (low, high) in zip(values, ends, strict=True)
        ]
        joined = np.concatenate([part.astype(raw(dtype)) for part in parts], at)
        return as_quantized(joined, dtype), F(least), F(most)

    return run


@kernel("QuantizedReshape")
def reshape(node: KernelNode) -> Kernel:
    def run(values: Any, shape: Any, low: Any, high: Any) -> Any:
        wanted = ints(shape)
        try:
            return values.reshape(wanted), low, high
        except ValueError:
            raise invalid(
                f"Input to reshape is a tensor with {values.size} values, but the requested shape is {wanted}"
            ) from None

    return run
