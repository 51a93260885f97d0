"""Contexts, which make new ops part of a branch or a loop.

While a context is entered, each new op is passed to its `AddOp`. A tensor from outside gets a Switch (on a
branch) or an Enter (in a loop) at its first use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tensorfleet.core import structures
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow import context_protos
from tensorfleet.ops.control_flow.control_flow_nodes import is_exit, switch_by_kind

if TYPE_CHECKING:
    from tensorfleet.ops.control_flow.while_context import WhileContext
    from tensorfleet.proto.control_flow_pb2 import CondContextDef


# Ops that lead into loops; gradients make them of tensors inside.
_AROUND_LOOPS = ("Enter", "RefEnter", "Switch", "RefSwitch")


def output_context(op: Operation) -> ControlFlowContext | None:
    """The context of an op's outputs: an Exit belongs to its loop, its output does not."""
    context: ControlFlowContext | None = op._control_flow_context
    return context.outer_context if context is not None and is_exit(op) else context


def _is_within(op: Operation, context: ControlFlowContext) -> bool:
    found = output_context(op)
    while found is not None and found is not context:
        found = found.outer_context
    return found is context


@contextlib.contextmanager
def within(context: ControlFlowContext | None) -> Iterator[None]:
    """A scope in which new ops belong to `context` and to the contexts around it only."""
    scopes = get_default_graph()._scopes
    old, scopes.control_flow = scopes.control_flow, context
    try:
        yield
    finally:
        scopes.control_flow = old


