"""Gradients of `joining`."""

from __future__ import annotations

import numpy as np

from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, rank_of, shape_of

not_differentiable("ConcatOffset")
no_rule("ParallelConcat")


@gradient("Pack")
def _pack(op: Operation, grad: Tensor) -> list[Tensor]:
    return apply_list("Unpack", grad, num=op.attrs["N"], axis=op.attrs["axis"], name="unstack")


@gradient("Unpack")
def _unpack(op: Operation, *grads: Tensor) -> Tensor:
    return apply_one("Pack", list(grads), axis=op.attrs["axis"], name="stack")


@gradient("ConcatV2")
def _concat_v2(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [*_parts(grad, op.inputs[:-1], op.inputs[-1]), None]


@gradient("Concat")
def _concat(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, *_parts(grad, op.inputs[1:], op.inputs[0])]


def _parts(grad: Tensor, values: tuple[Tensor, ...], axis: Tensor) -> list[Tensor]:
    """The pieces of `grad` along an axis that belong to each of `values`."""
    if len(values) == 1:
        return [grad]
    axis = apply_one("Cast", axis, DstT=np.int32) if axis.dtype.base.name != "int32" else axis
    sizes = [_size(value, axis) for value in values]
    known = [size for size in sizes if isinstance(size, int)]
    lengths = ints(known) if len(known) == len(sizes) else apply_one("Pack", sizes, axis=0)
    return apply_list("SplitV", grad, lengths, axis, num_split=len(values))


def _size(value: Tensor, axis: Tensor) -> int | Tensor:
    """The size of a tensor along an axis."""
    number = static_value(axis)
    if number is not None and value.dims is not None:
        size = value.dims[int(number)]
        if size is not None:
            return size
    from_front = apply_one("FloorMod", axis, rank_of(value))
    return apply_one("GatherV2", shape_of(value), from_front, 0)


def _joined(grads: tuple[Tensor, ...], axis: Tensor) -> Tensor:
    return grads[0] if len(grads) == 1 else apply_one("ConcatV2", list(grads), axis, name="concat")


@gradient("Split")
def _split(op: Operation, *grads: Tensor) -> list[Tensor | None]:
    return [None, _joined(grads, op.inputs[0])]


@gradient("SplitV")
def _split_v(op: Operation, *grads: Tensor) -> list[Tensor | None]:
    return [_joined(grads, op.inputs[2]), None, None]
