"""Initial values that depend on other variables, which may not be initialized yet."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import attr_value
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import attr_value_pb2

_STOPS = frozenset(("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If"))
_VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))


def guarded_initial_value(scope: str, value: Tensor) -> Tensor:
    """`value`, computed from the initial values of those variables that are not initialized.

    If it depends on no variable, this is `value` itself; otherwise the operations between are copied, named
    after the variable whose name scope is `scope`, as TensorFlow does.
    """
    order = _ancestors(value.op)
    if order is None:
        return value
    replaced: dict[Operation, Operation] = {}
    for op in order:
        replaced[op] = _guarded(scope, op, replaced)
    return replaced[value.op].outputs[value.value_index]


def _ancestors(last: Operation) -> list[Operation] | None:
    """`last` and the operations that it depends on, up to those that need no copy, inputs before consumers;
    None if they form a cycle."""
    order: list[Operation] = []
    finished: dict[Operation, bool] = {}
    stack = [last]
    while stack:
        op = stack[-1]
        sources = () if op.type in _STOPS else (*(t.op for t in op.inputs), *op.control_inputs)
        before = [b for b in sources if not finished.get(b)]
        if op not in finished and before:
            if any(b in finished for b in before):
                return None
            finished[op] = False
            stack += before
            continue
        stack.pop()
        if not finished.get(op):
            finished[op] = True
            order.append(op)
    return order


def _guarded(scope: str, op: Operation, replaced: dict[Operation, Operation]) -> Operation:
    if op.type in _STOPS:
        return op
    if op.type in _VARIABLES:
        value = _initialized_value(op)
        return op if value is None else value.op
    inputs = [replaced[t.op].outputs[t.value_index] for t in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs, strict=True)):
        return op
    attrs = {}
    for key, attr in op.attrs.items():
        attrs[key] = attr_value_pb2.AttrValue()
        attr_value.to_proto(attr, attrs[key])
    name = f"{op.name}_{scope}".replace(":", "_")
    return op.graph.create_op("Switch" if op.type == "RefSwitch" else op.type, inputs, name=name, attrs=attrs)


def _initialized_value(op: Operation) -> Any:
    for collection in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(collection):
            if variable.name in (op.name, f"{op.name}:0"):
                return variable.initialized_value()
    return None
