"""Gradients of `identity`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one

not_differentiable("Placeholder", "PlaceholderV2", "NoOp", "StopGradient", "ControlTrigger")
not_differentiable("_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv", "_ToHost", "_ToDevice")


@gradient(
    *("Identity", "PlaceholderWithDefault", "Snapshot", "GuaranteeConst", "EnsureShape", "ReadVariableOp"),
    slices=True,
)
def _same(op: Operation, grad: Tensor | IndexedSlices) -> Tensor | IndexedSlices:
    return grad


@gradient("IdentityN", slices=True)
def _identity_n(op: Operation, *grads: Tensor | IndexedSlices) -> list[Tensor | IndexedSlices]:
    return list(grads)


@gradient("PreventGradient")
def _prevented(op: Operation, grad: Tensor) -> None:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message'].decode()}")


@gradient("CheckNumerics", "CheckNumericsV2")
def _check_numerics(op: Operation, grad: Tensor) -> Tensor:
    message = "Not a number (NaN) or infinity (Inf) values detected in gradient. "
    return apply_one(op.type, grad, message=message.encode() + op.attrs["message"])
