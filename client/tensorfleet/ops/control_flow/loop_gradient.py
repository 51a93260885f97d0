"""LoopGradient: a loop that is differentiated and its gradient loop, which runs from the last iteration back.

A forward value that a gradient rule uses is pushed on a stack in each iteration of the forward loop, and
popped in the gradient loop. Constants and values that all iterations share need no stack.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow import loop_parts
from tensorfleet.ops.control_flow.control_flow_contexts import (
    CondContext,
    ControlFlowContext,
    output_context,
    within,
)
from tensorfleet.ops.control_flow.control_flow_nodes import is_constant_enter, switch_by_kind
from tensorfleet.ops.control_flow.while_context import WhileContext
from tensorfleet.ops.data_flow import stacks

_PASSING = frozenset(("Switch", "RefSwitch", "Identity", "RefIdentity"))


class LoopGradient:
    """A forward loop and its gradient loop.

    Attributes:
        forward_context, grad_context: the loop and its gradient loop.
        outer: the LoopGradient of the loop around it, if that is differentiated, too.
        history_map: from the names of the loop's tensors to the tensors for them in the gradient loop.
        switch_map: from the Switch of each loop variable to the Merge of its gradient.
    """

    def __init__(self, forward: WhileContext, outer: LoopGradient | None) -> None:
        self.forward_context = forward
        self.outer = outer
        self.history_map: dict[str, Tensor] = {}
        self.switch_map: dict[Operation, Any] = {}
        self.forward_exits = list(forward.loop_exits)
        self.pending_exits = len(self.forward_exits)
        self.unused_exits: list[Tensor] = []
        self.deferred_exits: list[Tensor] = []
        self._forward_sync: Operation | None = None
        self._grad_sync: Operation | None = None
        self.base: ControlFlowContext | None = get_default_graph()._scopes.control_flow
        with within(forward.outer_context or self.base):
            count, self.forward_index = loop_parts.count_iterations(forward, outer)
        if outer is not None:
            with get_default_graph().control_dependencies(None):
                with within(self.base):
                    history = outer.record(count)
                with within(outer.grad_context):
                    count = outer.replay(history, count)
                    self._make_grad_context(count)
        else:
            with within(forward.outer_context or self.base):
                self._make_grad_context(count)

    @property
    def outside(self) -> ControlFlowContext | None:
        """The context that the gradient loop is in."""
        return self.grad_context.outer_context or self.base

    def _make_grad_context(self, count: Tensor) -> None:
        forward = self.forward_context
        self.grad_context = WhileContext(
            maximum_iterations=forward.maximum_iterations,
            parallel_iterations=forward.parallel_iterations,
            back_prop=forward.back_prop,
            swap_memory=forward.swap_memory,
            name=forward.name,
            grad_state=self,
        )
        self.grad_index = loop_parts.count_down(self.grad_context, count, self.outer)

    @property
    def forward_sync(self) -> Operation:
        """The operation that runs after all pushes on branches of an iteration and before the next one."""
        if self._forward_sync is None:
            self._forward_sync = self._trigger("f_sync", self.forward_context, self.forward_index)
            self.forward_index.op._add_control_input(self._forward_sync)
        return self._forward_sync

    @property
    def grad_sync(self) -> Operation:
        """`forward_sync` for the pops of the gradient loop."""
        if self._grad_sync is None:
            self._grad_sync = self._trigger("b_sync", self.grad_context, self.grad_index)
            self.grad_index.op._add_control_input(self._grad_sync)
            if self.grad_context.outer_context is not None:
                self.grad_context.outer_context.AddInnerOp(self._grad_sync)
        return self._grad_sync

    def _trigger(self, name: str, context: ControlFlowContext, beside: Tensor) -> Operation:
        graph = get_default_graph()
        with graph.control_dependencies(None), graph.colocate_with(beside.op, ignore_existing=True):
            made: Operation = apply_op("ControlTrigger", name=name)
        made._control_flow_context = context
        return made

    def record(self, value: Tensor, dead_branch: bool = False) -> Tensor:
        """Makes the forward loop push a value on a stack in each iteration; returns the stack.

        Args:
            value: a tensor of the loop, or of a branch in it.
            dead_branch: whether the value is made when the branch of its context is not taken.
        """
        graph = get_default_graph()
        around: ControlFlowContext | None = graph._scopes.control_flow
        # Stack, pushes and pops are on the device of the value, wherever the gradient is placed.
        with graph.control_dependencies(None), graph.colocate_with(value.op, ignore_existing=True):
            with within(around):
                history = stacks.stack(value.dtype.base, name="f_acc")
            entered = self.forward_context.AddValue(history)
            context = output_context(value.op)
            if context is self.forward_context:
                pushed = self._push(entered, value, context)
                self.forward_index.op._add_control_input(pushed)
            else:
                if not isinstance(context, CondContext):
                    raise TypeError(f"value_ctxt is not a CondContext: {context}")
                if dead_branch:
                    assert context.outer_context is not None
                    pushed = self._push(entered, value, context.outer_context)
                    pushed._control_flow_context = context
                else:
                    pushed = self._push(entered, value, context)
                self.forward_sync._add_control_input(pushed)
            # The push waits for the counter's addition, so even a constant is pushed in each iteration.
            pushed._add_control_input(self.forward_index.op.inputs[0].op)
        return history

    def _push(self, history: Tensor, value: Tensor, context: ControlFlowContext) -> Operation:
        with within(context):
            return stacks.push(history, value, self.forward_context.swap_memory).op

    def replay(self, history: Tensor, value: Tensor, dead_branch: bool = False) -> Tensor:
        """The value popped from a stack, in the gradient loop."""
        branch = self._branch_of(value, history.op._control_flow_context)
        graph = get_default_graph()
        with (
            graph.control_dependencies(None),
            graph.colocate_with(history.op, ignore_existing=True),
            within(self.grad_context),
        ):
            if branch is not None:
                # Only iterations that took the branch have pushed.
                taken = 1 - branch.branch if dead_branch else branch.branch
                history = switch_by_kind(history, self._pred_of(branch))[taken]
            popped = stacks.pop(history, value.dtype.base)
            popped.set_shape(value.dims)
        if self.grad_context.parallel_iterations > 1:
            self.grad_sync._add_control_input(popped.op)
        return popped

    def _branch_of(self, value: Tensor, until: ControlFlowContext | None) -> CondContext | None:
        context: ControlFlowContext | None = value.op._control_flow_context
        while context is not None and context is not until:
            if isinstance(context, CondContext):
                return context
            context = context.outer_context
        return None

    def _pred_of(self, branch: CondContext) -> Tensor:
        state: LoopGradient | None = self
        while state is not None:
            found = state.history_map.get(branch.pred.name)
            if found is not None:
                return found
            state = state.outer
        return branch.pred

    def real_value(self, value: Tensor) -> Tensor:
        """The tensor for a forward one in the gradient loop, which is the current context."""
        found = self.history_map.get(value.name)
        if found is not None:
            return found
        source, state = value, self
        while found is None:
            entered = _constant_enter(source)
            if entered is not None:
                source = entered.inputs[0]
                if state.outer is None:
                    # A tensor from outside of all differentiated loops is the same in all iterations.
                    found = self.grad_context.AddValue(source)
                else:
                    state = state.outer
                continue
            if source.op.type == "Const":
                found = constant_node(source.op.attrs["value"], "Const")
                continue
            with within(self.base):
                history = state.record(source)
            found = state.replay(history, source)
            if state is not self:
                found = self.grad_context.AddValue(found)
        self.history_map[value.name] = found
        return found

    def pred(self, tensor: Tensor) -> Tensor:
        """The condition of a branch of the forward loop in the gradient loop, the current context."""
        found = self.history_map.get(tensor.name)
        if found is None:
            with within(self.base):
                history = self.record(tensor)
            found = self.history_map[tensor.name] = self.replay(history, tensor)
        return found


def _constant_enter(value: Tensor) -> Operation | None:
    """The constant Enter that brings a value into a loop, if it does."""
    op = value.op
    while op.type in _PASSING:
        op = op.inputs[0].op
    return op if is_constant_enter(op) else None
