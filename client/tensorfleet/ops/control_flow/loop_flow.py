"""LoopFlow: the part of conditionals and loops in one call of `tf.gradients`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import handles
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow_contexts import CondContext, ControlFlowContext, within
from tensorfleet.ops.control_flow.control_flow_nodes import is_exit, next_iteration, switch, switch_by_kind
from tensorfleet.ops.control_flow.gradient_control_flow import ControlFlow, Received, is_trainable, zeros_like
from tensorfleet.ops.control_flow.loop_gradient import LoopGradient
from tensorfleet.ops.control_flow.while_context import WhileContext

_SWITCHES = frozenset(("Switch", "RefSwitch"))


class LoopFlow(ControlFlow):
    """Makes a gradient loop for each loop between xs and ys."""

    def __init__(self, between: list[Operation], received: Received, colocate: bool) -> None:
        super().__init__(between, received, colocate)
        self._loops: dict[WhileContext, LoopGradient] = {}
        self._added: list[Operation] = []
        self._between = set(between)
        position = 0
        while position < len(self.between):
            op = self.between[position]
            position += 1
            if is_exit(op):
                place = get_default_graph().colocate_with(op) if colocate else contextlib.nullcontext()
                with place:
                    self._add_loop(op)

    def _add_loop(self, op: Operation) -> None:
        context = op._control_flow_context
        if context is None:
            raise LookupError(
                f"No gradient defined for the loop that {op.name} ends: tf.import_graph_def brings no "
                "contexts of loops. Import a MetaGraphDef with tf.train.import_meta_graph, or build the loop "
                "under tf.enable_control_flow_v2() before it is exported."
            )
        forward = context.GetWhileContext()
        if forward in self._loops:
            return
        state = self._loops[forward] = LoopGradient(forward, self._outer_of(forward))
        # All variables of a loop are differentiated, as each takes part in every iteration.
        for tensor in state.forward_exits:
            if tensor.op not in self._between:
                self._between.add(tensor.op)
                self.between.append(tensor.op)
                self._added.append(tensor.op)

    def _outer_of(self, context: WhileContext) -> LoopGradient | None:
        outer = context.outer_context
        loop = None if outer is None else outer.GetWhileContext()
        return None if loop is None else self._loops.get(loop)

    def _state_of(self, op: Operation, before: bool) -> LoopGradient | None:
        """The loop of an op. With `before`, an Exit counts as being in the loop around its own."""
        context: ControlFlowContext | None = op._control_flow_context
        if context is not None:
            context = context.GetWhileContext()
        if before and context is not None and is_exit(op):
            context = context.outer_context
            context = None if context is None else context.GetWhileContext()
        return self._loops.get(context) if isinstance(context, WhileContext) else None

    def start(self, pending: dict[Operation, int], ready: set[Operation]) -> Iterable[Operation]:
        for op in self._added:
            for tensor in op.inputs:
                if tensor.op in self._between:
                    pending[tensor.op] += 1
        first = []
        for state in self._loops.values():
            for tensor in state.forward_exits:
                if pending.get(tensor.op, 0):
                    continue
                state.pending_exits -= 1
                if tensor.op not in ready:
                    state.unused_exits.append(tensor)
                if not state.pending_exits:
                    first += state.unused_exits
            for tensor in state.forward_context.loop_enters:
                if not pending.get(tensor.op, 0):
                    pending[tensor.op] = 1
        return self._with_zeros(first, others=False)

    def _with_zeros(self, exits: list[Tensor], others: bool) -> list[Operation]:
        """The exits' ops, after zeros were added as gradients of trainable exits.

        Args:
            others: whether exits that are not trainable are included.
        """
        ops = []
        for tensor in exits:
            trainable = is_trainable(tensor)
            if trainable:
                zero = self._zeros_of_exit(tensor)
                if zero is not None:
                    self.received.add(tensor, zero)
            if trainable or others:
                ops.append(tensor.op)
        return ops

    def gathering(self, op: Operation) -> AbstractContextManager[Any]:
        return _entered(self._state_of(op, True))

    def differentiating(self, op: Operation) -> AbstractContextManager[Any]:
        return _entered(self._state_of(op, False))

    def next(self, tensor: Tensor, pending: int) -> Iterable[Operation]:
        op = tensor.op
        if pending:
            # A loop variable's Switch is visited twice: with the gradients from its Exit and from the body.
            return (op,) if pending > 0 and is_loop_switch(op) else ()
        if not is_exit(op):
            return (op,)
        state = self._state_of(op, False)
        assert state is not None
        state.deferred_exits.append(tensor)
        state.pending_exits -= 1
        if state.pending_exits:
            return ()
        used = [t.op for t in state.deferred_exits if self.received.any(t.op)]
        state.unused_exits += [t for t in state.deferred_exits if not self.received.any(t.op)]
        if not used:
            return [t.op for t in state.unused_exits]
        return [*used, *self._with_zeros(state.unused_exits, others=True)]

    # Zeros

    def _zeros_of_exit(self, tensor: Tensor) -> Tensor | None:
        """The zero gradient of a loop variable whose final value ys do not depend on."""
        dims, forward = tensor.dims, tensor.op._control_flow_context
        outer = self._outer_of(forward)
        known = dims is not None and None not in dims
        if outer is None:
            return zeros(dims, tensor.dtype.base) if known and _has_numbers(tensor) else zeros_like(tensor)
        if not known:
            with within(forward.outer_context):
                shape = apply_one("Shape", tensor)
            history = outer.record(shape)
        with within(outer.grad_context):
            made: Tensor = zeros(dims if known else outer.replay(history, shape), tensor.dtype.base)
            return made

    def zeros_like(self, op: Operation, index: int) -> Tensor | None:
        if is_loop_switch(op):
            return None
        state = self._state_of(op, False)
        if state is None:
            return _zeros_beside(op, index)
        context: ControlFlowContext = op._control_flow_context
        tensor = op.outputs[index]
        dead = op.type in _SWITCHES
        if tensor.dims is not None and None not in tensor.dims and _has_numbers(tensor):
            zero = zeros(tensor.dims, tensor.dtype.base)
            if not dead:
                return zero
            assert isinstance(context, CondContext)
            guarded: Tensor = switch_by_kind(zero, state.history_map[context.pred.name])[1 - context.branch]
            return guarded
        # The shape is known only inside of an iteration.
        if dead:
            assert isinstance(context, CondContext)
            assert context.outer_context is not None
            with within(context.outer_context):
                value = switch_by_kind(op.inputs[0], context.pred)[1 - context.branch]
                shape = _shape_for_zeros(value)
            value.op._control_flow_context = shape.op._control_flow_context = context
        else:
            with within(context):
                shape = _shape_for_zeros(tensor)
        with within(state.base):
            history = state.record(shape, dead)
        return zeros(state.replay(history, shape, dead), _dtype_of_zeros(tensor))

    def finish(self) -> None:
        """Closes with zeros the loop variables whose gradient does not depend on the following iteration."""
        for state in self._loops.values():
            for joined in state.switch_map.values():
                parts = [joined] if isinstance(joined, Tensor) else [joined.values, joined.indices]
                if parts[0].op.inputs[0] is parts[0].op.inputs[1]:
                    for part in parts:
                        self._close_with_zeros(state, part)

    def _close_with_zeros(self, state: LoopGradient, joined: Tensor) -> None:
        entered = joined.op.inputs[0]
        known = entered.dims is not None and None not in entered.dims
        with within(state.grad_context if known else state.outside):
            shape = entered.dims if known else apply_one("Shape", entered.op.inputs[0])
            zero = zeros(shape, entered.dtype.base)
        with within(state.grad_context):
            following = next_iteration(zero)
        joined.op._update_input(1, following)


def _entered(state: LoopGradient | None) -> AbstractContextManager[Any]:
    """A scope in which new ops belong to the gradient loop."""
    return contextlib.nullcontext() if state is None else within(state.grad_context)


def is_loop_switch(op: Operation) -> bool:
    """Whether an op is the Switch of a loop variable."""
    if op.type not in _SWITCHES:
        return False
    context = op._control_flow_context
    return context is not None and context.IsWhileContext() and not _is_cond_switch(op)


def _is_cond_switch(op: Operation) -> bool:
    """Whether all consumers of the Switch are on a branch, so that it passes a value into a conditional."""
    for tensor in op.outputs:
        for consumer in tensor._consumers:
            context = consumer._control_flow_context
            if consumer.type in ("Enter", "RefEnter") and context is not None:
                context = context.outer_context
            if context is None or not context.IsCondContext():
                return False
    return True


def _has_numbers(tensor: Tensor) -> bool:
    return tensor.dtype.base.name not in ("resource", "variant")


def _shape_for_zeros(tensor: Tensor) -> Tensor:
    """The shape of a tensor's gradient; for a handle, that of its variable."""
    return apply_one("Shape" if tensor.dtype.base.name != "resource" else "VariableShape", tensor)


def _dtype_of_zeros(tensor: Tensor) -> Any:
    """The dtype of a tensor's gradient; for a handle, that of its variable."""
    if tensor.dtype.base.name != "resource":
        return tensor.dtype.base
    known = handles.variable_of(tensor)
    if known is None:
        # Such as an argument that a function declares: TensorFlow has zeros of float32.
        return dtypes.float32
    return known[0]


def _zeros_beside(op: Operation, index: int) -> Tensor | None:
    """Zeros for an output that ys do not depend on, outside of the loops that are differentiated."""
    tensor = op.outputs[index]
    context = op._control_flow_context
    if op.type not in _SWITCHES or not isinstance(context, CondContext):
        return zeros_like(tensor)
    if tensor.dtype.base.name == "variant":
        return None
    # The zeros are needed when the other branch is taken, when the tensor itself is dead.
    value = switch(op.inputs[0], context.pred)[1 - context.branch]
    taken = identity(value)
    shape = _shape_for_zeros(value)
    with get_default_graph().control_dependencies([taken]):
        return zeros(shape, _dtype_of_zeros(tensor))
