"""Contexts: what makes an op that is built on a branch, or in a loop, a part of it.

While a context is entered, each new op is handed to its `AddOp`. Tensors from outside come in by a Switch on
a branch, and by an Enter in a loop, made at their first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet import nest
from tensorfleet.graph import get_default_graph
from tensorfleet.operation import Operation
from tensorfleet.ops.control_flow_nodes import (
    enter,
    exit_loop,
    is_constant_enter,
    is_exit,
    merge,
    next_iteration,
    switch_by_kind,
)
from tensorfleet.ops.convert import convert_to_tensor
from tensorfleet.shapes import TensorShape
from tensorfleet.tensor import Tensor


def output_context(op: Operation) -> ControlFlowContext | None:
    """The context that an op's outputs are in: an Exit belongs to its loop, what it gives does not."""
    context: ControlFlowContext | None = op._control_flow_context
    return context.outer_context if context is not None and is_exit(op) else context


def _is_within(op: Operation, context: ControlFlowContext) -> bool:
    found = output_context(op)
    while found is not None and found is not context:
        found = found.outer_context
    return found is context


class ControlFlowContext:
    """A branch of a conditional or a loop, as the graph under construction knows it."""

    def __init__(self, name: str) -> None:
        graph = get_default_graph()
        self._name = graph.unique_name(name)
        self._outer_context: ControlFlowContext | None = graph._scopes.control_flow
        self._nested_contexts: list[ControlFlowContext] = []
        if self._outer_context is not None:
            self._outer_context._nested_contexts.append(self)
        self._context_stack: list[Any] = []
        # The names of the tensors inside, and for each one from outside what stands for it here.
        self._values: set[str] = set()
        self._external_values: dict[str, Tensor] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def outer_context(self) -> ControlFlowContext | None:
        return self._outer_context

    @property
    def grad_state(self) -> Any:
        """What `tf.gradients` keeps of the loop, while it differentiates it."""
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
        """Notes that a tensor of this name is inside."""
        self._values.add(name)

    def AddOp(self, op: Operation) -> None:
        """Makes a new op part of the context: its inputs and control inputs come from inside then."""
        raise NotImplementedError

    def AddValue(self, val: Tensor) -> Tensor:
        """What stands for a tensor inside of the context."""
        raise NotImplementedError

    def AddInnerOp(self, op: Operation) -> None:
        """Called for ops of nested contexts."""
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def ExitResult(self, result: Iterable[Any]) -> None:
        """Makes results known to the outer context."""
        if self._outer_context is not None:
            for tensor in nest.flatten(result):
                self._outer_context.AddName(tensor.name)

    def GetWhileContext(self) -> WhileContext | None:
        """The innermost loop."""
        return None if self._outer_context is None else self._outer_context.GetWhileContext()

    def GetControlPivot(self) -> Tensor | None:
        """What an op without inputs must wait for, to run when the context does."""
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
            op.control_inputs.remove(control)
            control._control_outputs.remove(op)
        return external

    def _add_outputs(self, op: Operation) -> None:
        """Makes the outputs known here and outside; they cannot be fetched, as they may be dead."""
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
        result = val
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
        if op.inputs:
            self._own_inputs(op)
            self._remove_external_controls(op)
        else:
            self._remove_external_controls(op)
            if not any(_is_within(control, self) for control in op.control_inputs):
                op._add_control_input(self._pivot.op)
        self._add_outputs(op)

    def BuildCondBranch(self, fn: Callable[[], Any]) -> tuple[Any, Any]:
        """What `fn` returns, and the tensors for a Merge in the same structure; (None, None) for None."""
        returned = fn()
        if returned is None:
            return None, None
        result = nest.map_structure(self._as_output, returned)
        return returned, result if isinstance(result, (list, tuple)) else [result]

    def _as_output(self, value: Any) -> Tensor:
        from tensorfleet.ops.control import with_dependencies
        from tensorfleet.ops.tensor_array import as_flow

        if isinstance(value, Operation):
            return with_dependencies([value], self._pivot)  # type: ignore[no-any-return]
        return self._output_of(convert_to_tensor(as_flow(value)))

    def _output_of(self, val: Tensor) -> Tensor:
        if val.name in self._values:
            return self._external_values.get(val.name, val)
        result = val
        self._values.add(val.name)
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
            self._values.add(result.name)
            self._external_values[result.name] = result
        result = switch_by_kind(result, self._pred)[self._branch]
        self._external_values[val.name] = result
        return result


