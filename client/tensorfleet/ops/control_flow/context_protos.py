"""Conversion of branches and loops to and from their messages in MetaGraphDefs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.scopes import prepend_scope, strip_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import attr_value_pb2

if TYPE_CHECKING:
    from tensorfleet.ops.control_flow.control_flow_contexts import CondContext, ControlFlowContext
    from tensorfleet.ops.control_flow.while_context import WhileContext
    from tensorfleet.proto.control_flow_pb2 import (
        CondContextDef,
        ControlFlowContextDef,
        ValuesDef,
        WhileContextDef,
    )


def cond_to_proto(context: CondContext, scope: str | None) -> CondContextDef | None:
    """A branch as a message; None if it is outside of the name scope to export."""
    from tensorfleet.proto.control_flow_pb2 import CondContextDef

    if scope is not None and not context.name.startswith(scope):
        return None
    message = CondContextDef(
        context_name=strip_scope(context.name, scope),
        pred_name=strip_scope(context.pred.name, scope),
        pivot_name=strip_scope(context.pivot.name, scope),
        branch=context.branch,
    )
    _fill(message, context, scope)
    return message


def while_to_proto(context: WhileContext, scope: str | None) -> WhileContextDef | None:
    """A loop as a message; None if it is outside of the name scope to export."""
    from tensorfleet.proto.control_flow_pb2 import WhileContextDef

    if scope is not None and not context.name.startswith(scope):
        return None

    def name(tensor: Any) -> str:
        return strip_scope(tensor.name, scope)

    message = WhileContextDef(
        context_name=strip_scope(context.name, scope),
        parallel_iterations=context.parallel_iterations,
        back_prop=context.back_prop,
        swap_memory=context.swap_memory,
        pivot_name=name(context._pivot),
        pivot_for_pred_name=name(context._pivot_for_pred),
        pivot_for_body_name=name(context._pivot_for_body),
        loop_exit_names=map(name, context.loop_exits),
        loop_enter_names=map(name, context.loop_enters),
    )
    if context.maximum_iterations is not None:
        message.maximum_iterations_name = name(context.maximum_iterations)
    _fill(message, context, scope)
    return message


def _fill(message: Any, context: ControlFlowContext, scope: str | None) -> None:
    values: ValuesDef = message.values_def
    values.values.extend(strip_scope(name, scope) for name in sorted(context._values))
    for outside, inside in context._external_values.items():
        values.external_values[strip_scope(outside, scope)] = strip_scope(inside.name, scope)
    for nested in context._nested_contexts:
        made = nested.to_proto(scope)
        if made is None:
            continue
        holder = message.nested_contexts.add()
        (holder.while_ctxt if nested.IsWhileContext() else holder.cond_ctxt).CopyFrom(made)


def cond_from_proto(context: CondContext, message: CondContextDef, scope: str | None) -> None:
    """Initializes a context as the branch that a message describes, with nodes of the default graph."""
    context._name = prepend_scope(message.context_name, scope)
    context._pred = _tensor(message.pred_name, scope)
    context._pivot = _tensor(message.pivot_name, scope)
    context._branch = message.branch
    _restore(context, message, scope)


def while_from_proto(context: WhileContext, message: WhileContextDef, scope: str | None) -> None:
    """Initializes a context as the loop that a message describes, with nodes of the default graph."""
    context._name = prepend_scope(message.context_name, scope)
    limit = message.maximum_iterations_name
    context._maximum_iterations = _tensor(limit, scope) if limit else None
    context._parallel_iterations = message.parallel_iterations
    context._back_prop, context._swap_memory = message.back_prop, message.swap_memory
    context._pivot_for_pred = _tensor(message.pivot_for_pred_name, scope)
    context._pivot_for_body = _tensor(message.pivot_for_body_name, scope)
    context._pivot = _tensor(message.pivot_name, scope)
    context._loop_exits = [_tensor(name, scope) for name in message.loop_exit_names]
    context._loop_enters = [_tensor(name, scope) for name in message.loop_enter_names]
    if scope:
        # The frame is named after the context, so that two imports of a loop are two loops.
        frame = attr_value_pb2.AttrValue(s=context.name.encode())
        for name in message.values_def.values:
            op = _tensor(name, scope).op
            if op.type in ("Enter", "RefEnter"):
                op._set_attr("frame_name", frame)
    _restore(context, message, scope)


def _restore(context: ControlFlowContext, message: Any, scope: str | None) -> None:
    graph = get_default_graph()
    context._values = {prepend_scope(name, scope) for name in message.values_def.values}
    context._external_values = {
        prepend_scope(outside, scope): _tensor(inside, scope)
        for outside, inside in message.values_def.external_values.items()
    }
    for name in {value.partition(":")[0] for value in context._values - set(context._external_values)}:
        graph.get_operation_by_name(name)._control_flow_context = context
    context.Enter()
    for nested in message.nested_contexts:
        from_proto(nested, scope)
    context.Exit()


_restorers: dict[str, Callable[[Any, str | None], ControlFlowContext]] = {}


def serve_restoring(kind: str, restore: Callable[[Any, str | None], ControlFlowContext]) -> None:
    """Registers the function from a message and a name scope to a context; called by the classes of contexts.

    Args:
        kind: the field of ControlFlowContextDef with the message.
    """
    _restorers[kind] = restore


def from_proto(message: ControlFlowContextDef, scope: str | None) -> ControlFlowContext:
    """The context of a ControlFlowContextDef, a branch or a loop."""
    kind = message.WhichOneof("ctxt") or "cond_ctxt"
    return _restorers[kind](getattr(message, kind), scope)


def _tensor(name: str, scope: str | None) -> Tensor:
    return get_default_graph().get_tensor_by_name(prepend_scope(name, scope))
