"""Gradients of `rearranging`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj

not_differentiable("InvertPermutation")


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
