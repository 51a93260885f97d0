"""Gradients of While and For, by a While that goes through the turns from the last to the first.

The loop gets results: how often it turned, and for each value of a turn that the gradient takes a list, to
which each turn adds its value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.functions.body_gradient import BodyGradient, Cut, reaching, zeros_of
from tensorfleet.functions.definition_graph import DefinitionGraph, library_definition
from tensorfleet.graph import handles
from tensorfleet.graph.apply import apply_list, apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow.gradient_control_flow import is_trainable
from tensorfleet.proto.attr_value_pb2 import NameAttrList
from tensorfleet.proto.function_pb2 import FunctionDef

TURNS = "_turns"
"""The attribute of a loop that has the number of the result that counts its turns."""

_numbers = itertools.count()


@gradient("While", "StatelessWhile")
def _while(op: Operation, *grads: Any) -> list[Any]:
    return _Loop(op, 0, 0).differentiate(grads)


@gradient("For")
def _for(op: Operation, *grads: Any) -> list[Any]:
    return _Loop(op, 3, 1).differentiate(grads)


class _Loop:
    """A loop whose gradient is made.

    Attributes:
        first: the number of the input that is the first value of the loop.
        lead: how many arguments of the body come before these values.
    """

    def __init__(self, op: Operation, first: int, lead: int) -> None:
        self.op = op
        self.first = first
        self.lead = lead
        self.number = next(_numbers)
        values = op.inputs[first:]
        known = [handles.variable_of(t) if t.dtype.base is dtypes.resource else None for t in values]
        dims = [_lasting(t.dims, out.dims) for t, out in zip(values, op.outputs, strict=True)]
        self.graph = DefinitionGraph(
            library_definition(op.graph, op.attrs["body"].name),
            op.graph,
            [*[()] * lead, *dims],
            [*[None] * lead, *known],
        )
        self.arguments = self.graph.arguments[lead:]
        self.results = list(self.graph.results)

    def differentiate(self, grads: Sequence[Any]) -> list[Any]:
        """The gradients of the loop's inputs."""
        op = self.op
        found: list[Any] = [None] * len(op.inputs)
        given = {i: g for i, g in enumerate(grads) if g is not None and is_trainable(op.outputs[i])}
        xs = self._carried(given)
        if not xs:
            return found
        made = BodyGradient(self.graph, xs)
        results = [made.dense(self.lead + i) for i in xs]
        cut = made.cut(results)
        fixed = [i for i, own in enumerate(self.arguments) if self.results[i] is own]
        passed = [i for i in fixed if self.arguments[i] in cut.arguments]
        kept = {self.arguments[i] for i in passed}
        values = [*cut.taken, *(t for t in cut.arguments if t not in kept)]
        turns, lists = self._record(cut, values)
        backward = self._backward(made, cut, values, results, passed)
        inputs: list[Any] = [0, op.outputs[turns]]
        inputs += [zeros_of(op.inputs[self.first + i]) if i not in given else given[i] for i in xs]
        inputs += [op.outputs[i] for i in lists]
        inputs += [op.inputs[self.first + i] for i in passed]
        condition = _condition(backward)
        _add(condition, get_default_graph())
        _add(backward, op.graph, get_default_graph())
        shapes = [(), (), *(t.dims for t in results), *[None] * (len(lists) + len(passed))]
        outputs = apply_list(
            "While" if backward.signature.is_stateful else "StatelessWhile",
            inputs,
            cond=_named(condition),
            body=_named(backward),
            output_shapes=shapes,
            parallel_iterations=op.attrs.get("parallel_iterations", 10),
            name="While",
        )
        for i, output in zip(xs, outputs[2:], strict=False):
            x = op.inputs[self.first + i]
            output.set_shape(handles.handle_dims(x) if x.dtype.base is dtypes.resource else x.dims)
            found[self.first + i] = output
        return found + [None] * (len(op.inputs) - len(found))

    def _carried(self, given: Iterable[int]) -> list[int]:
        """The values whose gradients the turns hand on, from those that have gradients at the end."""
        found = set(given)
        while True:
            more = {i - self.lead for i in reaching(self.graph, sorted(found)) if i >= self.lead}
            if more <= found:
                return sorted(found)
            found |= more

    def _record(self, cut: Cut, values: Sequence[Tensor]) -> tuple[int, list[int]]:
        """Has the loop count its turns and keep the values.

        Returns:
            The numbers of the results: of the count, and of the list for each value.
        """
        op, graph = self.op, self.graph
        kept = self._kept()
        lists = {value: kept[value] for value in values if value in kept}
        new = [value for value in values if value not in lists]
        turns: int | None = op.attrs.get(TURNS)
        added: list[tuple[Tensor, Tensor]] = []  # the argument and the result
        with graph.as_default():
            before = len(graph.get_operations())
            if turns is None:
                argument = graph.add_argument("turns", dtypes.int32, ())
                added.append((argument, apply_one("AddV2", argument, 1)))
            for value in new:
                argument = graph.add_argument("list", dtypes.variant, ())
                added.append((argument, apply_one("TensorListPushBack", argument, value)))
            own = [*cut.own, *graph.get_operations()[before:]]
        if turns is not None and not added:
            return turns, [lists[value] for value in values]
        outer = op.graph
        with outer.as_default(), outer.name_scope(f"{op.name}_lists/"), outer.control_dependencies(None):
            inputs = [convert_to_tensor(0, dtypes.int32)] if turns is None else []
            inputs += [
                apply_one("EmptyTensorList", _element_shape(value), -1, element_dtype=value.dtype.base)
                for value in new
            ]
        forward = definition_of(
            f"__forward_{graph.label.removeprefix('__forward_')}_{self.number}",
            own,
            graph.arguments,
            [*self.results, *(result for _, result in added)],
        )
        _add(forward, outer)
        count = len(op.outputs)
        op.add_inputs(inputs)
        op.add_outputs([t.dtype.base for t in inputs], [()] * len(inputs))
        op.put_attr("T", [output.dtype.base for output in op.outputs])
        op.put_attr("body", _named(forward))
        if op.attrs.get("output_shapes"):
            op.put_attr("output_shapes", [*op.attrs["output_shapes"], *[()] * len(inputs)])
        if "cond" in op.attrs:
            condition = self._longer_condition([t.dtype.base for t in inputs])
            _add(condition, outer)
            op.put_attr("cond", _named(condition))
        if turns is None:
            turns = count
            op.put_attr(TURNS, turns)
            count += 1
        lists.update((value, count + i) for i, value in enumerate(new))
        return turns, [lists[value] for value in values]

    def _kept(self) -> dict[Tensor, int]:
        """The values that an earlier gradient has the loop keep, and the numbers of the results with them."""
        found = {}
        for i, result in enumerate(self.results):
            if (
                result.op.type == "TensorListPushBack"
                and result.op.inputs[0] is self.arguments[i]
                and self.op.inputs[self.first + i].op.type == "EmptyTensorList"
            ):
                found[result.op.inputs[1]] = i
        return found

    def _longer_condition(self, types: Sequence[dtypes.DType]) -> FunctionDef:
        """The loop's condition with arguments for what it keeps."""
        name = self.op.attrs["cond"].name
        graph = DefinitionGraph(library_definition(self.op.graph, name), self.op.graph)
        for dtype in types:
            graph.add_argument("kept", dtype, None)
        label = f"__forward_{name.removeprefix('__forward_')}_{self.number}"
        return definition_of(label, graph.get_operations(), graph.arguments, graph.results)

    def _backward(
        self,
        made: BodyGradient,
        cut: Cut,
        values: Sequence[Tensor],
        results: Sequence[Tensor],
        passed: Sequence[int],
    ) -> FunctionDef:
        """A turn of the gradient: of its number, their count, gradients, lists and what never changes."""
        graph = self.graph
        with graph.as_default():
            lists = [graph.add_argument("list", dtypes.variant, ()) for _ in values]
            turn = graph.add_argument("turn", dtypes.int32, ())
            turns = graph.add_argument("turns", dtypes.int32, ())
            before = len(graph.get_operations())
            popped = [
                apply_op("TensorListPopBack", each, _element_shape(value), element_dtype=value.dtype.base)
                for each, value in zip(lists, values, strict=True)
            ]
            following = apply_one("AddV2", turn, 1)
            own = [*cut.later, *graph.get_operations()[before:]]
        same = [self.arguments[i] for i in passed]
        return definition_of(
            f"__backward_{graph.label.removeprefix('__forward_')}_{self.number}",
            own,
            [turn, turns, *made.given, *lists, *same],
            [following, turns, *results, *(rest for rest, _ in popped), *same],
            replaced={value: element for value, (_, element) in zip(values, popped, strict=True)},
        )


def _condition(body: FunctionDef) -> FunctionDef:
    """Whether there are turns left."""
    graph = FuncGraph(get_default_graph())
    with graph.as_default():
        for arg in body.signature.input_arg:
            graph.add_argument(arg.name, dtypes.from_enum(arg.type), None)
        result = apply_one("Less", *graph.arguments[:2])
    name = f"{body.signature.name}_cond"
    return definition_of(name, graph.get_operations(), graph.arguments, [result])


def _lasting(before: Dims, after: Dims) -> Dims:
    """The shape of a value in all turns, of its shapes before and after the loop."""
    return before if before == after else after


def _element_shape(value: Tensor) -> Tensor:
    if value.dims is None:
        return convert_to_tensor(-1, dtypes.int32)
    return convert_to_tensor([-1 if dim is None else dim for dim in value.dims], dtypes.int32)


def _named(definition: FunctionDef) -> NameAttrList:
    return NameAttrList(name=definition.signature.name)


def _add(definition: FunctionDef, *graphs: Any) -> None:
    for graph in graphs:
        graph._add_function(definition)
