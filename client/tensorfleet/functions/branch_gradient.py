"""Gradients of ops that call one of several functions: If, Case, and calls of traced functions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.functions.body_gradient import BodyGradient
from tensorfleet.functions.definition_graph import DefinitionGraph, library_definition
from tensorfleet.graph import handles
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.control_flow.gradient_control_flow import is_trainable
from tensorfleet.proto.attr_value_pb2 import NameAttrList

_numbers = itertools.count()


class Differentiated:
    """Functions that are called in each other's place, with more results, and their gradients.

    Attributes:
        forward, backward: definitions, one for each function.
        added: what the first ones give beside their own results: tensors of the bodies.
        taken: for each tensor that the gradients take, the number of the result that has it.
        passed: the positions of the arguments that the gradients take after these.
        xs: the positions of the arguments that have gradients, and the dtypes of these gradients' indices, if
            they are IndexedSlices.
        types: the dtypes of the gradients' results.
    """

    def __init__(self, graphs: Sequence[DefinitionGraph], ys: Sequence[int]) -> None:
        """Differentiates.

        Args:
            graphs: the bodies, to which the gradients are added.
            ys: the positions of the results whose gradients come.
        """
        number = next(_numbers)
        bodies = [BodyGradient(graph, ys) for graph in graphs]
        positions = sorted({i for each in bodies for i in each.found})
        self.xs: list[tuple[int, DType | None]] = []
        for i in positions:
            types = {each.index_type(i) for each in bodies if i in each.found}
            index_type = types.pop() if len(types) == 1 else dtypes.int64
            self.xs.append((i, None if None in types else index_type))
        results = []
        for each in bodies:
            made = [[each.dense(i)] if dtype is None else each.slices(i, dtype) for i, dtype in self.xs]
            results.append([tensor for tensors in made for tensor in tensors])
        self.types = [tensor.dtype.base for tensor in results[0]] if results else []
        cuts = [each.cut(own) for each, own in zip(bodies, results, strict=True)]
        count = len(graphs[0].results)
        self.added: list[Tensor] = []
        self.taken: list[int] = []
        owners: list[int] = []
        for owner, (graph, cut) in enumerate(zip(graphs, cuts, strict=True)):
            for tensor in cut.taken:
                if tensor.dtype.base is dtypes.resource:
                    raise LookupError(
                        f"No gradient defined for the function {graph.label}: it makes the resource "
                        f"{tensor.name}. Make that outside of it."
                    )
                if tensor in graph.results:
                    self.taken.append(graph.results.index(tensor))
                else:
                    self.taken.append(count + len(self.added))
                    self.added.append(tensor)
                owners.append(owner)
        self.passed = sorted(
            {graph.arguments.index(t) for graph, cut in zip(graphs, cuts, strict=True) for t in cut.arguments}
        )
        everything = [tensor for cut in cuts for tensor in cut.taken]
        self.forward, self.backward = [], []
        for i, (graph, body, cut) in enumerate(zip(graphs, bodies, cuts, strict=True)):
            with graph.as_default():
                before = len(graph.get_operations())
                more = [t if t.op.graph is graph else _nothing(t.dtype.base) for t in self.added]
                fillers = graph.get_operations()[before:]
                arguments = [
                    t
                    if owner == i
                    else apply_one("Placeholder", dtype=t.dtype.base, shape=None, name="unused")
                    for t, owner in zip(everything, owners, strict=True)
                ]
            passed = [graph.arguments[position] for position in self.passed]
            ending = f"{graph.label.removeprefix('__forward_').removeprefix('__inference_')}_{number}_{i}"
            self.forward.append(
                definition_of(
                    f"__forward_{ending}", [*cut.own, *fillers], graph.arguments, [*graph.results, *more]
                )
            )
            self.backward.append(
                definition_of(
                    f"__backward_{ending}", cut.later, [*body.given, *arguments, *passed], results[i]
                )
            )
        self.dims = [tensor.dims for tensor in self.added]


def _nothing(dtype: DType) -> Tensor:
    """What the function that does not make a tensor gives in its place; nobody takes it."""
    if dtype is dtypes.variant:
        return apply_one("EmptyTensorList", [0], -1, element_dtype=dtypes.float32)
    return convert_to_tensor("" if dtype is dtypes.string else False if dtype is dtypes.bool else 0, dtype)


def differentiated(op: Operation, functions: Sequence[str], first: int, ys: Sequence[int]) -> Differentiated:
    """The functions that an op calls, differentiated; once for all equal calls of a graph.

    Args:
        first: the number of the input that is the first argument.
        ys: the results whose gradients come.
    """
    inputs = op.inputs[first:]
    known = [handles.variable_of(t) if t.dtype.base is dtypes.resource else None for t in inputs]
    key = (tuple(functions), tuple(ys), tuple(t.dims for t in inputs), tuple(known))
    cache: dict[Any, Differentiated] = op.graph._traced.setdefault(Differentiated, {})
    found = cache.get(key)
    if found is None:
        graphs = [
            DefinitionGraph(library_definition(op.graph, name), op.graph, [t.dims for t in inputs], known)
            for name in functions
        ]
        found = cache[key] = Differentiated(graphs, ys)
    return found


def gradient_of_branches(
    op: Operation, grads: Sequence[Any], functions: Sequence[str], first: int
) -> tuple[Differentiated | None, list[Any]]:
    """What was differentiated, and the inputs of the call of the gradients.

    The op gets the results that the gradients take.
    """
    ys = [i for i, grad in enumerate(grads) if grad is not None and is_trainable(op.outputs[i])]
    made = differentiated(op, functions, first, ys)
    if not made.xs:
        return None, []
    for graph in (op.graph, get_default_graph()):
        for definition in (*made.forward, *made.backward):
            graph._add_function(definition)
    count = len(op.outputs)
    op.add_outputs([tensor.dtype.base for tensor in made.added], made.dims)
    if made.added and "Tout" in op.attrs:
        op.put_attr("Tout", [tensor.dtype.base for tensor in op.outputs])
        if op.attrs.get("output_shapes"):
            op.put_attr("output_shapes", [*op.attrs["output_shapes"], *made.dims])
    assert len(op.outputs) == count + len(made.added)
    inputs = [convert_to_tensor(grads[i]) for i in ys]
    inputs += [op.outputs[i] for i in made.taken]
    inputs += [op.inputs[first + i] for i in made.passed]
    return made, inputs


def distributed(op: Operation, made: Differentiated, outputs: Sequence[Tensor], first: int) -> list[Any]:
    """The results of the call of the gradients, for the inputs of the op."""
    found: list[Any] = [None] * len(op.inputs)
    results = iter(outputs)
    for position, index_type in made.xs:
        x = op.inputs[first + position]
        if index_type is not None:
            values, indices, shape = next(results), next(results), next(results)
            found[first + position] = IndexedSlices(values, indices, shape)
        else:
            output = next(results)
            output.set_shape(handles.handle_dims(x) if x.dtype.base is dtypes.resource else x.dims)
            found[first + position] = output
    return found


def _named(definitions: Sequence[Any]) -> list[NameAttrList]:
    return [NameAttrList(name=definition.signature.name) for definition in definitions]


@gradient("If", "StatelessIf")
def _if(op: Operation, *grads: Any) -> list[Any]:
    made, inputs = gradient_of_branches(
        op, grads, [op.attrs["then_branch"].name, op.attrs["else_branch"].name], 1
    )
    if made is None:
        return [None] * len(op.inputs)
    forward, backward = _named(made.forward), _named(made.backward)
    if made.added:
        op.put_attr("then_branch", forward[0])
        op.put_attr("else_branch", forward[1])
    results = apply_op(
        _kind("If", made),
        op.inputs[0],
        inputs,
        Tout=made.types,
        then_branch=backward[0],
        else_branch=backward[1],
        name="If",
    )
    return distributed(op, made, results, 1)


@gradient("Case", "StatelessCase")
def _case(op: Operation, *grads: Any) -> list[Any]:
    made, inputs = gradient_of_branches(op, grads, [each.name for each in op.attrs["branches"]], 1)
    if made is None:
        return [None] * len(op.inputs)
    if made.added:
        op.put_attr("branches", _named(made.forward))
    results = apply_op(
        _kind("Case", made),
        op.inputs[0],
        inputs,
        Tout=made.types,
        branches=_named(made.backward),
        name="Case",
    )
    return distributed(op, made, results, 1)


def _kind(op_type: str, made: Differentiated) -> str:
    acts = any(definition.signature.is_stateful for definition in made.backward)
    return op_type if acts else f"Stateless{op_type}"
