"""Functions of a graph's library: a Python function, called once with placeholders, as a FunctionDef."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import handles
from tensorfleet.graph.function_calls import DefinedFunction
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.graph import Graph, get_default_graph, lookup_op
from tensorfleet.graph.op_def import OpDef
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.scopes import ScopeState
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.attr_value_pb2 import NameAttrList
from tensorfleet.proto.function_pb2 import FunctionDef

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")
_VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))
_numbers = itertools.count()


class FuncGraph(Graph):
    """The body of a function while it is made; tensors of outer graphs become its arguments.

    Attributes:
        outer: the graph in which the function is made.
        arguments: the placeholders of the function's own arguments, then those of what it captured.
        captured: the tensors of outer graphs that the function uses, in the order of their placeholders.
        by_value: whether what the function uses of outer graphs is copied into its body instead.
        copied_effects: the operations with state that may be copied, too.
        lifts_variables: whether variables that the function makes belong to the outermost graph; where not,
            making one is an error.
    """

    def __init__(
        self,
        outer: Graph,
        lifts_variables: bool = False,
        by_value: bool = False,
        copied_effects: Collection[Operation] = (),
    ) -> None:
        super().__init__()
        self.outer = outer
        self.lifts_variables = lifts_variables
        self.by_value = by_value
        self.copied_effects = copied_effects
        self.seed = outer.seed
        self.arguments: list[Tensor] = []
        self.captured: list[Tensor] = []
        self._placeholders: dict[Tensor, Tensor] = {}
        self._copies: dict[Operation, Operation] = {}
        # get_variable finds the variables that there are.
        self._collections = {
            key: values for key, values in outer._collections.items() if not isinstance(key, str)
        }

    @property
    def building_function(self) -> bool:
        return True

    @property
    def outer_graph(self) -> Graph:
        """`outer`, by the name that programs know."""
        return self.outer

    def add_argument(self, name: str, dtype: DType, dims: Dims) -> Tensor:
        """A new argument; its dtype is not a reference."""
        opdef = lookup_op("Placeholder")
        op = super().add_operation(
            opdef, self.unique_name(name), (), {"dtype": dtype.base, "shape": dims}, [dtype.base]
        )
        self.arguments.append(op.outputs[0])
        return op.outputs[0]

    def add_operation(
        self,
        opdef: OpDef,
        name: str,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        output_types: list[DType],
        skip_frames: int = 1,
    ) -> Operation:
        """Adds a node, as `Graph.add_operation`; inputs from outer graphs are captured.

        Raises:
            ValueError: the operation is a variable: it would be one of the function alone, and never
                initialized.
            TypeError: the operation changes a reference variable of an outer graph.
        """
        if opdef.name in _VARIABLES:
            raise ValueError(
                f"Variable {name} is made inside of a function. Make it before, outside of the function."
            )
        own = tuple(tensor if tensor.op.graph is self else self.capture(tensor) for tensor in inputs)
        if not opdef.simple:
            wanted = opdef.input_types(attrs)
            if any(dtype.is_ref and not t.dtype.is_ref for dtype, t in zip(wanted, own, strict=True)):
                raise TypeError(
                    f"In op '{opdef.name}', input types ({[t.dtype for t in own]}) are not compatible with "
                    f"expected types ({wanted}): a function gets the values of reference variables. Make the "
                    "variable with use_resource=True to change it there."
                )
        return super().add_operation(opdef, name, own, attrs, output_types, skip_frames + 1)

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """What stands for a tensor of an outer graph: an argument, or a copy.

        Raises:
            ValueError: it is to be copied, and depends on a placeholder or on state.
        """
        if self.by_value:
            return self.copy_in(tensor)
        found = self._placeholders.get(tensor)
        if found is None:
            label = name or f"captured_{tensor.op.name.rpartition('/')[2]}"
            # Outside of the conditional or loop in which it is used first.
            with self.name_scope(None), self.control_dependencies(None):
                found = self._placeholders[tensor] = self.add_argument(label, tensor.dtype, tensor.dims)
            if tensor.dtype.base is dtypes.resource and (known := handles.variable_of(tensor)) is not None:
                found.op.attrs[handles.DTYPE], found.op.attrs[handles.DIMS] = known
            self.captured.append(tensor)
        return found

    def copy_in(self, tensor: Tensor) -> Tensor:
        """The copy of a tensor of an outer graph, with copies of all that it depends on.

        Raises:
            ValueError: it depends on a placeholder, or on state other than datasets.
        """

        def check(op: Operation) -> None:
            if op not in self.copied_effects:
                _check_copy(op)

        _copy(tensor.op, self, self._copies, check)
        return self._copies[tensor.op].outputs[tensor.value_index]

    def lift(self, tensor: Tensor) -> Tensor:
        """The copy in the outermost graph of a tensor of this one, for a variable's initial value.

        Raises:
            ValueError: it depends on an argument.
        """
        outer: Graph = self.outer
        while isinstance(outer, FuncGraph):
            outer = outer.outer
        given = {inner: own for own, inner in self._placeholders.items() if own.op.graph is outer}
        if tensor in given:
            return given[tensor]
        copies: dict[Operation, Operation] = {}

        def check(op: Operation) -> None:
            if op.type in _PLACEHOLDERS:
                raise ValueError(
                    f"Unable to lift tensor {tensor!r} because it depends transitively on placeholder "
                    f"{op!r}: a variable's initial value cannot depend on a function's arguments."
                )

        _copy(tensor.op, outer, copies, check, given)
        return copies[tensor.op].outputs[tensor.value_index]

    def _before_variable(self, arguments: dict[str, Any]) -> None:
        """Looks at the arguments of a variable that is about to be made outside, and may change them."""

    def _may_capture(self, tensor: Tensor) -> bool:
        return self._is_inside(tensor.op.graph)

    def _is_inside(self, graph: Any) -> bool:
        outer: Graph | None = self.outer
        while outer is not None:
            if graph is outer:
                return True
            outer = outer.outer if isinstance(outer, FuncGraph) else None
        return False

    def _controls_for(self, state: ScopeState, inputs: tuple[Tensor, ...]) -> list[Operation]:
        # Operations outside have run before the function is called.
        return [op for op in super()._controls_for(state, inputs) if op.graph is self]

    def _add_function(self, function: FunctionDef | DefinedFunction, gradient: str | None = None) -> None:
        # Kept here, too: a function that is called in another graph brings those that it calls.
        super()._add_function(function, gradient)
        self.outer._add_function(function, gradient)


@dataclass(frozen=True, slots=True)
class Traced:
    """A function in the library.

    Attributes:
        name: its name there.
        captured: the tensors that follow the arguments in each call.
        results: what the Python function returned.
        outputs: the results of the function, tensors of its body.
    """

    name: str
    captured: list[Tensor]
    results: Any
    outputs: list[Tensor]

    @property
    def attr(self) -> NameAttrList:
        """The function as the value of an attribute."""
        return NameAttrList(name=self.name)


def trace(
    label: str,
    function: Callable[..., Any],
    arguments: Sequence[tuple[DType, Dims]],
    outputs_of: Callable[[Any], Sequence[Tensor]],
) -> Traced:
    """Calls `function` with placeholders in a graph of its own, which joins the default graph's library.

    Args:
        label: what the name of the function begins with.
        function: is called with a tensor for each of `arguments`.
        arguments: dtypes and static shapes.
        outputs_of: makes tensors of what `function` returns; called within the body.
    """
    outer = get_default_graph()
    graph = FuncGraph(outer)
    with graph.as_default():
        tensors = [graph.add_argument(f"args_{i}", *argument) for i, argument in enumerate(arguments)]
        results = function(*tensors)
        outputs = [
            tensor if tensor.op.graph is graph else graph.capture(tensor) for tensor in outputs_of(results)
        ]
    name = _NOT_A_NAME.sub("_", f"{label}_{getattr(function, '__name__', 'function')}_{next(_numbers)}")
    outer._add_function(_definition(name, graph, outputs))
    return Traced(name, graph.captured, results, outputs)


def _definition(name: str, graph: FuncGraph, outputs: Sequence[Tensor]) -> FunctionDef:
    names = [f"output_{index}" for index in range(len(outputs))]
    return definition_of(name, graph.get_operations(), graph.arguments, outputs, names)


def trace_by_value(label: str, result: Tensor) -> Traced:
    """A function without arguments that computes what `result` is: with copies of all that it depends on.

    Raises:
        ValueError: it depends on a placeholder, or on state other than datasets.
    """
    outer = get_default_graph()
    graph = FuncGraph(outer)
    output = graph.copy_in(result)
    name = f"{label}_{next(_numbers)}"
    outer._add_function(_definition(name, graph, [output]))
    return Traced(name, [], result, [output])


_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


def _copy(
    root: Operation,
    target: Graph,
    copies: dict[Operation, Operation],
    check: Callable[[Operation], None],
    given: Mapping[Tensor, Tensor] | None = None,
) -> None:
    """Copies an operation of another graph to `target`, with all that it depends on.

    Args:
        copies: what has been copied already; gets what is copied now.
        check: raises an error for an operation that may not be copied.
        given: tensors of the target that stand for tensors of the other graph.
    """
    known = given or {}
    pending = [root]
    while pending:
        op = pending[-1]
        if op in copies:
            pending.pop()
            continue
        sources = [
            source
            for source in (*(t.op for t in op.inputs if t not in known), *op.control_inputs)
            if source not in copies
        ]
        if sources:
            pending += sources
            continue
        check(op)
        inputs = tuple(known[t] if t in known else copies[t.op].outputs[t.value_index] for t in op.inputs)
        attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
        with target.name_scope(None), target.control_dependencies(None):
            name = target.unique_name(op.name)
            types = [output.dtype for output in op.outputs]
            copied = Graph.add_operation(target, op.opdef, name, inputs, attrs, types)
        copied._add_control_inputs([copies[control] for control in op.control_inputs])
        copies[op] = copied


def _check_copy(op: Operation) -> None:
    if op.type in _PLACEHOLDERS:
        raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
    makes_dataset = bool(op.outputs) and all(tensor.dtype is dtypes.variant for tensor in op.outputs)
    # An Assert is stateful so that it is not left out: it keeps nothing.
    if op.opdef.is_stateful and not makes_dataset and op.type != "Assert":
        raise ValueError(
            f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.: A likely cause of "
            "this error is that the dataset for which you are calling `make_one_shot_iterator()` captures a "
            "stateful object, such as a `tf.Variable` or `tf.lookup.StaticHashTable`, which is not "
            "supported. Use `make_initializable_iterator()` instead."
        )
