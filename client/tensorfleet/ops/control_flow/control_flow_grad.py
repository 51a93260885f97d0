"""Gradient rules of Switch, Merge, Enter, Exit and NextIteration; see `loop_flow` for the order of visits."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow_contexts import CondContext, ControlFlowContext, output_context
from tensorfleet.ops.control_flow.control_flow_nodes import (
    as_slices,
    by_part,
    enter,
    exit_loop,
    merge,
    next_iteration,
    switch,
    switch_by_kind,
)
from tensorfleet.ops.control_flow.gradient_control_flow import set_control_flow
from tensorfleet.ops.control_flow.loop_flow import LoopFlow
from tensorfleet.ops.control_flow.loop_parts import accumulate, accumulate_slices
from tensorfleet.ops.control_flow.while_context import WhileContext

set_control_flow(LoopFlow)
not_differentiable("LoopCond", "StackV2", "StackPushV2", "StackPopV2", "StackCloseV2")
not_differentiable("Stack", "StackPush", "StackPop", "StackClose")


def _current() -> Any:
    """The current context, to which gradient ops belong."""
    return get_default_graph()._scopes.control_flow


@gradient("Switch", "RefSwitch", slices=True)
def _switch(op: Operation, *grads: Any) -> tuple[Any, None]:
    context: ControlFlowContext | None = op._control_flow_context
    if isinstance(context, WhileContext):
        return _loop_variable(op, context, *grads), None
    if isinstance(context, CondContext):
        if grads[1 - context.branch] is None:
            return None, None
        return merge(grads, name="cond_grad")[0], None
    false_grad = switch(grads[0], op.inputs[1])[0]
    true_grad = switch(grads[1], op.inputs[1])[1]
    return merge([false_grad, true_grad])[0], None


def _loop_variable(op: Operation, context: WhileContext, from_exit: Any, from_body: Any) -> Any:
    """The gradient of a loop variable's Switch, which is visited twice: the gradient from the Exit starts the
    loop variable of the gradient, and later the gradient from the body closes it.
    """
    current = _current()
    if current is context:
        raise ValueError(
            f"Cannot compute gradient inside while loop with respect to op '{_entered(op).name}'. We do not "
            "support taking the gradient wrt or through the initial value of a loop variable. Gradients can "
            "be computed through loop invariants or wrt the input parameters to the loop body."
        )
    joined = current.grad_state.switch_map.get(op)
    if joined is not None:
        if from_body is not None:
            _close(joined, from_body)
        return None
    if from_exit is None:
        return None
    joined = current.grad_state.switch_map[op] = merge([from_exit, from_exit], name="b_switch")[0]
    return joined


def _entered(op: Operation) -> Operation:
    """The initial value of a loop variable's Switch, outside of the loop."""
    return op.inputs[0].op.inputs[0].op.inputs[0].op


def _close(joined: Any, grad: Any) -> None:
    """Makes a gradient the next value of its loop variable."""
    if not isinstance(joined, IndexedSlices):
        joined.op._update_input(1, next_iteration(convert_to_tensor(grad)))
        return
    following = by_part(next_iteration, as_slices(grad))
    joined.values.op._update_input(1, following.values)
    joined.indices.op._update_input(1, following.indices)
    if joined.dense_shape is not None:
        if following.dense_shape is None:
            raise ValueError(f"Must have dense shape: {following.name}")
        joined.dense_shape.op._update_input(1, following.dense_shape)


@gradient("Merge", "RefMerge", slices=True)
def _merge(op: Operation, grad: Any, _: Any) -> Any:
    context = output_context(op.inputs[0].op)
    current = _current()
    if isinstance(context, WhileContext):
        return switch_by_kind(grad, current.pivot)
    if isinstance(context, CondContext):
        state = None if current is None else current.grad_state
        pred = context.pred if state is None else state.pred(context.pred)
        return switch_by_kind(grad, pred, name="cond_grad")
    taken = [apply_one("Equal", op.outputs[1], i) for i in range(len(op.inputs))]
    return [switch_by_kind(grad, is_taken)[1] for is_taken in taken]


@gradient("Exit", "RefExit", slices=True)
def _exit(op: Operation, grad: Any) -> Any:
    context, current = op._control_flow_context, _current()
    if not current.back_prop:
        return None
    if context.grad_state is not None:
        raise TypeError("Second-order gradient for while loops not supported.")

    def bring_in(part: Any) -> Any:
        current.AddName(part.name)
        entered = enter(part, current.name, False, current.parallel_iterations, name="b_exit")
        current.loop_enters.append(entered)
        return entered

    return by_part(bring_in, grad)


@gradient("NextIteration", "RefNextIteration", slices=True)
def _next_iteration(op: Operation, grad: Any) -> Any:
    return grad


@gradient("Enter", "RefEnter", slices=True)
def _enter(op: Operation, grad: Any) -> Any:
    current = _current()
    if current is None or not current.back_prop or current.grad_state is None:
        return grad
    if op.attrs["is_constant"]:
        if isinstance(grad, IndexedSlices):
            return accumulate_slices(current, op, grad)
        return accumulate(current, op, grad)

    def lead_out(part: Any) -> Any:
        left = exit_loop(part)
        current.loop_exits.append(left)
        current.ExitResult([left])
        return left

    return by_part(lead_out, grad)
