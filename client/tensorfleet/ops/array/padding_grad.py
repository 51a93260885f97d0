"""Gradients of `padding`."""

from __future__ import annotations

import numpy as np

from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import reshape_like, shape_of


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


@gradient("Tile")
def _tile(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, multiples = op.inputs
    shape = shape_of(x, multiples.dtype.base.as_numpy_dtype)
    # Multiples and sizes alternate: [m0, s0, m1, s1, …]; the sum is over the multiples.
    split = apply_one("Reshape", apply_one("Pack", [multiples, shape], axis=1), [-1])
    axes = apply_one("Range", 0, apply_one("Size", split), 2)
    return [reshape_like(apply_one("Sum", apply_one("Reshape", grad, split), axes), x), None]
