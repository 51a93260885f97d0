"""Conditionals and loops as functions that If, Case and While call: control flow v2."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes, structures
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.functions.body import BodyGraph
from tensorfleet.functions.body_gradient import beside_handles
from tensorfleet.functions.loop_gradient import TURNS
from tensorfleet.graph import handles
from tensorfleet.graph.apply import apply_list, apply_one
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.effects import in_order
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.control_flow.while_context import (
    as_variable,
    check_entered_shape,
    check_next_shape,
    flat_shapes,
)
from tensorfleet.ops.data_flow.tensor_array import as_flow, with_flow
from tensorfleet.proto.attr_value_pb2 import NameAttrList

_numbers = itertools.count()


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], scope: str) -> Any:
    """`tf.cond` by an If, in the structure that `true_fn` returns.

    Raises:
        TypeError: the functions return values of different types, or another number of them.
    """
    pred = convert_to_tensor(pred)
    label = scope.rstrip("/").rpartition("/")[2]
    true, false = (
        _Branch(function, pred, f"{label}_{name}")
        for function, name in ((true_fn, "true"), (false_fn, "false"))
    )
    functions, inputs = _alike([true, false], "true_fn and false_fn arguments to tf.cond")
    return _called(
        "If", pred, inputs, [true, false], then_branch=functions[0], else_branch=functions[1], name=scope
    )


def switch_case(index: Any, branches: Sequence[Callable[[], Any]], scope: str) -> Any:
    """`tf.switch_case` by a Case; the last function is the one for all other numbers."""
    index = convert_to_tensor(index, dtypes.int32, "branch_index")
    label = scope.rstrip("/").rpartition("/")[2]
    made = [_Branch(function, index, f"{label}_branch{i}") for i, function in enumerate(branches)]
    functions, inputs = _alike(made, "branch_fns arguments to tf.switch_case")
    return _called("Case", index, inputs, made, branches=functions, name=scope)


class _Branch:
    """A function without arguments, in a graph of its own.

    Attributes:
        returned: what the function returned.
        outputs: its results, tensors of the graph.
    """

    def __init__(self, function: Callable[[], Any], pred: Tensor, label: str) -> None:
        self.graph = _body_graph()
        self.label = f"{label}_{next(_numbers)}"
        with self.graph.as_default():
            returned = self.graph.ordered(function, None)
            if returned is None:
                raise ValueError(f"The function {getattr(function, '__name__', function)} returned None.")
            self.returned = structures.map_structure(lambda leaf: _as_result(leaf, pred), returned)
            self.outputs = [_own(self.graph, as_flow(leaf)) for leaf in structures.flatten(self.returned)]


def _as_result(leaf: Any, pred: Tensor) -> Any:
    if isinstance(leaf, Operation):
        with control_dependencies([leaf]):
            return identity(pred)
    return as_variable(leaf)


class _Body(BodyGraph):
    """The body of a branch or of a loop, which shares the collections of the graph around it."""

    def ordered(self, function: Callable[..., Any], context: Any, *args: Any) -> Any:
        """What a function returns; in functions of `tf.function`, after all that acts in it."""
        returned = function(*args)
        if not self.automatic:
            return returned
        effects = in_order(self.get_operations(), context)
        if not effects:
            return returned
        with self.control_dependencies(effects):
            return structures.map_structure(
                lambda leaf: leaf if isinstance(leaf, Operation) else _passed(leaf), returned
            )


def _passed(leaf: Any) -> Any:
    variable = as_variable(leaf)
    return with_flow(variable, identity(as_flow(variable)))


def _body_graph() -> _Body:
    outer = get_default_graph()
    automatic = getattr(outer, "automatic", False)
    graph = _Body(outer, automatic=automatic, may_make_variables=getattr(outer, "may_make_variables", True))
    graph.functional_flow = True
    graph._collections = outer._collections
    graph._scopes.devices = outer._scopes.devices
    return graph


def _own(graph: Graph, tensor: Any) -> Tensor:
    assert isinstance(graph, BodyGraph)
    return tensor if tensor.op.graph is graph else graph.capture(tensor)


def _alike(branches: Sequence[_Branch], what: str) -> tuple[list[NameAttrList], list[Tensor]]:
    """The functions with the same arguments and results, and the tensors that they capture."""
    first = branches[0]
    for other in branches[1:]:
        try:
            structures.assert_same_structure(first.returned, other.returned)
            for a, b in zip(first.outputs, other.outputs, strict=True):
                if a.dtype.base is not b.dtype.base:
                    raise TypeError(f"{a} and {b} have different types")
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{what} must have the same number, type, and overall structure of return values.\n\n"
                f"{branches[0].label} output: {first.returned}\n{other.label} output: {other.returned}\n\n"
                f"Error details:\n{error}"
            ) from None
    captured = list(dict.fromkeys(tensor for branch in branches for tensor in branch.graph.captured))
    functions = []
    for branch in branches:
        graph = branch.graph
        arguments = [graph.capture(tensor) for tensor in captured]
        functions.append(_add_function(graph, branch.label, arguments, branch.outputs))
    return functions, captured


def _called(
    op_type: str, value: Tensor, inputs: list[Tensor], made: Sequence[_Branch], **options: Any
) -> Any:
    outputs = [branch.outputs for branch in made]
    shapes = [_common([tensor.dims for tensor in tensors]) for tensors in zip(*outputs, strict=True)]
    types = [tensor.dtype.base for tensor in outputs[0]]
    acts = any(_acts(branch.graph, branch.outputs) for branch in made)
    with beside_handles(inputs):
        results = apply_list(
            op_type if acts else f"Stateless{op_type}",
            value,
            inputs,
            Tout=types,
            output_shapes=[TensorShape(dims) for dims in shapes],
            **options,
        )
    returned = made[0].returned
    leaves = structures.flatten(returned)
    results = results if isinstance(results, list) else []
    packed = [with_flow(leaf, identity(result)) for leaf, result in zip(leaves, results, strict=True)]
    return structures.pack(returned, packed)


def _common(shapes: Sequence[Dims]) -> Dims:
    """The shape that all branches' results have."""
    first = shapes[0]
    if any(dims is None or first is None or len(dims) != len(first) for dims in shapes):
        return None
    return tuple(
        sizes[0] if all(size == sizes[0] for size in sizes) else None
        for sizes in zip(*(dims for dims in shapes if dims is not None), strict=True)
    )


