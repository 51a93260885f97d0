"""Gradients of `joining`, `padding` and `rearranging`."""

from __future__ import annotations

import numpy as np

from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, rank_of, shape_of

not_differentiable("ConcatOffset", "InvertPermutation")
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


def _unpadded(op: Operation, grad: Tensor) -> Tensor:
    x, paddings = op.inputs[:2]
    known = static_value(paddings)
    if known is not None:
        begin = constant_node(np.array(known[:, 0]), "Const")
    else:
        begin = apply_one("GatherV2", paddings, 0, 1)
    return apply_one("Slice", grad, begin, shape_of(x, paddings.dtype.base.as_numpy_dtype))


@gradient("Pad")
def _pad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [_unpadded(op, grad), None]


@gradient("PadV2")
def _pad_v2(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # None for the value of the padding, as in TensorFlow.
    return [_unpadded(op, grad), None, None]


@gradient("MirrorPad")
def _mirror_pad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [apply_one("MirrorPadGrad", grad, op.inputs[1], mode=op.attrs["mode"]), None]


@gradient("MirrorPadGrad")
def _mirror_pad_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [apply_one("MirrorPad", grad, op.inputs[1], mode=op.attrs["mode"]), None]


@gradient("Transpose", "ConjugateTranspose")
def _transpose(op: Operation, grad: Tensor) -> list[Tensor | None]:
    perm = op.inputs[1]
    inverse = apply_one("InvertPermutation", perm)
    if op.type == "ConjugateTranspose":
        grad = conj(grad)
    return [apply_one("Transpose", grad, inverse, name="transpose"), None]


@gradient("Reverse", "ReverseV2")
def _reverse(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [apply_one(op.type, grad, op.inputs[1]), None]


@gradient("ReverseSequence")
def _reverse_sequence(op: Operation, grad: Tensor) -> list[Tensor | None]:
    attrs = {key: op.attrs[key] for key in ("seq_dim", "batch_dim")}
    return [apply_one("ReverseSequence", grad, op.inputs[1], **attrs), None]


@gradient("Roll")
def _roll(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [apply_one("Roll", grad, -op.inputs[1], op.inputs[2]), None, None]


@gradient("SpaceToDepth", "DepthToSpace")
def _space_and_depth(op: Operation, grad: Tensor) -> Tensor:
    inverse = "DepthToSpace" if op.type == "SpaceToDepth" else "SpaceToDepth"
    attrs = {key: op.attrs[key] for key in ("block_size", "data_format")}
    return apply_one(inverse, grad, **attrs)
