"""Blocks of space as batches: `tf.space_to_batch_nd` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank, with_rank_at_least


def _to_batch(dims: Dims, count: int | None, block: Any, pads: Any) -> Dims:
    """The shape of SpaceToBatch; block [count] and pads [count, 2] are arrays, or None."""
    if dims is None or count is None:
        return None
    if block is None:
        with_rank_at_least(dims, count + 1)
        return (None,) * (count + 1) + dims[count + 1 :]
    with_rank_at_least(dims, count + 1)
    batch = None if dims[0] is None else dims[0] * int(np.prod(block))
    space: list[int | None] = []
    for i in range(count):
        size = dims[i + 1]
        if size is None or pads is None:
            space.append(None)
            continue
        padded = size + int(pads[i].sum())
        if padded % int(block[i]):
            raise ValueError(f"Dimension size must be evenly divisible by {block[i]} but is {padded}")
        space.append(padded // int(block[i]))
    return (batch, *space, *dims[count + 1 :])


def _from_batch(dims: Dims, count: int | None, block: Any, crops: Any) -> Dims:
    if dims is None or count is None:
        return None
    if block is None:
        with_rank_at_least(dims, count + 1)
        return (None,) * (count + 1) + dims[count + 1 :]
    with_rank_at_least(dims, count + 1)
    batch = dims[0]
    if batch is not None:
        parts = int(np.prod(block))
        if batch % parts:
            raise ValueError(f"Dimension size must be evenly divisible by {parts} but is {batch}")
        batch //= parts
    space: list[int | None] = []
    for i in range(count):
        size = dims[i + 1]
        if size is None or crops is None:
            space.append(None)
            continue
        left = size * int(block[i]) - int(crops[i].sum())
        if left < 0:
            raise ValueError(f"Negative dimension size caused by cropping {size * int(block[i])}")
        space.append(left)
    return (batch, *space, *dims[count + 1 :])


def _general(node: RuleNode) -> tuple[Dims, int | None, Any, Any]:
    """The input's shape, the number of block dimensions, the block's shape and the paddings or crops."""
    block, pads = static_value(node.inputs[1]), static_value(node.inputs[2])
    if node.inputs[1].dims is None or len(node.inputs[1].dims) != 1:
        raise ValueError("block_shape must have rank 1.")
    (count,) = node.inputs[1].dims
    if count is None:
        raise ValueError("block_shape must have known size.")
    rows, pair = with_rank(node.inputs[2].dims, 2)
    count = merge_dim(count, rows)
    merge_dim(pair, 2)
    if block is not None and block.size and block.min() < 1:
        raise ValueError(f"block_shape must be positive, got {block.tolist()}")
    if pads is not None and pads.size and pads.min() < 0:
        raise ValueError("paddings cannot be negative")
    return node.inputs[0].dims, count, block, pads


def _square(node: RuleNode) -> tuple[int, Any, Any]:
    pads = static_value(node.inputs[1])
    merge_dim(with_rank(node.inputs[1].dims, 2)[1], 2)
    with_rank(node.inputs[0].dims, 4)
    if pads is not None and pads.size and pads.min() < 0:
        raise ValueError("paddings cannot be negative")
    return 2, np.array([node.attrs["block_size"]] * 2), pads


op(
    "SpaceToBatch(input: T, paddings: Tpaddings) -> (output: T)",
    "T: type",
    "Tpaddings: {int32, int64} = int32",
    "block_size: int >= 2",
    shape=lambda node: [_to_batch(with_rank(node.inputs[0].dims, 4), *_square(node))],
)
op(
    "BatchToSpace(input: T, crops: Tidx) -> (output: T)",
    "T: type",
    "block_size: int >= 2",
    "Tidx: {int32, int64} = int32",
    shape=lambda node: [_from_batch(with_rank(node.inputs[0].dims, 4), *_square(node))],
)
op(
    "SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)",
    "T: type",
    "Tblock_shape: {int32, int64} = int32",
    "Tpaddings: {int32, int64} = int32",
    shape=lambda node: [_to_batch(*_general(node))],
)
op(
    "BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)",
    "T: type",
    "Tblock_shape: {int32, int64} = int32",
    "Tcrops: {int32, int64} = int32",
    shape=lambda node: [_from_batch(*_general(node))],
)


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """The elements at each place of a block as a batch of their own (`tf.space_to_batch_nd`).

    Args:
        input: [batch, space..., rest...].
        block_shape: a size for each dimension of the space.
        paddings: [dimensions, 2], zeros before and after; each padded size is a multiple of the block's.

    Returns:
        [batch * prod(block_shape), padded sizes / block_shape..., rest...].
    """
    return apply_one("SpaceToBatchND", input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of `space_to_batch_nd`, with `crops` in place of paddings (`tf.batch_to_space_nd`)."""
    return apply_one("BatchToSpaceND", input, block_shape, crops, name=name)


def _square_block(block_size: Any, block_shape: Any) -> Any:
    size = block_shape if block_size is None else block_size
    if size is None:
        raise TypeError("Missing argument `block_size`")
    return np.array([size, size], np.int64) if isinstance(size, int) else size


def space_to_batch(
    input: Any, paddings: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """`space_to_batch_nd` with one block size for height and width (`tf.space_to_batch`)."""
    return space_to_batch_nd(input, _square_block(block_size, block_shape), paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: Any, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """`batch_to_space_nd` with one block size for height and width (`tf.batch_to_space`)."""
    return batch_to_space_nd(input, _square_block(block_size, block_shape), crops, name)


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Paddings that make sizes multiples of a block, and the crops that undo them
    (`tf.required_space_to_batch_paddings`).

    Args:
        input_shape: int32 [n], the sizes.
        block_shape: int32 [n].
        base_paddings: int32 [n, 2], the least paddings; zeros by default.

    Returns:
        (paddings, crops), each [n, 2].
    """
    with framework.name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes = convert_to_tensor(input_shape, "int32", "input_shape")
        block = convert_to_tensor(block_shape, "int32", "block_shape")
        if block.dims is None or len(block.dims) != 1 or block.dims[0] is None:
            raise ValueError(f"`block_shape` must be a vector of known size. Received: {block.shape}")
        count = block.dims[0]
        if count == 0:
            return zeros([0, 2], "int32"), zeros([0, 2], "int32")
        if base_paddings is None:
            base = zeros([count, 2], "int32")
        else:
            base = convert_to_tensor(base_paddings, "int32", "base_paddings")
        known = [static_value(tensor) for tensor in (sizes, block, base)]
        if all(value is not None for value in known):
            a, b, c = (np.asarray(value) for value in known)
            extra = -(a + c.sum(1)) % b
            paddings = np.stack([c[:, 0], c[:, 1] + extra], 1).astype(np.int32)
            crops = np.stack([0 * extra, extra], 1).astype(np.int32)
            return constant(paddings, name="paddings"), constant(crops, name="crops")
        start, end = base[:, 0], base[:, 1]
        total = sizes + start + end
        missing = (block - total % block) % block
        end = end + missing
        paddings_made = stack([[start[i], end[i]] for i in range(count)], name="paddings")
        crops_made = stack([[0, missing[i]] for i in range(count)], name="crops")
        return paddings_made, crops_made