class WhileContext(ControlFlowContext):
    """A loop.

    Attributes:
        pivot: the LoopCond's output; loop_enters, loop_exits: of its variables.
    """

    def __init__(
        self,
        maximum_iterations: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        grad_state: Any = None,
    ) -> None:
        super().__init__(name)
        self._maximum_iterations = maximum_iterations
        self._parallel_iterations = parallel_iterations
        self._back_prop = back_prop
        self._swap_memory = swap_memory
        self._grad_state = grad_state
        self._pivot_for_pred: Tensor | None = None
        self._pivot_for_body: Tensor | None = None
        self._pivot: Tensor | None = None
        self._loop_exits: list[Tensor] = []
        self._loop_enters: list[Tensor] = []

    @property
    def maximum_iterations(self) -> Any:
        return self._maximum_iterations

    @property
    def parallel_iterations(self) -> int:
        return self._parallel_iterations

    @property
    def back_prop(self) -> bool:
        return self._back_prop

    @property
    def swap_memory(self) -> bool:
        return self._swap_memory

    @property
    def pivot(self) -> Tensor | None:
        return self._pivot

    @property
    def loop_enters(self) -> list[Tensor]:
        return self._loop_enters

    @property
    def loop_exits(self) -> list[Tensor]:
        return self._loop_exits

    @property
    def grad_state(self) -> Any:
        return self._grad_state

    def GetWhileContext(self) -> WhileContext | None:
        return self

    def GetControlPivot(self) -> Tensor | None:
        return self._pivot_for_body if self._pivot_for_body is not None else self._pivot_for_pred

    def IsWhileContext(self) -> bool:
        return True

    def AddValue(self, val: Tensor) -> Tensor:
        if val.name in self._values or val.op._control_flow_context is self:
            return self._external_values.get(val.name, val)
        self._values.add(val.name)
        result = val
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
        result = self._enter_constant(result)
        self._values.add(result.name)
        self._external_values[val.name] = result
        return result

    def _enter_constant(self, tensor: Tensor) -> Tensor:
        graph = get_default_graph()
        with graph.control_dependencies(None):
            made = enter(tensor, self._name, True, self._parallel_iterations)
            graph.prevent_feeding(made)
            if self._outer_context is not None:
                self._outer_context.AddInnerOp(made.op)
        self._adopt_enters([made])
        return made

    def AddOp(self, op: Operation) -> None:
        if op.inputs:
            self._own_inputs(op)
            external = self._remove_external_controls(op)
            # What depends on constants of the loop alone would run before its iteration.
            if not op.control_inputs and all(is_constant_enter(tensor.op) for tensor in op.inputs):
                self._wait_for_pivot(op)
        else:
            external = self._remove_external_controls(op)
            if not op.control_inputs:
                self._wait_for_pivot(op)
        self._values.update(tensor.name for tensor in op.outputs)
        if external:
            op._add_control_inputs(self._inside(external))
        if self._outer_context is not None or not is_exit(op):
            op.graph.prevent_fetching(op)
            for tensor in op.outputs:
                op.graph.prevent_feeding(tensor)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def _wait_for_pivot(self, op: Operation) -> None:
        pivot = self.GetControlPivot()
        assert pivot is not None
        op._add_control_input(pivot.op)

    def _inside(self, controls: list[Operation]) -> list[Operation]:
        """Ops in the loop that wait for what ops outside of it give."""
        from tensorfleet.ops.identity import identity

        with get_default_graph().control_dependencies(None):
            self.Enter()
            made = [identity(control.outputs[0]).op for control in controls if control.outputs]
            self.Exit()
        return made

    def _adopt_enters(self, enters: list[Tensor]) -> None:
        """Makes Enters part of the loop; of the control inputs in force, they keep those from outside."""
        state = get_default_graph()._scopes
        for tensor in enters:
            op = tensor.op
            controls = get_default_graph()._controls_for(state, op.inputs) if state.controls else []
            kept = [control for control in controls if self._is_visible(control)]
            op._control_flow_context = self
            op._add_control_inputs(kept)
            for controller in state.controls:
                controller.seen.add(op)

    def _is_visible(self, op: Operation) -> bool:
        """Whether an op is in the outer context, or around it, within the same outer loop."""
        wanted = output_context(op)
        context = self._outer_context
        outer_loop = None if context is None else context.GetWhileContext()
        while context is not wanted:
            if context is None or context is outer_loop:
                return False
            context = context.outer_context
        return True

    def BuildLoop(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        shape_invariants: Any,
        return_same_structure: bool,
    ) -> Any:
        """Builds the loop; what its variables are after it, in the structure that the body returns."""
        from tensorfleet.ops.tensor_array import as_flow, with_flow

        originals = nest.flatten(loop_vars)
        loop_vars = nest.pack(loop_vars, [_as_variable(value) for value in originals])
        flat_vars = [as_flow(value) for value in nest.flatten(loop_vars)]
        if shape_invariants is None:
            invariants = [tensor.get_shape() for tensor in flat_vars]
        else:
            invariants = _flat_shapes(loop_vars, shape_invariants)
        self.Enter()
        try:
            body_result, exits = self._build(pred, body, originals, loop_vars, flat_vars, invariants)
        finally:
            self.Exit()
        results = [
            with_flow(value, tensor) for value, tensor in zip(nest.flatten(body_result), exits, strict=True)
        ]
        packed = nest.pack(body_result, results)
        if return_same_structure or len(exits) != 1:
            return packed
        return packed[0]

    def _build(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Any],
        originals: list[Any],
        loop_vars: Any,
        flat_vars: list[Tensor],
        invariants: list[TensorShape],
    ) -> tuple[Any, list[Tensor]]:
        from tensorfleet.ops.apply import apply_op
        from tensorfleet.ops.identity import identity
        from tensorfleet.ops.tensor_array import as_flow, with_flow

        self._values = {tensor.name for tensor in flat_vars}
        enters = self._make_enters(flat_vars, invariants)
        self._values = {tensor.name for tensor in enters}
        self._loop_enters = enters
        merges = [merge([tensor, tensor])[0] for tensor in enters]
        self._pivot_for_pred = merges[0]

        def packed(tensors: list[Tensor]) -> Any:
            return nest.pack(
                loop_vars, [with_flow(value, t) for value, t in zip(originals, tensors, strict=True)]
            )

        condition = convert_to_tensor(pred(*packed(merges)))
        self._pivot = pivot = apply_op("LoopCond", condition, name="LoopCond")
        switches = [switch_by_kind(tensor, pivot) for tensor in merges]
        inside = [identity(live) for _, live in switches]
        self._pivot_for_body = inside[0]
        given = packed(inside)
        result = body(*given)
        if not nest.is_nested(result):
            result = [result]
        nest.assert_same_structure(list(given), list(result))
        flat = [convert_to_tensor(as_flow(value)) for value in nest.flatten(result)]
        for joined, value in zip(merges, flat, strict=True):
            _close(joined, value)
        exits = [exit_loop(over) for over, _ in switches]
        self._loop_exits = exits
        self.ExitResult(exits)
        return result, exits

    def _make_enters(self, flat_vars: list[Tensor], invariants: list[TensorShape]) -> list[Tensor]:
        graph = get_default_graph()
        outer = self._outer_context
        outside = flat_vars if outer is None else [outer.AddValue(tensor) for tensor in flat_vars]
        enters = []
        with graph.control_dependencies(None):
            for tensor, invariant in zip(outside, invariants, strict=True):
                made = enter(tensor, self._name, False, self._parallel_iterations, keep_shape=False)
                if not _is_special_case(tensor.get_shape(), invariant):
                    raise ValueError(
                        f"The shape invariant specified for {tensor.name} is not compatible with the initial "
                        "shape of the loop variable. It enters the loop with shape "
                        f"{tensor.get_shape()}, but the specified shape invariant is {invariant}."
                    )
                made.set_shape(invariant)
                graph.prevent_feeding(made)
                if outer is not None:
                    outer.AddInnerOp(made.op)
                enters.append(made)
        pivot = None
        while outer is not None and pivot is None:
            pivot = outer.GetControlPivot()
            outer = outer.outer_context
        if pivot is not None:
            for tensor in enters:
                if is_constant_enter(tensor.op.inputs[0].op):
                    tensor.op._add_control_input(pivot.op)
        self._adopt_enters(enters)
        return enters


