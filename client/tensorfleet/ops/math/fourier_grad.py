"""Gradients of `fourier`: the adjoint of a transform is its inverse times a factor."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, rank_of, shape_of

no_rule("RFFT3D", "IRFFT3D", "FFTND", "IFFTND", "RFFTND", "IRFFTND")


def _rank(op_type: str) -> int:
    return int(op_type[-2]) if op_type.endswith("D") else 1


def _inner(x: Tensor, rank: int) -> Tensor:
    return apply_one("StridedSlice", shape_of(x), ints([-rank]), ints([0]), ints([1]), end_mask=1)


def _count(sizes: Tensor, dtype: Any) -> Tensor:
    return apply_one("Cast", apply_one("Prod", sizes, 0), DstT=dtype)


@gradient("FFT", "FFT2D", "FFT3D")
def _fft(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("I" + op.type, grad) * _count(_inner(grad, _rank(op.type)), grad.dtype.base)


@gradient("IFFT", "IFFT2D", "IFFT3D")
def _ifft(op: Operation, grad: Tensor) -> Tensor:
    return apply_one(op.type[1:], grad) / _count(_inner(grad, _rank(op.type)), grad.dtype.base)


def _pad_inner(x: Tensor, after: Tensor, rank: int) -> Tensor:
    """x with zeros after it; the vector `after` is their number in each inner dimension."""
    outer = apply_one("Fill", apply_one("Pack", [rank_of(x) - ints(rank)], axis=0), ints(0))
    behind = apply_one("ConcatV2", [outer, after], 0)
    return apply_one("Pad", x, apply_one("Pack", [apply_one("ZerosLike", behind), behind], axis=1))


def _half(length: Tensor) -> Tensor:
    """The sizes of the output of RFFT for these lengths."""
    last = apply_one("StridedSlice", length, ints([-1]), ints([0]), ints([1]), end_mask=1)
    rest = apply_one("StridedSlice", length, ints([0]), ints([-1]), ints([1]), begin_mask=1)
    return apply_one("ConcatV2", [rest, apply_one("FloorDiv", last, ints([2])) + ints([1])], 0)


@gradient("RFFT", "RFFT2D")
def _rfft(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, length = op.inputs
    rank = _rank(op.type)
    full = _pad_inner(grad, length - _half(length), rank)
    spread = apply_one("I" + op.type[1:], full) * _count(length, grad.dtype.base)
    result = apply_one("Real", spread, Tout=x.dtype.base)
    # Elements that were cut off get zeros.
    return [_pad_inner(result, _inner(x, rank) - length, rank), None]


@gradient("IRFFT", "IRFFT2D")
def _irfft(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, length = op.inputs
    rank = _rank(op.type)
    kind = x.dtype.base
    result = apply_one(op.type[1:], grad, length, Tcomplex=kind)
    # All frequencies count twice except the first, and the last of an even length.
    last = apply_one("StridedSlice", length, ints([-1]), ints([0]), ints([1]), shrink_axis_mask=1, end_mask=1)
    places = apply_one("Range", ints(0), apply_one("FloorDiv", last, ints(2)) + ints(1), ints(1))
    is_end = apply_one(
        "LogicalOr",
        apply_one("Equal", places, ints(0)),
        apply_one("Equal", apply_one("Mul", places, ints(2)), last),
    )
    weights = ints(2) - apply_one("Cast", is_end, DstT=ints(0).dtype)
    result = result * apply_one("Cast", weights, DstT=kind) / _count(length, kind)
    return [_pad_inner(result, _inner(x, rank) - _half(length), rank), None]
