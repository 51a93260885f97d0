"""Elements in another order: Transpose, Reverse, ReverseSequence, Roll, SpaceToDepth."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    host_array,
    ints,
    invalid,
    shape_text,
)
from tensorfleet_service.threads import unlocked


@array_kernel("Transpose", moves=True)
def transpose(node: KernelNode) -> Kernel:
    return _transposed


def _transposed(x: Any, perm: Any) -> Any:
    order = ints(perm)
    if perm.ndim != 1 or sorted(order) != list(range(x.ndim)):
        order = _checked_order(x, perm)
    return x.transpose(order) if order else x


def _checked_order(x: Any, perm: Any) -> list[int]:
    """The permutation with negative axes counted from the end. Raises InvalidArgumentError."""
    rank = x.ndim
    if perm.ndim != 1:
        raise invalid(f"perm must be rank 1, got shape {shape_text(perm.shape)}")
    order: list[int] = ints(perm)
    if len(order) != rank:
        raise invalid(
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size {len(order)}"
        )
    for axis in order:
        if not -rank <= axis < rank:
            raise invalid(f"{axis} is out of range [0 .. {rank})")
    counted = [axis % rank for axis in order]
    for axis in range(rank):
        if axis not in counted:
            raise invalid(f"{axis} is missing from {{{','.join(map(str, order))}}}.")
    return counted


@array_kernel("ConjugateTranspose", moves=True)
def conjugate_transpose(node: KernelNode) -> Kernel:
    if node.output_types[0].is_complex:
        return lambda x, perm: _transposed(x, perm).conj()
    return _transposed


@kernel("InvertPermutation")
def invert_permutation(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np

    def run(x: Any) -> Any:
        if x.ndim != 1:
            raise invalid("invert_permutation expects a 1D vector.")
        size = x.size
        if size and (int(x.min()) < 0 or int(x.max()) >= size):
            bad = int(x[((x < 0) | (x >= size)).argmax()])
            raise invalid(f"{bad} is not between 0 and {size}")
        result = xp.full(size, -1, dtype)
        result[x] = xp.arange(size, dtype=dtype)
        if size and int(result.min()) < 0:
            again = np.ones(size, bool)
            again[unlocked.unique(host_array(x))[1]] = False
            twice = int(x[int(again.argmax())])
            raise invalid(f"{twice} is duplicated in the input.")
        return result

    return run


@array_kernel("Reverse", moves=True)
def reverse(node: KernelNode) -> Kernel:
    def run(x: Any, dims: Any) -> Any:
        if not x.ndim:
            return x  # as in TensorFlow, whatever the dimensions are
        if dims.ndim != 1:
            raise invalid(f"'dims' must be 1-dimension, not {dims.ndim}")
        if dims.size != x.ndim:
            raise invalid(
                f"'dims' must have the same number of values as 'input' has dimensions. "
                f"'input' has {x.ndim}'dims' "
                f"has {dims.size} values"
            )
        return x[tuple(slice(None, None, -1 if d else 1) for d in ints(dims))]

    return run


@array_kernel("ReverseV2", moves=True)
def reverse_v2(node: KernelNode) -> Kernel:
    def run(x: Any, axis: Any) -> Any:
        if not x.ndim:
            return x
        if axis.ndim != 1:
            raise invalid(f"'dims' must be 1-dimension, not {axis.ndim}")
        index = [slice(None)] * x.ndim
        for at in ints(axis):
            if not -x.ndim <= at < x.ndim:
                raise invalid(f"'axis'[0] = {at} is out of valid range [0, {x.ndim - 1}")
            if index[at].step:
                raise invalid(f"axis {at % x.ndim} specified more than once.")
            index[at] = slice(None, None, -1)
        return x[tuple(index)]

    return run


@array_kernel("ReverseSequence", moves=True)
def reverse_sequence(node: KernelNode) -> Kernel:
    xp, seq, batch = node.xp, node.attrs["seq_dim"], node.attrs["batch_dim"]

    def run(x: Any, seq_lengths: Any) -> Any:
        if seq_lengths.ndim != 1:
            raise invalid(f"seq_lengths must be 1-dim, not {seq_lengths.ndim}")
        if batch == seq:
            raise invalid(f"batch_dim == seq_dim == {seq}")
        if not (seq < x.ndim and batch < x.ndim):
            label, at = ("seq_dim", seq) if seq >= x.ndim else ("batch_dim", batch)
            raise invalid(f"{label} must be < input rank ( {at} vs. {x.ndim})")
        if seq_lengths.size != x.shape[batch]:
            raise invalid(
                f"Length of seq_lengths != input.dims({batch}), ({seq_lengths.size} vs. {x.shape[batch]})"
            )
        size = x.shape[seq]
        wrong = (seq_lengths < 0) | (seq_lengths > size)
        if bool(wrong.any()):
            i = int(wrong.argmax())
            wanted = "< 0" if seq_lengths[i] < 0 else f"> input.dims({seq})"
            raise invalid(f"seq_lens({i}) {wanted}")
        # For each batch the places in the order in which they are read.
        steps, counts = xp.arange(size), seq_lengths[:, None]
        order = xp.where(steps < counts, counts - 1 - steps, steps)
        dims = [1] * x.ndim
        dims[batch], dims[seq] = x.shape[batch], size
        order = (order if batch < seq else order.T).reshape(dims)
        return xp.take_along_axis(x, order, seq)

    return run


@array_kernel("Roll", moves=True)
def roll(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(x: Any, shift: Any, axis: Any) -> Any:
        if x.ndim == 0:
            raise invalid("input must be 1-D or higher")
        if shift.ndim > 1 or axis.ndim > 1:
            name = "shift" if shift.ndim > 1 else "axis"
            raise invalid(
                f"{name} must be a scalar or a 1-D vector. Found: "
                f"{shape_text((shift if shift.ndim > 1 else axis).shape)}"
            )
        shifts, axes = ints(shift), ints(axis)
        if len(shifts) != len(axes):
            raise invalid("shift and axis must have the same size")
        for at in axes:
            if not -x.ndim <= at < x.ndim:
                raise invalid(f"axis {at} is out of range")
        return xp.roll(x, tuple(shifts), tuple(axes))

    return run


@array_kernel("SpaceToDepth", moves=True)
def space_to_depth(node: KernelNode) -> Kernel:
    block, channels_last = node.attrs["block_size"], _channels_last(node)

    def run(x: Any) -> Any:
        batch, height, width, depth = _image_sizes(x, channels_last)
        if width % block or height % block:
            raise invalid(
                f"Image width {width} and height {height} should be divisible by block_size: {block}"
            )
        high, wide = height // block, width // block
        if channels_last:
            parts = x.reshape(batch, high, block, wide, block, depth).transpose(0, 1, 3, 2, 4, 5)
            return parts.reshape(batch, high, wide, block * block * depth)
        parts = x.reshape(batch, depth, high, block, wide, block).transpose(0, 3, 5, 1, 2, 4)
        return parts.reshape(batch, block * block * depth, high, wide)

    return run


@array_kernel("DepthToSpace", moves=True)
def depth_to_space(node: KernelNode) -> Kernel:
    block, channels_last = node.attrs["block_size"], _channels_last(node)

    def run(x: Any) -> Any:
        batch, high, wide, depth = _image_sizes(x, channels_last)
        if depth % (block * block):
            raise invalid(f"Input depth dimension {depth} should be divisible by: {block * block}")
        depth //= block * block
        if channels_last:
            parts = x.reshape(batch, high, wide, block, block, depth).transpose(0, 1, 3, 2, 4, 5)
            return parts.reshape(batch, high * block, wide * block, depth)
        parts = x.reshape(batch, block, block, depth, high, wide).transpose(0, 3, 4, 1, 5, 2)
        return parts.reshape(batch, depth, high * block, wide * block)

    return run


def _channels_last(node: KernelNode) -> bool:
    if node.attrs["data_format"] == b"NCHW_VECT_C":
        raise invalid(f"{node.op} does not take the data format NCHW_VECT_C")
    return bool(node.attrs["data_format"] == b"NHWC")


def _image_sizes(x: Any, channels_last: bool) -> tuple[int, int, int, int]:
    if x.ndim != 4:
        raise invalid(f"Input rank should be 4 instead of {x.ndim}")
    a, b, c, d = x.shape
    return (a, b, c, d) if channels_last else (a, c, d, b)