class ControlFlowContext:
    """A branch of a conditional or a loop, as the graph under construction knows it."""

    def __init__(self, name: str) -> None:
        graph = get_default_graph()
        self._name = graph.unique_name(name)
        self._start()

    def _start(self) -> None:
        """Makes the context part of the current one."""
        self._outer_context: ControlFlowContext | None = get_default_graph()._scopes.control_flow
        self._nested_contexts: list[ControlFlowContext] = []
        if self._outer_context is not None:
            self._outer_context._nested_contexts.append(self)
        self._context_stack: list[Any] = []
        # The names of the tensors inside, and for each tensor from outside the one that replaces it here.
        self._values: set[str] = set()
        self._external_values: dict[str, Tensor] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def outer_context(self) -> ControlFlowContext | None:
        return self._outer_context

    def CheckUse(self, tensor: Tensor, user: Operation, context: ControlFlowContext | None) -> None:
        """Checks that a tensor, whose op is in this context, may be an input of a new op in `context`.

        Raises:
            ValueError: the tensor is of a loop that the op is not in: it has another value in each iteration.
        """
        inner = output_context(tensor.op)
        loop = None if inner is None else inner.GetWhileContext()
        own = around = None if context is None else context.GetWhileContext()
        while around is not None and around is not loop:
            outer = around.outer_context
            around = None if outer is None else outer.GetWhileContext()
        # Gradients' loops read what the forward loops have kept.
        if loop is around or loop is None or user.type in _AROUND_LOOPS or (own and own.grad_state):
            return
        why = "they are in different while loops" if own else f"'{tensor.op.name}' is in a while loop"
        raise ValueError(
            f"Cannot use '{tensor.op.name}' as input to '{user.name}' because {why}. See info log for more "
            "details."
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The context as a message; None if it is outside of the name scope `export_scope`."""
        raise NotImplementedError

    @property
    def grad_state(self) -> Any:
        """The state of `tf.gradients` while it differentiates the loop."""
        return None

    @property
    def back_prop(self) -> bool:
        return False

    def Enter(self) -> None:
        """Makes new ops part of the context, until `Exit`."""
        state = get_default_graph()._scopes
        self._context_stack.append(state.control_flow)
        state.control_flow = self

    def Exit(self) -> None:
        get_default_graph()._scopes.control_flow = self._context_stack.pop()

    def AddName(self, name: str) -> None:
        """Records that the tensor of this name is inside."""
        self._values.add(name)

    def AddOp(self, op: Operation) -> None:
        """Makes a new op part of the context, with inputs and control inputs from inside."""
        raise NotImplementedError

    def _add_own_op(self, op: Operation) -> None:
        """`AddOp` for an op that is known to belong to this context, not to a nested one."""
        raise NotImplementedError

    def AddValue(self, val: Tensor) -> Tensor:
        """The tensor that stands for `val` inside of the context."""
        raise NotImplementedError

    def AddInnerOp(self, op: Operation) -> None:
        """Called for ops of nested contexts."""
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def ExitResult(self, result: Iterable[Any]) -> None:
        """Adds results to the outer context."""
        if self._outer_context is not None:
            for tensor in structures.flatten(result):
                self._outer_context.AddName(tensor.name)

    def GetWhileContext(self) -> WhileContext | None:
        """The innermost loop."""
        return None if self._outer_context is None else self._outer_context.GetWhileContext()

    def GetControlPivot(self) -> Tensor | None:
        """The tensor that an op without inputs must wait for, to run when the context does."""
        return None

    def IsWhileContext(self) -> bool:
        return False

    def IsCondContext(self) -> bool:
        return False

    def _own_inputs(self, op: Operation) -> None:
        graph = op.graph
        for index, tensor in enumerate(op.inputs):
            if op.type in ("Merge", "RefMerge") and tensor.op.type in ("NextIteration", "RefNextIteration"):
                continue
            with graph.name_scope(op.name + "/"):
                own = self.AddValue(tensor)
            if own is not tensor:
                op._update_input(index, own)

    def _remove_external_controls(self, op: Operation) -> list[Operation]:
        """Drops control inputs from outside of the innermost loop; returns them."""
        loop = self.GetWhileContext()
        if loop is None:
            return []
        external = []
        for control in op.control_inputs:
            context = output_context(control)
            if context is None or context.GetWhileContext() is not loop:
                external.append(control)
        for control in external:
            op._remove_control_input(control)
        return external

    def _add_outputs(self, op: Operation) -> None:
        """Records the outputs here and in outer contexts; they cannot be fetched, as they may be dead."""
        names = [tensor.name for tensor in op.outputs]
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.update(names)
            context = context._outer_context
        if self._outer_context is not None or not is_exit(op):
            op.graph.prevent_fetching(op)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)


class CondContext(ControlFlowContext):
    """A branch of a conditional.

    Attributes:
        pred: the condition.
        pivot: a tensor that is alive if the branch is taken.
        branch: 1 where the condition holds, else 0.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int, name: str = "cond_text") -> None:
        super().__init__(name)
        self._pred = pred
        self._pivot = pivot
        self._branch = branch
        self._values.update((pred.name, pivot.name))
        self._external_values[pred.name] = pred
        pivot.op._control_flow_context = self

    def to_proto(self, export_scope: str | None = None) -> CondContextDef | None:
        return context_protos.cond_to_proto(self, export_scope)

    @staticmethod
    def from_proto(context_def: CondContextDef, import_scope: str | None = None) -> CondContext:
        """The branch that a message describes, with nodes of the default graph."""
        context = CondContext.__new__(CondContext)
        context._start()
        context_protos.cond_from_proto(context, context_def, import_scope)
        return context

    @property
    def pred(self) -> Tensor:
        return self._pred

    @property
    def pivot(self) -> Tensor:
        return self._pivot

    @property
    def branch(self) -> int:
        return self._branch

    @property
    def grad_state(self) -> Any:
        loop = self.GetWhileContext()
        return None if loop is None else loop.grad_state

    @property
    def back_prop(self) -> bool:
        loop = self.GetWhileContext()
        return loop is not None and loop.back_prop

    def GetControlPivot(self) -> Tensor | None:
        return self._pivot

    def IsCondContext(self) -> bool:
        return True

    def AddValue(self, val: Tensor) -> Tensor:
        if val.name in self._values:
            return self._external_values.get(val.name, val)
        self._values.add(val.name)
        result: Tensor = val
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
            self._values.add(result.name)
            self._external_values[result.name] = result
        with get_default_graph().control_dependencies(None):
            result = switch_by_kind(result, self._pred)[self._branch]
            if self._outer_context is not None:
                self._outer_context.AddInnerOp(result.op)
        result.op.graph.prevent_fetching(result.op)
        result.op._control_flow_context = self
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.add(result.name)
            context = context._outer_context
        self._external_values[val.name] = result
        return result

    def AddOp(self, op: Operation) -> None:
        self._add_own_op(op)

    def _add_own_op(self, op: Operation) -> None:
        if op.inputs:
            self._own_inputs(op)
            self._remove_external_controls(op)
        else:
            self._remove_external_controls(op)
            if not any(_is_within(control, self) for control in op.control_inputs):
                op._add_control_input(self._pivot.op)
        self._add_outputs(op)

    def BuildCondBranch(self, fn: Callable[[], Any]) -> tuple[Any, Any]:
        """The result of `fn`, and the tensors for a Merge in the same structure; (None, None) for None."""
        returned = fn()
        if returned is None:
            return None, None
        result = structures.map_structure(self._as_output, returned)
        return returned, result if isinstance(result, (list, tuple)) else [result]

    def _as_output(self, value: Any) -> Tensor:
        from tensorfleet.ops.control_flow.control import with_dependencies
        from tensorfleet.ops.data_flow.tensor_array import as_flow

        if isinstance(value, Operation):
            return with_dependencies([value], self._pivot)
        return self._output_of(convert_to_tensor(as_flow(value)))

    def _output_of(self, val: Tensor) -> Tensor:
        if val.name in self._values:
            return self._external_values.get(val.name, val)
        result: Tensor = val
        self._values.add(val.name)
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
            self._values.add(result.name)
            self._external_values[result.name] = result
        result = switch_by_kind(result, self._pred)[self._branch]
        self._external_values[val.name] = result
        return result


context_protos.serve_restoring("cond_ctxt", CondContext.from_proto)