def while_loop(
    pred: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    parallel_iterations: int,
    maximum_iterations: Any,
    return_same_structure: bool,
    scope: str,
) -> Any:
    """`tf.while_loop` by a While, which counts its turns."""
    originals = structures.flatten(loop_vars)
    loop_vars = structures.pack(loop_vars, [as_variable(value) for value in originals])
    flat = [as_flow(value) for value in structures.flatten(loop_vars)]
    invariants = [
        shape._dims
        for shape in (
            [tensor.get_shape() for tensor in flat]
            if shape_invariants is None
            else flat_shapes(loop_vars, shape_invariants)
        )
    ]
    for tensor, dims in zip(flat, invariants, strict=True):
        check_entered_shape(tensor, TensorShape(dims))
    if maximum_iterations is not None:
        maximum_iterations = convert_to_tensor(maximum_iterations, dtypes.int32, "maximum_iterations")
        if maximum_iterations.dims not in ((), None):
            raise ValueError(
                f"'maximum_iterations' must be a scalar. Received shape: {maximum_iterations.shape}"
            )
    label = scope.rstrip("/").rpartition("/")[2]
    types = [tensor.dtype.base for tensor in flat]
    leaves = structures.flatten(loop_vars)

    def packed(tensors: Sequence[Tensor]) -> Any:
        return structures.pack(loop_vars, [with_flow(v, t) for v, t in zip(leaves, tensors, strict=True)])

    condition = _body_graph()
    with condition.as_default():
        turn, *own = _arguments(condition, types, invariants, flat)
        holds = convert_to_tensor(condition.ordered(pred, None, *packed(own)))
        if maximum_iterations is not None:
            limited = apply_one("Less", turn, maximum_iterations)
            holds = apply_one("LogicalAnd", limited, _own(condition, holds))
        holds = _own(condition, holds)
    graph = _body_graph()
    with graph.as_default():
        turn, *own = _arguments(graph, types, invariants, flat)
        result = graph.ordered(body, None, *packed(own))
        if not structures.is_nested(result):
            result = [result]
        returned = [as_variable(value) for value in structures.flatten(result)]
        if len(returned) != len(flat):
            raise ValueError(
                "The two structures don't have the same nested structure: the loop's body returns "
                f"{len(returned)} values for {len(flat)} loop variables.\n\nFirst structure: {loop_vars}\n\n"
                f"Second structure: {result}"
            )
        following = [_own(graph, as_flow(value)) for value in returned]
        for tensor, value, dims in zip(flat, following, invariants, strict=True):
            check_next_shape(tensor, value.get_shape(), TensorShape(dims))
            if value.dtype.base is not tensor.dtype.base:
                raise TypeError(
                    f"Loop var {tensor.name} enters the loop with type {tensor.dtype.base!r} but has type "
                    f"{value.dtype.base!r} after 1 iteration. {tensor.name} type should remain constant."
                )
        next_turn = apply_one("AddV2", turn, 1)
    captured = list(dict.fromkeys((*condition.captured, *graph.captured)))
    number = next(_numbers)
    count = 1 + len(flat)
    functions = []
    for each, name, outputs in ((condition, "cond", [holds]), (graph, "body", [next_turn, *following])):
        arguments = [*each.arguments[:count], *(each.capture(tensor) for tensor in captured)]
        if name == "body":
            outputs = [*outputs, *arguments[count:]]
        functions.append(_add_function(each, f"{label}_{name}_{number}", arguments, outputs))
    acts = _acts(graph, following) or _acts(condition, [holds])
    with beside_handles([*flat, *captured]):
        outputs = apply_list(
            "While" if acts else "StatelessWhile",
            [0, *flat, *captured],
            cond=functions[0],
            body=functions[1],
            output_shapes=[TensorShape([]), *map(TensorShape, invariants), *(t.shape for t in captured)],
            parallel_iterations=parallel_iterations,
            name=scope,
        )
    outputs[0].op.put_attr(TURNS, 0)
    results = [
        with_flow(leaf, identity(tensor)) for leaf, tensor in zip(returned, outputs[1:count], strict=True)
    ]
    if len(results) == 1 and not return_same_structure:
        return results[0]
    return structures.pack(loop_vars, results)


