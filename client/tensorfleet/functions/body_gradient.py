"""The gradient of a function's body, cut from the body: what the gradient takes becomes results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.functions.definition_graph import DefinitionGraph
from tensorfleet.graph import handles
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.control_flow.gradient_control_flow import is_trainable

_SWITCHES = frozenset(("Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter"))
_REPEATED = frozenset(("VariableShape",))
"""Ops with a state that are done a second time by the gradient rather than kept for it."""


class BodyGradient:
    """The body of a function with its gradient, in one graph, cut in two.

    Attributes:
        graph: the body, to which the gradient was added.
        given: the placeholders of the gradients that come, one for each of the results asked for.
        found: the gradients of the arguments, by their positions.
    """

    def __init__(self, graph: DefinitionGraph, ys: Sequence[int]) -> None:
        """Differentiates.

        Args:
            ys: the positions of the results whose gradients come.

        Raises:
            LookupError: an op of the body has no gradient, or the body has switches and merges.
        """
        self.graph = graph
        self._before = graph.get_operations()
        found = next((op for op in self._before if op.type in _SWITCHES), None)
        if found is not None:
            raise LookupError(
                f"No gradient defined for the function {graph.label}: {found.name} ({found.type}) in it is a "
                "part of a conditional or loop made of Switch and Merge. Build it under "
                "tf.enable_control_flow_v2()."
            )
        with graph.as_default():
            self.given = [_gradient_argument(graph.results[i], f"grad_{i}") for i in ys]
            results = [graph.results[i] for i in ys]
            grads = gradients(results, list(graph.arguments), self.given) if results else []
        self.found = {i: grad for i, grad in enumerate(grads) if grad is not None}

    def dense(self, position: int) -> Tensor:
        """The gradient of an argument as one tensor; zeros if there is none."""
        with self.graph.as_default():
            grad = self.found.get(position)
            if grad is None:
                return zeros_of(self.graph.arguments[position])
            return convert_to_tensor(grad)

    def slices(self, position: int, index_type: DType) -> list[Tensor]:
        """The gradient of an argument as values, indices and shape; no rows if there is none."""
        argument = self.graph.arguments[position]
        with self.graph.as_default():
            shape = shape_of(argument)
            grad = self.found.get(position)
            if isinstance(grad, IndexedSlices):
                return [grad.values, _as_type(grad.indices, index_type), shape]
            rows = apply_one("ConcatV2", [[0], shape[1:]], 0)
            values = apply_one("Fill", rows, _zero(dtype_of(argument)))
            return [values, convert_to_tensor([], index_type), shape]

    def index_type(self, position: int) -> DType | None:
        """The dtype of the indices of a gradient that is an IndexedSlices; None if it is another one."""
        grad = self.found.get(position)
        return grad.indices.dtype.base if isinstance(grad, IndexedSlices) else None

    def cut(self, results: Sequence[Tensor]) -> Cut:
        """The operations of both parts, where the second one has these results."""
        return Cut(self.graph, self._before, self.given, results)


class Cut:
    """The two parts of a body with its gradient.

    Attributes:
        own: the operations of the function.
        later: those of the gradient.
        taken: what the second part takes of the first.
        arguments: the function's arguments that the second part takes, too.
    """

    def __init__(
        self,
        graph: DefinitionGraph,
        before: Sequence[Operation],
        given: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> None:
        everything = graph.get_operations()
        placeholders = {tensor.op for tensor in (*graph.arguments, *given)}
        constants = _constants(everything, graph.arguments)
        chosen: set[Operation] = {tensor.op for tensor in given}
        for op in everything[len(before) :]:
            if any(t.op in chosen for t in op.inputs) or any(each in chosen for each in op.control_inputs):
                chosen.add(op)
        chosen -= placeholders
        # What is computed of values that are kept in any case, such as their shapes, is not kept itself.
        kept = {t for op in everything if op in chosen for t in op.inputs} | set(results)
        for op in everything[len(before) :]:
            if op in chosen or op in placeholders or op.opdef.is_stateful:
                continue
            if op.inputs and all(t in kept or t.op in constants for t in op.inputs):
                kept.update(op.outputs)
                constants.add(op)
        needed = set(chosen)
        pending = [*(op for op in everything if op in chosen), *(t.op for t in results)]
        while pending:
            for tensor in pending.pop().inputs:
                if tensor.op in constants and tensor.op not in needed:
                    needed.add(tensor.op)
                    pending.append(tensor.op)
        needed.update(t.op for t in results if t.op in constants)
        self.later = [op for op in everything if op in needed]
        self.own = [op for op in everything if op not in chosen and op not in placeholders]
        sources = dict.fromkeys((*(t for op in self.later for t in op.inputs), *results))
        self.taken = [t for t in sources if t.op not in needed and t.op not in placeholders]
        self.arguments = [t for t in sources if t in set(graph.arguments)]


def _constants(operations: Sequence[Operation], arguments: Sequence[Tensor]) -> set[Operation]:
    """The operations that depend on no argument but handles, and would give the same a second time."""
    handed = {tensor.op for tensor in arguments if tensor.dtype.base is dtypes.resource}
    found: set[Operation] = set()
    for op in operations:
        if op.type == "Placeholder" or op.control_inputs:
            continue
        if op.opdef.is_stateful and op.type not in _REPEATED:
            continue
        if all(t.op in found or (t.op in handed and op.type in _REPEATED) for t in op.inputs):
            found.add(op)
    return found


def reaching(graph: DefinitionGraph, ys: Sequence[int]) -> list[int]:
    """The arguments that results depend on along paths on which gradients flow."""
    seen: set[Operation] = set()
    found: set[int] = set()
    positions = {tensor: i for i, tensor in enumerate(graph.arguments)}
    pending = [graph.results[i] for i in ys]
    while pending:
        tensor = pending.pop()
        if not is_trainable(tensor):
            continue
        if tensor in positions:
            found.add(positions[tensor])
        elif tensor.op not in seen:
            seen.add(tensor.op)
            pending.extend(tensor.op.inputs)
    return sorted(found)


def dtype_of(argument: Tensor) -> DType:
    """The dtype of an argument's gradient: of a handle, that of its variable.

    Raises:
        LookupError: nothing is known of the variable.
    """
    if argument.dtype.base is not dtypes.resource:
        return argument.dtype.base
    known = handles.variable_of(argument)
    if known is None:
        raise LookupError(f"No gradient defined for {argument.name}: its variable is not known.")
    return known[0]


def shape_of(argument: Tensor) -> Tensor:
    """The shape of an argument, or of the variable that it stands for."""
    return apply_one("VariableShape" if argument.dtype.base is dtypes.resource else "Shape", argument)


def zeros_of(argument: Tensor) -> Tensor:
    """The gradient of an argument that nothing depends on."""
    if argument.dtype.base is not dtypes.resource:
        return apply_one("ZerosLike", argument)
    return apply_one("Fill", shape_of(argument), _zero(dtype_of(argument)))


def _as_type(tensor: Tensor, dtype: DType) -> Tensor:
    return tensor if tensor.dtype.base is dtype else apply_one("Cast", tensor, DstT=dtype)


def _zero(dtype: DType) -> Tensor:
    return convert_to_tensor(0, dtype)


def _gradient_argument(result: Tensor, name: str) -> Tensor:
    dims: Any = handles.handle_dims(result) if result.dtype.base is dtypes.resource else result.dims
    made: Tensor = apply_op("Placeholder", dtype=dtype_of(result), shape=dims, name=name)
    return made
