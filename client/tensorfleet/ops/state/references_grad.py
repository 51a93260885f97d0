"""Gradient rules of references."""

from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

no_rule(
    "RefSelect", "TemporaryVariable", "DestroyTemporaryVariable", "ResourceCountUpTo", "DisableCopyOnRead"
)


@gradient("RefIdentity")
def _identity(op: Operation, grad: Tensor) -> Tensor:
    return grad
