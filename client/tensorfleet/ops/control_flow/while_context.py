"""WhileContext: a loop under construction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorfleet.core import structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow import context_protos
from tensorfleet.ops.control_flow.control_flow_contexts import ControlFlowContext, output_context
from tensorfleet.ops.control_flow.control_flow_nodes import (
    enter,
    exit_loop,
    is_constant_enter,
    is_exit,
    merge,
    next_iteration,
    switch_by_kind,
)

if TYPE_CHECKING:
    from tensorfleet.proto.control_flow_pb2 import WhileContextDef

_MEASURES = frozenset(("Shape", "Size", "Rank"))


class WhileContext(ControlFlowContext):
    """A loop.

    Attributes:
        pivot: the output of the LoopCond.
        loop_enters, loop_exits: the outputs of the Enter and Exit ops of its variables.
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
        self._loop_exits: list[Tensor] = []
        self._loop_enters: list[Tensor] = []
        self._maximum_iterations = maximum_iterations
        self._parallel_iterations = parallel_iterations
        self._back_prop = back_prop
        self._swap_memory = swap_memory
        self._grad_state = grad_state
        self._pivot_for_pred: Tensor | None = None
        self._pivot_for_body: Tensor | None = None
        self._pivot: Tensor | None = None

    def to_proto(self, export_scope: str | None = None) -> WhileContextDef | None:
        return context_protos.while_to_proto(self, export_scope)

    @staticmethod
    def from_proto(context_def: WhileContextDef, import_scope: str | None = None) -> WhileContext:
        """The loop that a message describes, with nodes of the default graph."""
        context = WhileContext.__new__(WhileContext)
        context._start()
        context._grad_state = None
        context_protos.while_from_proto(context, context_def, import_scope)
        return context

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
        state = _gradient_of(val)
        if state is not None:
            real: Tensor = state.real_value(val)
            self._external_values[val.name] = real
            return real
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
        if op.type in _MEASURES and _gradient_of(op.inputs[0]) is not None:
            # Computed in the forward loop, so that the stack holds a few numbers instead of whole tensors.
            context = op._control_flow_context = op.inputs[0].op._control_flow_context
            context._add_own_op(op)
        else:
            self._add_own_op(op)

    def _add_own_op(self, op: Operation) -> None:
        if op.inputs:
            self._own_inputs(op)
            external = self._remove_external_controls(op)
            # An op that depends only on constants of the loop would run before its iteration.
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
        """Ops in the loop that stand for control inputs from outside of it."""
        from tensorfleet.ops.array.identity import identity

        with get_default_graph().control_dependencies(None):
            self.Enter()
            made = [identity(control.outputs[0]).op for control in controls if control.outputs]
            self.Exit()
        return made

    def _adopt_enters(self, enters: list[Tensor]) -> None:
        """Makes Enters part of the loop; of the current control inputs they keep those from outside."""
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
        """Whether an op is in the outer context, or in one around that within the same outer loop."""
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
        """Builds the loop; returns its variables after the loop, in the structure that the body returns."""
        from tensorfleet.ops.data_flow.tensor_array import as_flow, with_flow

        originals = structures.flatten(loop_vars)
        loop_vars = structures.pack(loop_vars, [as_variable(value) for value in originals])
        flat_vars = [as_flow(value) for value in structures.flatten(loop_vars)]
        if shape_invariants is None:
            invariants = [tensor.get_shape() for tensor in flat_vars]
        else:
            invariants = flat_shapes(loop_vars, shape_invariants)
        self.Enter()
        try:
            body_result, exits = self._build(pred, body, originals, loop_vars, flat_vars, invariants)
        finally:
            self.Exit()
        results = [
            with_flow(value, tensor)
            for value, tensor in zip(structures.flatten(body_result), exits, strict=True)
        ]
        packed = structures.pack(body_result, results)
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
        from tensorfleet.graph.apply import apply_op
        from tensorfleet.ops.array.identity import identity
        from tensorfleet.ops.data_flow.tensor_array import as_flow, with_flow

        self._values = {tensor.name for tensor in flat_vars}
        enters = self._make_enters(flat_vars, invariants)
        self._values = {tensor.name for tensor in enters}
        self._loop_enters = enters
        merges = [merge([tensor, tensor])[0] for tensor in enters]
        self._pivot_for_pred = merges[0]

        def packed(tensors: list[Tensor]) -> Any:
            return structures.pack(
                loop_vars, [with_flow(value, t) for value, t in zip(originals, tensors, strict=True)]
            )

        condition = convert_to_tensor(pred(*packed(merges)))
        self._pivot = pivot = apply_op("LoopCond", condition, name="LoopCond")
        switches = [switch_by_kind(tensor, pivot) for tensor in merges]
        inside = [identity(live) for _, live in switches]
        self._pivot_for_body = inside[0]
        given = packed(inside)
        result = body(*given)
        if not structures.is_nested(result):
            result = [result]
        structures.assert_same_structure(list(given), list(result))
        flat = [convert_to_tensor(as_flow(value)) for value in structures.flatten(result)]
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
                check_entered_shape(tensor, invariant)
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


