"""Gradients of calls of traced functions: what the gradient needs of a call becomes more results of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tensorfleet.functions.branch_gradient import Differentiated, distributed, gradient_of_branches
from tensorfleet.functions.call_node import add_call
from tensorfleet.functions.naming import TRACED_CALL
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.attr_value_pb2 import NameAttrList


class _Traced(Protocol):
    def functional(self) -> tuple[str, list[Tensor]]: ...


@gradient(TRACED_CALL)
def _gradient(op: Operation, *grads: Any) -> list[Any]:
    _make_functional(op)
    made, inputs = gradient_of_branches(op, grads, [op.attrs["f"].name], 0)
    if made is None:
        return [None] * len(op.inputs)
    if made.added:
        op.put_attr("f", NameAttrList(name=made.forward[0].signature.name))
    return _called_backward(op, made, inputs)


def gradient_by_name(op: Operation, grads: Sequence[Any]) -> list[Any]:
    """The gradient of a call whose op type is the function's name."""
    made, inputs = gradient_of_branches(op, grads, [op.type], 0)
    if made is None:
        return [None] * len(op.inputs)
    if made.added:
        op.call_instead(op.graph._op_definition(made.forward[0].signature.name))
    return _called_backward(op, made, inputs)


def _called_backward(op: Operation, made: Differentiated, inputs: Sequence[Tensor]) -> list[Any]:
    [backward] = made.backward
    call = add_call(
        get_default_graph(),
        "StatefulPartitionedCall" if backward.signature.is_stateful else "PartitionedCall",
        backward.signature.name,
        inputs,
        made.types,
    )
    call.put_attr("_gradient_op_type", TRACED_CALL.encode())
    return distributed(op, made, call.outputs, 0)


def _make_functional(op: Operation) -> None:
    """Has a call go to the form of its function whose loops and conditionals are functions, too."""
    function: Any = op.graph._get_function(op.attrs["f"].name)
    if not hasattr(function, "functional"):
        return
    traced: _Traced = function
    name, more = traced.functional()
    if any(tensor.op.graph is not op.graph for tensor in more):
        raise LookupError(
            f"No gradient defined for the call {op.name}: its loops and conditionals take other tensors of "
            "the graph around it when they are traced a second time."
        )
    if more:
        op.add_inputs(more)
        op.put_attr("Tin", [tensor.dtype.base for tensor in op.inputs])
    op.put_attr("f", NameAttrList(name=name))
