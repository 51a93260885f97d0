"""Gradients of `identity`, `constants`, `shaping`, `logging` and the variables."""

from __future__ import annotations

from tensorfleet.graph import hints
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import rank_of, reshape_like, shape_of, summed_to

not_differentiable("Placeholder", "PlaceholderV2", "NoOp", "StopGradient", "ControlTrigger")
not_differentiable("Const", "ZerosLike", "OnesLike", "Range", "LinSpace")
not_differentiable("Shape", "ShapeN", "Size", "Rank", "BroadcastArgs", "BroadcastGradientArgs")
not_differentiable("Assert", "PrintV2", "StringFormat", "Timestamp")
not_differentiable("VarHandleOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp")
not_differentiable("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
not_differentiable("Variable", "VariableV2", "IsVariableInitialized", "Assign", "AssignAdd", "AssignSub")
not_differentiable("CountUpTo", "_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv")


@gradient(
    *("Identity", "PlaceholderWithDefault", "Snapshot", "GuaranteeConst", "EnsureShape", "ReadVariableOp"),
    slices=True,
)
def _same(op: Operation, grad: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
    return grad


@gradient("IdentityN", slices=True)
def _identity_n(op: Operation, *grads: Tensor | IndexedSlices) -> list[Tensor | IndexedSlices]:
    return list(grads)


@gradient("Print", slices=True)
def _print(op: Operation, grad: Tensor | IndexedSlices) -> list[Tensor | IndexedSlices | None]:
    return [grad] + [None] * (len(op.inputs) - 1)


@gradient("PreventGradient")
def _prevented(op: Operation, grad: Tensor) -> None:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message'].decode()}")


@gradient("CheckNumerics")
def _check_numerics(op: Operation, grad: Tensor) -> Tensor:
    message = "Not a number (NaN) or infinity (Inf) values detected in gradient. "
    return apply_one("CheckNumerics", grad, message=message.encode() + op.attrs["message"])


@gradient("Fill")
def _fill(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("Sum", grad, apply_one("Range", 0, rank_of(grad), 1))]


@gradient("Reshape")
def _reshape(op: Operation, grad: Tensor) -> list[Tensor | None]:
    result = apply_one("Reshape", grad, shape_of(op.inputs[0]))
    if hints.UNCHANGED in op.attrs:
        hints.unchanged(result)
    return [result, None]


@gradient("ExpandDims")
def _expand_dims(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [reshape_like(grad, op.inputs[0]), None]


@gradient("Squeeze")
def _squeeze(op: Operation, grad: Tensor) -> Tensor:
    return reshape_like(grad, op.inputs[0])


@gradient("BroadcastTo")
def _broadcast_to(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [summed_to(grad, op.outputs[0], op.inputs[0]), None]


@gradient("Tile")
def _tile(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, multiples = op.inputs
    shape = shape_of(x, multiples.dtype.base.as_numpy_dtype)
    # Multiples and sizes take turns: [m0, s0, m1, s1, …]; the sum is over the multiples.
    split = apply_one("Reshape", apply_one("Pack", [multiples, shape], axis=1), [-1])
    axes = apply_one("Range", 0, apply_one("Size", split), 2)
    return [reshape_like(apply_one("Sum", apply_one("Reshape", grad, split), axes), x), None]