def _as_variable(value: Any) -> Any:
    from tensorfleet.ops.tensor_array import TensorArray

    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def _flat_shapes(loop_vars: Any, shapes: Any) -> list[TensorShape]:
    """One shape for each leaf: a structure of shapes has TensorShapes, or None, for leaves."""
    if nest.is_nested(loop_vars):
        keys = sorted(loop_vars) if isinstance(loop_vars, dict) else range(len(loop_vars))
        if len(shapes) != len(loop_vars):
            raise ValueError("'shape_invariants' must have the structure of 'loop_vars'")
        return [shape for key in keys for shape in _flat_shapes(loop_vars[key], shapes[key])]
    if shapes is None:
        return [loop_vars.get_shape()]
    if not isinstance(shapes, TensorShape):
        raise TypeError(f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(shapes)}")
    return [shapes]


def _is_special_case(shape: TensorShape, general: TensorShape) -> bool:
    """Whether every tensor of a shape is one of the other, too."""
    if general.dims is None:
        return True
    if shape.dims is None or len(shape.dims) != len(general.dims):
        return False
    return all(g is None or s == g for s, g in zip(shape.as_list(), general.as_list(), strict=True))


def _close(joined: Tensor, value: Tensor) -> None:
    """Leads a variable's next value back to its Merge."""
    following = next_iteration(value)
    if not _is_special_case(following.get_shape(), joined.get_shape()):
        entered = joined.op.inputs[0].op.inputs[0]
        raise ValueError(
            f"Input tensor '{entered.name}' enters the loop with shape {entered.shape}, but has shape "
            f"{following.shape} after one iteration. To allow the shape to vary across iterations, use the "
            "`shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )
    joined.op._update_input(1, following)