def _gradient_of(tensor: Tensor) -> Any:
    """The LoopGradient of the current gradient loop, if the tensor is of its forward loop."""
    current = get_default_graph()._scopes.control_flow
    loop = None if current is None else current.GetWhileContext()
    state = None if loop is None else loop.grad_state
    if state is None:
        return None
    context = output_context(tensor.op)
    found = None if context is None else context.GetWhileContext()
    return state if found is state.forward_context else None


def as_variable(value: Any) -> Any:
    """A loop variable: a TensorArray as it is, all else as a tensor."""
    from tensorfleet.ops.data_flow.tensor_array import TensorArray

    return value if isinstance(value, TensorArray) else convert_to_tensor(value)


def flat_shapes(loop_vars: Any, shapes: Any) -> list[TensorShape]:
    """One shape for each loop variable, from a structure whose leaves are TensorShapes or None."""
    if structures.is_nested(loop_vars):
        keys = sorted(loop_vars) if isinstance(loop_vars, dict) else range(len(loop_vars))
        if len(shapes) != len(loop_vars):
            raise ValueError("'shape_invariants' must have the structure of 'loop_vars'")
        return [shape for key in keys for shape in flat_shapes(loop_vars[key], shapes[key])]
    if shapes is None:
        return [loop_vars.get_shape()]
    if not isinstance(shapes, TensorShape):
        raise TypeError(f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(shapes)}")
    return [shapes]


def is_special_case(shape: TensorShape, general: TensorShape) -> bool:
    """Whether every tensor of shape `shape` is also one of shape `general`."""
    if general.dims is None:
        return True
    if shape.dims is None or len(shape.dims) != len(general.dims):
        return False
    return all(g is None or s == g for s, g in zip(shape.as_list(), general.as_list(), strict=True))


def _close(joined: Tensor, value: Tensor) -> None:
    """Connects a variable's next value to its Merge."""
    following = next_iteration(value)
    check_next_shape(joined.op.inputs[0].op.inputs[0], following.get_shape(), joined.get_shape())
    joined.op._update_input(1, following)


def check_entered_shape(tensor: Tensor, invariant: TensorShape) -> None:
    """Raises ValueError if a variable does not enter its loop with the shape that it keeps."""
    if not is_special_case(tensor.get_shape(), invariant):
        raise ValueError(
            f"The shape invariant specified for {tensor.name} is not compatible with the initial shape "
            f"of the loop variable. It enters the loop with shape {tensor.get_shape()}, but the "
            f"specified shape invariant is {invariant}."
        )


def check_next_shape(entered: Tensor, shape: TensorShape, invariant: TensorShape) -> None:
    """Raises ValueError if a variable's next value does not have the shape that it keeps."""
    if not is_special_case(shape, invariant):
        raise ValueError(
            f"Input tensor '{entered.name}' enters the loop with shape {entered.shape}, but has shape "
            f"{shape} after one iteration. To allow the shape to vary across iterations, use the "
            "`shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )


context_protos.serve_restoring("while_ctxt", WhileContext.from_proto)