def _arguments(
    graph: _Body, types: Sequence[DType], shapes: Sequence[Dims], values: Sequence[Tensor]
) -> list[Tensor]:
    """The placeholders of a loop's turn: of its number, and of the variables."""
    made = [graph.add_argument("turn", dtypes.int32, ())]
    for dtype, dims, value in zip(types, shapes, values, strict=True):
        tensor = graph.add_argument("arg", dtype, dims)
        if dtype is dtypes.resource and (known := handles.variable_of(value)) is not None:
            tensor.op.attrs[handles.DTYPE], tensor.op.attrs[handles.DIMS] = known
        made.append(tensor)
    return made


def _add_function(
    graph: _Body, name: str, arguments: Sequence[Tensor], outputs: Sequence[Tensor]
) -> NameAttrList:
    """Puts a body into the library of the graph around it, with what its results need."""
    definition = definition_of(name, _needed(graph, outputs), arguments, outputs)
    graph.outer._add_function(definition)
    return NameAttrList(name=name)


def _needed(graph: _Body, outputs: Sequence[Tensor]) -> list[Operation]:
    found: set[Operation] = set()
    pending = [tensor.op for tensor in outputs]
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
    return [op for op in graph.get_operations() if op in found]


def _acts(graph: _Body, outputs: Sequence[Tensor]) -> bool:
    return any(op.opdef.is_stateful for op in _needed(graph, outputs) if op.type != "Placeholder")
