"""Gradients of calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.attr_value import NameAttrList, to_proto
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import handles
from tensorfleet.graph.apply import apply_list, apply_op
from tensorfleet.graph.function_calls import GRADIENT_RULE
from tensorfleet.graph.gradient_registry import gradient, no_rule
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

no_rule("RemoteCall")

_FLOW = frozenset(("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "For"))
_SWITCHES = frozenset(("Switch", "RefSwitch", "Enter", "RefEnter"))
_by_name: Callable[[Operation, Sequence[Any]], list[Any]] | None = None


def serve(by_name: Callable[[Operation, Sequence[Any]], list[Any]]) -> None:
    """Registers what differentiates calls of functions that call others by If, Case, While and For."""
    global _by_name
    _by_name = by_name


@gradient(GRADIENT_RULE)
def _call(op: Operation, *grads: Any) -> list[Any]:
    """The gradient of the function, which the runtime makes, or that the library names."""
    graph = op.graph
    types = {node.op for node in graph._functions[op.type].node_def}
    # In a body that is differentiated, too: it may be differentiated again.
    wanted = types & _FLOW or (graph.functional_flow and not types & _SWITCHES)
    if wanted and op.type not in graph._function_gradients and _by_name is not None:
        return _by_name(op, grads)
    function = NameAttrList(name=op.type)
    for key, value in op.attrs.items():
        to_proto(value, function.attr[key])
    return gradient_of_call(op, grads, function)


@gradient("PartitionedCall", "StatefulPartitionedCall")
def _partitioned_call(op: Operation, *grads: Any) -> list[Any]:
    return gradient_of_call(op, grads, op.attrs["f"])


def gradient_of_call(op: Operation, grads: Any, function: NameAttrList) -> list[Any]:
    """The gradient of a call of a function by a SymbolicGradient; zeros where none came."""
    given = [
        apply_op("ZerosLike", y, name="zeros_like") if g is None else g
        for y, g in zip(op.outputs, grads, strict=True)
    ]
    types = [_type(x) for x in op.inputs]
    return apply_list("SymbolicGradient", [*op.inputs, *given], Tout=types, f=function)


def _type(x: Tensor) -> DType:
    """The dtype of an input's gradient: of a handle, that of its variable."""
    known = handles.variable_of(x) if x.dtype.base is dtypes.resource else None
    return x.dtype.base if known is None else known[0]
