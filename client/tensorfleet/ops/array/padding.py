"""Repeating and padding: tile, pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import Array, static_dims, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, multiply_dims, with_rank


def _tile_shape(op: RuleNode) -> list[Dims]:
    (count,) = with_rank(op.inputs[1].dims, 1)
    dims, multiples = op.inputs[0].dims, static_dims(op.inputs[1])
    if dims is not None and count not in (None, len(dims)):
        raise ValueError(f"Shape must be rank {len(dims)} but is rank {count}")
    if multiples is None:
        rank = len(dims) if dims is not None else count
        return [None if rank is None else (None,) * rank]
    return [
        tuple(multiply_dims(pair) for pair in zip(with_rank(dims, len(multiples)), multiples, strict=True))
    ]


def _pad_shape(op: RuleNode) -> list[Dims]:
    return [_padded(op, 1)]


def _mirror_pad_grad_shape(op: RuleNode) -> list[Dims]:
    return [_padded(op, -1)]


def _padded(op: RuleNode, sign: int) -> Dims:
    count, pair = with_rank(op.inputs[1].dims, 2)
    merge_dim(pair, 2)
    dims, paddings = op.inputs[0].dims, static_value(op.inputs[1])
    if dims is not None and count is not None:
        with_rank(dims, count)
    elif dims is not None and (sign > 0 or paddings is not None):
        count = len(dims)
    if count is None:
        return None
    if paddings is None:
        return (None,) * count
    if paddings.size and paddings.min() < 0:
        raise ValueError("Paddings must be non-negative")
    sums = paddings.sum(1).tolist()
    sizes = [None if d is None else d + sign * s for d, s in zip(with_rank(dims, count), sums, strict=True)]
    if any(d is not None and d < 0 for d in sizes):
        raise ValueError("Paddings must not be greater than the dimension")
    return tuple(sizes)


op(
    "Tile(input: T, multiples: Tmultiples) -> (output: T)",
    "T: type",
    "Tmultiples: {int32, int64} = int32",
    shape=_tile_shape,
)
op(
    "Pad(input: T, paddings: Tpaddings) -> (output: T)",
    "T: type",
    "Tpaddings: {int32, int64} = int32",
    shape=_pad_shape,
)
op(
    "PadV2(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)",
    "T: type",
    "Tpaddings: {int32, int64} = int32",
    shape=_pad_shape,
)
op(
    "MirrorPad(input: T, paddings: Tpaddings) -> (output: T)",
    "T: type",
    "Tpaddings: {int32, int64} = int32",
    'mode: {"REFLECT", "SYMMETRIC"}',
    shape=_pad_shape,
)
op(
    "MirrorPadGrad(input: T, paddings: Tpaddings) -> (output: T)",
    "T: type",
    "Tpaddings: {int32, int64} = int32",
    'mode: {"REFLECT", "SYMMETRIC"}',
    shape=_mirror_pad_grad_shape,
)


@static_rule("Tile")
def _tile_value(op: RuleNode) -> Array | None:
    value, multiples = map(static_value, op.inputs)
    return None if value is None or multiples is None else np.tile(value, multiples.tolist())


@takes_composites
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """`input` repeated multiples[i] times along each dimension i (`tf.tile`).

    Example:
        >>> tf.Session().run(tf.tile([1, 2], [2]))
        array([1, 2, 1, 2], dtype=int32)
    """
    return apply_one("Tile", input, multiples, name=name)


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """`tensor` with more elements around it (`tf.pad`).

    Args:
        paddings: integers [rank(tensor), 2]: how many before and after, in each dimension.
        mode: "CONSTANT"; "REFLECT" mirrors without the outermost elements; "SYMMETRIC" mirrors with them.
        constant_values: the scalar that "CONSTANT" adds.

    Raises:
        ValueError: another mode, or static shapes that do not fit.

    Example:
        >>> tf.Session().run(tf.pad([1, 2], [[1, 0]]))
        array([0, 1, 2], dtype=int32)
    """
    match mode.upper():
        case "CONSTANT":
            if (
                not isinstance(constant_values, Tensor)
                and np.ndim(constant_values) == 0
                and not constant_values
            ):
                return apply_one("Pad", tensor, paddings, name=name)
            return apply_one("PadV2", tensor, paddings, constant_values, name=name)
        case "REFLECT" | "SYMMETRIC" as mirror:
            return apply_one("MirrorPad", tensor, paddings, mode=mirror, name=name)
    raise ValueError(
        f"Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT', or "
        f"'SYMMETRIC'. Received `mode` = {mode}"
    )
