"""Kernels of `tensorfleet.ops.nn.quantize`. Quantized integers are computed with as plain ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, shape_text
from tensorfleet_service.threads import unlocked

F = np.float32
_GREATEST = np.finfo(np.float32).max


def raw(dtype: DType) -> Any:
    """The plain dtype of the integers of a quantized one."""
    return np.dtype(dtype.name.removeprefix("q"))


def plain(value: Any, dtype: DType) -> Any:
    """The integers of a quantized tensor, of a plain dtype."""
    array = host_array(value)
    return np.ascontiguousarray(array).view(raw(dtype)).reshape(array.shape)


def as_quantized(values: Any, dtype: DType) -> Any:
    """A quantized tensor of integers."""
    integers = np.ascontiguousarray(values.astype(raw(dtype)))
    assert dtype.np is not None
    return integers.reshape(-1).view(dtype.np).reshape(values.shape)


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a quantized dtype."""
    info = np.iinfo(raw(dtype))
    return int(info.min), int(info.max)


def check_end(name: str, end: Any) -> None:
    """Raises InvalidArgumentError if an end of a range is not a finite scalar."""
    if np.ndim(end):
        raise invalid(f"`{name}` must be rank 0 but is rank {np.ndim(end)}")
    if not math.isfinite(end):
        raise invalid(f"`{name}` must be finite, got {float(end)}")


