"""Joining tensors and taking them apart: concat, stack, split, unstack."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    array_module,
    invalid,
    results,
    shape_text,
)
from tensorfleet_service.threads import unlocked


@array_kernel("ConcatV2", moves=True)
def concat_v2(node: KernelNode) -> Kernel:
    concat = _concat(node, "axis")
    return lambda *inputs: concat(inputs[-1], inputs[:-1])


@array_kernel("Concat", moves=True)
def concat(node: KernelNode) -> Kernel:
    concat = _concat(node, "concat_dim")
    return lambda axis, *values: concat(axis, values)


def _concat(node: KernelNode, argument: str) -> Kernel:
    xp = node.xp

    def run(axis: Any, values: tuple[Any, ...]) -> Any:
        try:
            return array_module(xp, values[0]).concatenate(values, int(axis))
        except (ValueError, TypeError, IndexError) as e:
            raise _concat_error(argument, axis, values, e) from None

    return run


def _concat_error(argument: str, axis: Any, values: tuple[Any, ...], e: Exception) -> Exception:
    if axis.ndim:
        return invalid(
            f"{argument} tensor should be a scalar integer, but got shape {shape_text(axis.shape)}"
        )
    at, rank, first = int(axis), values[0].ndim, values[0].shape
    if rank == 0:
        return invalid("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -rank <= at < rank:
        return invalid(
            f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got {at}"
        )
    for i, value in enumerate(values):
        if value.ndim != rank:
            return invalid(
                f"ConcatOp : Ranks of all input tensors should match: shape[0] = {shape_text(first)} vs. "
                f"shape[{i}] = {shape_text(value.shape)}"
            )
        for j in range(rank):
            if j != at % rank and value.shape[j] != first[j]:
                return invalid(
                    f"ConcatOp : Dimension {j} in both shapes must be equal: shape[0] = {shape_text(first)} "
                    f"vs. shape[{i}] = {shape_text(value.shape)}"
                )
    return e


_SHOWN = 254
"""Number of dimensions that a message shows: the most that a tensor has in TensorFlow."""


@kernel("ConcatOffset")
def concat_offset(node: KernelNode) -> Kernel:
    """The offset of each part of a concatenation in the whole."""

    def run(axis: Any, *shapes: Any) -> Any:
        if axis.ndim:
            raise invalid(
                "Concat dim tensor should be a scalar integer, but got shape " + shape_text(axis.shape)
            )
        for i, shape in enumerate(shapes):
            if shape.ndim != 1:
                raise invalid(f"input {i + 1} should be a vector, but got shape {shape_text(shape.shape)}")
        at, rank = int(axis), shapes[0].size
        if not -rank <= at < rank:
            raise invalid(f"Concat dim is out of range: {at} vs. {rank}")
        at %= rank
        first = shapes[0]
        offset, offsets = 0, []
        for i, shape in enumerate(shapes):
            if shape.size != rank:
                raise invalid(f"input {i} should contain {rank} elements, but got {shape.size}")
            differs = shape != first
            differs[at] = False
            if differs.any():
                raise invalid(
                    f"All dimensions except {at} must match. Input {i} has shape [{_spaced(shape)}] and "
                    f"doesn't match input 0 with shape [{_spaced(first)}]."
                )
            begin = np.zeros(rank, shape.dtype)
            begin[at] = offset
            offsets.append(begin)
            offset += int(shape[at])
        return results(offsets)

    return run


def _spaced(sizes: Any) -> str:
    shown = " ".join(map(str, sizes[:_SHOWN].tolist()))
    return shown if sizes.size <= _SHOWN else f"{shown} ..."


@array_kernel("Pack", moves=True)
def pack(node: KernelNode) -> Kernel:
    xp, axis = node.xp, node.attrs["axis"]

    def run(*values: Any) -> Any:
        first = values[0]
        rank, shape = first.ndim + 1, first.shape
        if not -rank <= axis < rank:
            raise invalid(f"axis = {axis} not in [{-rank}, {rank})")
        place = axis % rank
        dims = (*shape[:place], 1, *shape[place:])
        for i, value in enumerate(values):
            if value.shape != shape:
                raise invalid(
                    f"Shapes of all inputs must match: values[0].shape = {shape_text(shape)} != "
                    f"values[{i}].shape = {shape_text(value.shape)}"
                )
        return array_module(xp, first).concatenate([v.reshape(dims) for v in values], place)

    def scalars(*values: Any) -> Any:
        # The usual case in shape computations, where a reshape of each would cost more than the rest.
        if axis not in (0, -1) or any(v.ndim for v in values):
            return run(*values)
        return np.array(values, dtype)

    def handles(*values: Any) -> Any:
        # The handle of a resource is the object itself.
        row = np.empty(len(values), object)
        for i, value in enumerate(values):
            if isinstance(value, np.ndarray):
                raise invalid("Only single handles can be packed, not tensors of them")
            row[i] = value
        return row

    if node.output_types[0] is dtypes.resource:
        return handles
    dtype = node.output_types[0].np
    plain = node.output_types[0] is not dtypes.string and not node.output_types[0].is_quantized
    return scalars if xp is np and plain else run


@array_kernel("ParallelConcat", moves=True)
def parallel_concat(node: KernelNode) -> Kernel:
    xp = node.xp
    return lambda *values: xp.concatenate(values, 0)


@array_kernel("Unpack")
def unpack(node: KernelNode) -> Kernel:
    xp, axis, num = node.xp, node.attrs["axis"], node.attrs["num"]

    def run(value: Any) -> Any:
        rank = value.ndim
        if not -rank <= axis < rank:
            raise invalid(f"axis = {axis} not in [{-rank}, {rank})")
        if value.shape[axis] != num:
            raise invalid(
                f"Input shape axis {axis % rank} must equal {num}, got shape {shape_text(value.shape)}"
            )
        if axis % rank:
            value = array_module(xp, value).moveaxis(value, axis, 0)
        return results(list(value))

    return run


@array_kernel("Split")
def split(node: KernelNode) -> Kernel:
    num = node.attrs["num_split"]

    def run(split_dim: Any, value: Any) -> Any:
        axis, rank = _axis_of(split_dim), value.ndim
        if not -rank <= axis < rank:
            raise invalid(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")
        axis %= rank
        size = value.shape[axis]
        if size % num:
            raise invalid(
                "Number of ways to split should evenly divide the split dimension, but got split_dim "
                f"{axis} (size = {size}) and num_split {num}"
            )
        before, part = (slice(None),) * axis, size // num
        return results([value[(*before, slice(i * part, i * part + part))] for i in range(num)])

    return run


@array_kernel("SplitV")
def split_v(node: KernelNode) -> Kernel:
    num = node.attrs["num_split"]

    def run(value: Any, size_splits: Any, split_dim: Any) -> Any:
        axis, rank = _axis_of(split_dim), value.ndim
        if size_splits.shape != (num,):
            raise invalid(
                "size of the split_tensor must be 1-D and have the same elements as outputs got "
                f"{size_splits.ndim} -D and {size_splits.size} elements"
            )
        if not -rank <= axis < rank:
            raise invalid(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")
        axis %= rank
        sizes, size = unlocked.listed(size_splits), value.shape[axis]
        _check_sizes(sizes, size)
        before, begin, parts = (slice(None),) * axis, 0, []
        for count in sizes:
            end = size - sum(sizes) - 1 + begin if count == -1 else begin + count
            parts.append(value[(*before, slice(begin, end))])
            begin = end
        return results(parts)

    return run


def _axis_of(split_dim: Any) -> int:
    """The axis, which may be in a tensor of any rank with one element."""
    if split_dim.size != 1:
        raise invalid(f"split_dim_tensor must have exactly one element. Its shape is {list(split_dim.shape)}")
    return int(split_dim.item())


def _check_sizes(sizes: list[int], total: int) -> None:
    known = sum(size for size in sizes if size != -1)
    if sizes.count(-1) > 1:
        raise invalid("There can only be one -1 in the input.")
    if known > total if -1 in sizes else known != total:
        raise invalid(
            "Determined shape must either match input shape along split_dim exactly if fully "
            "specified, or be "
            "less than the size of the input along split_dim if not fully specified.  Got: "
            f"{known}"
        )
    if min(sizes) < -1:
        raise invalid(f"Split size at index {sizes.index(min(sizes))} must be >= 0. Got: {min(sizes)}")