def _bounds(node: KernelNode, values: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Both ends of the range, in a shape that is broadcast to the values."""
    axis = node.attrs["axis"]
    low, high = host_array(low), host_array(high)
    if axis < -1:
        raise invalid(f"Axis must be at least -1. Found {axis}")
    if axis >= values.ndim:
        raise invalid(f"Axis must be less than input dimension({values.ndim}). Found {axis}")
    if axis == -1:
        if low.size != 1 or high.size != 1:
            raise invalid(
                "min and max must be scalars, got shapes " + shape_text(low.shape) + shape_text(high.shape)
            )
        return low.reshape(()), high.reshape(())
    size = values.shape[axis]
    for name, end in (("min", low), ("max", high)):
        if end.ndim != 1 or end.size != size:
            raise invalid(f"{name}_range must have {size} elements, got shape {shape_text(end.shape)}")
    shape = [1] * values.ndim
    shape[axis] = size
    return low.reshape(shape), high.reshape(shape)


def halves_away(x: Any) -> Any:
    """Rounding with halves away from zero, as C's `round`."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(x.dtype.type(1), x), x.dtype.type(0))


# Numbers rounded as if quantized.


@kernel("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4")
def quantize_and_dequantize(node: KernelNode) -> Kernel:
    attrs = node.attrs
    signed, given, narrow = attrs["signed_input"], attrs["range_given"], attrs["narrow_range"]
    half_up = attrs.get("round_mode") == b"HALF_UP"
    is_small = node.output_types[0] in SMALL_FLOATS

    def run(values: Any, low: Any, high: Any, bits: Any = None) -> Any:
        number = attrs["num_bits"] if bits is None else int(bits)
        if not 0 < number < (62 if signed else 63) or (signed and number < 2):
            raise invalid(f"num_bits is out of range: {number} with signed_input_ {int(signed)}")
        x = host_array(values)
        axis = attrs["axis"]
        if given:
            least, most = _bounds(node, x, low, high)
            if (least > most).any():
                raise invalid(f"Invalid range: input_min {least.min()} > input_max {most.max()}")
        else:
            if axis < -1 or axis >= x.ndim > 0:
                raise invalid(f"Axis must be less than input dimension({x.ndim}). Found {axis}")
            others = tuple(i for i in range(x.ndim) if i != axis)
            if not x.size:
                return values
            least = x.min(others, keepdims=True) if axis != -1 else x.min()
            most = x.max(others, keepdims=True) if axis != -1 else x.max()
        dtype = np.float32 if is_small else x.dtype.type
        least, most, scale, inverse = _scales(dtype, least, most, signed, number, narrow)
        wide = x.astype(dtype)
        if given:
            wide = np.clip(wide, least, most)
        scaled = wide * scale
        rounded = np.floor(scaled + dtype(0.5)) if half_up else np.rint(scaled)
        return node.xp.asarray((rounded * inverse).astype(x.dtype))[()]

    return run


def _scales(
    dtype: Any, low: Any, high: Any, signed: bool, bits: int, narrow: bool
) -> tuple[Any, Any, Any, Any]:
    """The range that the integers reach, what numbers are multiplied by, and the inverse of that."""
    least = dtype(-(1 << bits - 1) + (1 if narrow else 0)) if signed else dtype(0)
    most = dtype((1 << bits - 1) - 1) if signed else dtype((1 << bits) - 1)
    low, high = np.asarray(low, dtype), np.asarray(high, dtype)
    greatest = np.finfo(dtype).max
    with np.errstate(all="ignore"):
        from_low = np.where(least * low > 0, least / low, greatest)
        from_high = np.where(most * high > 0, most / high, greatest)
        by_low = from_low < from_high
        scale = np.where(by_low, from_low, from_high)
        inverse = np.where(by_low, low / least if least else dtype(0), high / most)
    return (
        np.where(by_low, low, least * inverse).astype(dtype),
        np.where(by_low, most * inverse, high).astype(dtype),
        scale.astype(dtype),
        inverse.astype(dtype),
    )


@kernel("QuantizeAndDequantizeV4Grad")
def quantize_and_dequantize_grad(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(gradient: Any, values: Any, low: Any, high: Any) -> Any:
        if gradient.shape != values.shape:
            raise invalid("gradient and input must be the same size")
        least, most = _bounds(node, values, low, high)
        least, most = xp.asarray(least), xp.asarray(most)
        zero = gradient.dtype.type(0)
        below, above = values < least, values > most
        kept = xp.where(below | above, zero, gradient)
        # The ends of the range get no gradient from TensorFlow's kernel, and none from this one.
        return (
            kept[()],
            xp.zeros(np.shape(low), gradient.dtype)[()],
            xp.zeros(np.shape(high), gradient.dtype)[()],
        )

    return run


# Quantized tensors.


@kernel("QuantizeV2")
def quantize(node: KernelNode) -> Kernel:
    attrs, dtype = node.attrs, node.output_types[0]
    mode, to_even, narrow = (
        attrs["mode"].decode(),
        attrs["round_mode"] == b"HALF_TO_EVEN",
        attrs["narrow_range"],
    )
    nudge, (lowest, highest) = F(attrs["ensure_minimum_range"]), limits(dtype)
    if to_even and mode != "SCALED":
        raise invalid(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.")

    if mode == "MIN_FIRST" and attrs["axis"] != -1:
        text = "MIN_FIRST mode is not implemented for Quantize with axis != -1."
        raise errors.UnimplementedError(None, None, text)

    def run(values: Any, low: Any, high: Any) -> Any:
        x = host_array(values).astype(F)
        shape = np.shape(low)
        least, most = _bounds(node, x, low, high)
        if (least > most).any():
            raise invalid(
                f"input_min_range must be no greater than input_max_range: {least.max()} > {most.min()}"
            )
        apart = np.maximum(F(1), np.maximum(np.abs(least), np.abs(most))) * nudge
        least = np.minimum(F(0), least)
        most = np.maximum(F(0), np.maximum(most, least + apart)).astype(F)
        if mode == "SCALED":
            bottom = F(lowest + (1 if narrow else 0))
            with np.errstate(all="ignore"):
                by_low = np.where(bottom * least > 0, bottom / least, _GREATEST)
                by_high = np.where(F(highest) * most > 0, F(highest) / most, _GREATEST)
            scale = np.minimum(by_low, by_high).astype(F)
            least, most = (bottom / scale).astype(F), (F(highest) / scale).astype(F)
            scaled = np.clip(x, least, most) * scale
            made = np.rint(scaled) if to_even else halves_away(scaled)
        elif mode == "MIN_COMBINED":
            scale = ((float(highest) - float(lowest)) / (most - least).astype(np.float64)).astype(F)
            moved = (np.clip(x, least, most) - least) * scale
            half = F((float(highest) - lowest + 1) / 2)
            made = halves_away(moved - half) if lowest < 0 else np.floor(moved + F(0.5))
        else:
            made = _by_first(x, least, most, lowest, highest)
        made = np.clip(made.astype(np.float64), lowest, highest)
        return as_quantized(made, dtype), least.reshape(shape)[()], most.reshape(shape)[()]

    return run


def _by_first(x: Any, least: Any, most: Any, lowest: int, highest: int) -> Any:
    """Integers of which one stands for zero exactly: both ends of the range are rounded by themselves."""
    steps = float(highest) - lowest + 1
    with np.errstate(all="ignore"):
        scale = np.where(most == least, 0.0, (steps - 1) / (np.asarray(most, np.float64) - least))
    rounded = halves_away(np.asarray(x * scale.astype(F), F)).astype(np.float64)
    return rounded - halves_away(np.asarray(least * scale, np.float64)) + lowest


def quantized_number(value: float, low: float, high: float, dtype: DType) -> int:
    """The integer that stands for a number, which may be out of the dtype's range."""
    lowest, highest = limits(dtype)
    if low == high:
        return lowest
    steps = float(highest) - lowest + 1
    span = (high - low) * (steps / (steps - 1))
    if not span:
        return lowest
    scale = steps / span
    rounded = [math.floor(abs(v * scale) + 0.5) * (1 if v >= 0 else -1) for v in (value, low)]
    return int(rounded[0] - rounded[1] + lowest)


@kernel("Dequantize")
def dequantize(node: KernelNode) -> Kernel:
    attrs, dtype, target = node.attrs, node.input_types[0], node.output_types[0].as_numpy_dtype
    mode, (lowest, highest) = attrs["mode"].decode(), limits(node.input_types[0])
    narrow = attrs["narrow_range"]

    def run(values: Any, low: Any, high: Any) -> Any:
        x = plain(values, dtype)
        scale: Any
        least, most = (np.asarray(end, F) for end in _bounds(node, x, low, high))
        if mode == "MIN_COMBINED":
            half = F(0 if lowest >= 0 else (float(highest) - lowest + 1) / 2)
            scale = ((most - least) / (float(highest) - lowest)).astype(F)
            made = (x.astype(F) + half) * scale + least
        elif mode == "SCALED":
            bottom = lowest + (1 if narrow else 0)
            scale = most / F(highest)
            if lowest < 0:
                scale = np.maximum(least / F(bottom), scale)
            made = x.astype(F) * scale.astype(F)
        else:
            steps = float(highest) - lowest + 1
            span = (most.astype(np.float64) - least) * (steps / (steps - 1))
            scale = span / steps
            with np.errstate(all="ignore"):
                start = np.where(scale == 0, least, halves_away(least / scale) * scale)
            made = start + (x.astype(np.float64) - lowest) * scale
        return node.xp.asarray(made.astype(target))[()]

    return run


@kernel("QuantizedRelu", "QuantizedRelu6", "QuantizedReluX")
def relu(node: KernelNode) -> Kernel:
    dtype, given = node.input_types[0], 6.0 if node.op.endswith("6") else None

    def run(values: Any, *limit_and_range: Any) -> Any:
        *limit, low, high = limit_and_range
        check_end("min_features", low)
        check_end("max_features", high)
        greatest = float(limit[0]) if limit else given
        lowest, highest = limits(dtype)
        zero = min(max(quantized_number(0.0, float(low), float(high), dtype), lowest), highest)
        x = np.maximum(plain(values, dtype), raw(dtype).type(zero))
        if greatest is not None:
            top = min(max(quantized_number(greatest, float(low), float(high), dtype), lowest), highest)
            x = np.minimum(x, raw(dtype).type(top))
        return as_quantized(x, node.output_types[0]), F(low), F(high)

    return run


@kernel("QuantizedMatMul")
def matmul(node: KernelNode) -> Kernel:
    first, second = node.input_types[:2]
    flips = node.attrs["transpose_a"], node.attrs["transpose_b"]

    def run(a: Any, b: Any, low_a: Any, high_a: Any, low_b: Any, high_b: Any) -> Any:
        matrices, levels = [], []
        for x, dtype, flip, low, high in (
            (a, first, flips[0], low_a, high_a),
            (b, second, flips[1], low_b, high_b),
        ):
            check_end("min", low)
            check_end("max", high)
            if x.ndim != 2:
                raise invalid(f"a and b must be matrices, got shape {shape_text(x.shape)}")
            integers = plain(x, dtype).astype(np.int64)
            zero = quantized_number(0.0, float(low), float(high), dtype)
            matrices.append((integers.T if flip else integers) - zero)
            lowest, highest = limits(dtype)
            levels.append(F((F(high) - F(low)) / F(float(highest) - lowest)))
        if matrices[0].shape[1] != matrices[1].shape[0]:
            raise invalid(
                f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}"
            )
        product = unlocked.matmul(*matrices).astype(np.int32)
        level = F(levels[0] * levels[1])
        lowest, highest = limits(node.output_types[0])
        return as_quantized(product, node.output_types[0]), level * F(lowest), level * F(highest)

    return run


def _used_range(x: Any, dtype: DType, low: Any, high: Any) -> tuple[Any, Any]:
    """The numbers that the least and the greatest integer of a tensor stand for; zero is in between."""
    lowest, highest = limits(dtype)
    steps = float(highest) - lowest + 1
    scale = (float(high) - float(low)) * (steps / (steps - 1)) / steps
    start = float(np.rint(float(low) / scale) * scale) if scale else float(low)
    ends = [start + (float(end) - lowest) * scale for end in (x.min(), x.max())] if x.size else [0.0, 0.0]
    return F(min(0.0, ends[0])), F(max(0.0, ends[1]))


def _in_other_range(x: Any, dtype: DType, low: Any, high: Any, target: DType, least: Any, most: Any) -> Any:
    """Integers of another dtype and range that stand for the same numbers."""
    lowest, highest = limits(dtype)
    steps = float(highest) - lowest + 1
    scale = (float(high) - float(low)) * (steps / (steps - 1)) / steps
    start = float(np.rint(float(low) / scale) * scale) if scale else float(low)
    numbers = (start + (x.astype(np.float64) - lowest) * scale).astype(F)
    bottom, top = limits(target)
    wide = float(top) - bottom + 1
    span = (float(most) - float(least)) * (wide / (wide - 1))
    if not span:
        return np.full(x.shape, bottom, np.float64)
    factor = wide / span
    made = halves_away(numbers.astype(np.float64) * factor)
    made = made - halves_away(np.float64(float(least) * factor)) + bottom
    return np.clip(made, bottom, top)


@kernel("RequantizationRange")
def requantization_range(node: KernelNode) -> Kernel:
    dtype = node.input_types[0]

    def run(x: Any, low: Any, high: Any) -> Any:
        check_end("input_min", low)
        check_end("input_max", high)
        return _used_range(plain(x, dtype), dtype, low, high)

    return run


@kernel("Requantize", "QuantizeDownAndShrinkRange")
def requantize(node: KernelNode) -> Kernel:
    dtype, target = node.input_types[0], node.output_types[0]

    def run(values: Any, low: Any, high: Any, least: Any = None, most: Any = None) -> Any:
        given = {"input_min": low, "input_max": high, "requested_output_min": least}
        for name, end in {**given, "requested_output_max": most}.items():
            if end is not None:
                check_end(name, end)
        x = plain(values, dtype)
        if least is None:
            least, most = _used_range(x, dtype, low, high)
        elif least > 0:
            raise invalid(f"requested_output_min must be <= 0, but got {least}")
        elif most < least:
            raise invalid(f"requested_output_max must be >= requested_output_min, but got {most} and {least}")
        return (
            as_quantized(_in_other_range(x, dtype, low, high, target, least, most), target),
            F(least),
            F(most),
        )

    return run
