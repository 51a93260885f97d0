"""Functions of a graph's library: a Python function, called once with placeholders, as a FunctionDef."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
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
    """

    def __init__(self, outer: Graph) -> None:
        super().__init__()
        self.outer = outer
        self.seed = outer.seed
        self.arguments: list[Tensor] = []
        self.captured: list[Tensor] = []
        self._placeholders: dict[Tensor, Tensor] = {}
        # get_variable finds the variables that there are.
        self._collections = {
            key: values for key, values in outer._collections.items() if not isinstance(key, str)
        }

    @property
    def building_function(self) -> bool:
        return True

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
        """
        if opdef.name in _VARIABLES:
            raise ValueError(
                f"Variable {name} is made inside of a function. Make it before, outside of the function."
            )
        own = tuple(tensor if tensor.op.graph is self else self.capture(tensor) for tensor in inputs)
        return super().add_operation(opdef, name, own, attrs, output_types, skip_frames + 1)

    def capture(self, tensor: Tensor) -> Tensor:
        """The argument that stands for a tensor of an outer graph."""
        found = self._placeholders.get(tensor)
        if found is None:
            name = tensor.op.name.rpartition("/")[2]
            with self.name_scope(None):
                found = self._placeholders[tensor] = self.add_argument(
                    f"captured_{name}", tensor.dtype, tensor.dims
                )
            self.captured.append(tensor)
        return found

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

    def _add_function(self, function: FunctionDef) -> None:
        self.outer._add_function(function)


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
    definition = FunctionDef()
    signature = definition.signature
    signature.name = name
    arguments = {tensor.op for tensor in graph.arguments}
    texts: dict[Tensor, str] = {}
    for tensor in graph.arguments:
        texts[tensor] = tensor.op.name
        signature.input_arg.add(name=tensor.op.name, type=tensor.dtype.enum)
    for op in graph.get_operations():
        if op in arguments:
            continue
        for arg, start, stop in op.opdef.output_slices(op.attrs):
            for index in range(start, stop):
                texts[op.outputs[index]] = f"{op.name}:{arg.name}:{index - start}"
    for op in graph.get_operations():
        if op in arguments:
            continue
        node = definition.node_def.add()
        op.fill_node_def(node)
        del node.input[:]
        node.input.extend(texts[tensor] for tensor in op.inputs)
        node.input.extend(f"^{control.name}" for control in op.control_inputs if control not in arguments)
        if op.opdef.is_stateful:
            signature.is_stateful = True
            signature.control_output.append(op.name)
            definition.control_ret[op.name] = op.name
    for index, tensor in enumerate(outputs):
        result = signature.output_arg.add(name=f"output_{index}", type=tensor.dtype.base.enum)
        definition.ret[result.name] = texts[tensor]
    return definition


def trace_by_value(label: str, result: Tensor) -> Traced:
    """A function without arguments that computes what `result` is: with copies of all that it depends on.

    Raises:
        ValueError: it depends on a placeholder, or on state other than datasets.
    """
    outer = get_default_graph()
    graph = FuncGraph(outer)
    copies: dict[Operation, Operation] = {}
    pending = [result.op]
    while pending:
        op = pending[-1]
        if op in copies:
            pending.pop()
            continue
        sources = [
            source for source in (*(t.op for t in op.inputs), *op.control_inputs) if source not in copies
        ]
        if sources:
            pending += sources
            continue
        _check_copy(op)
        inputs = tuple(copies[t.op].outputs[t.value_index] for t in op.inputs)
        attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
        copied = Graph.add_operation(
            graph, op.opdef, op.name, inputs, attrs, [tensor.dtype for tensor in op.outputs]
        )
        copied._add_control_inputs([copies[control] for control in op.control_inputs])
        copies[op] = copied
    output = copies[result.op].outputs[result.value_index]
    name = f"{label}_{next(_numbers)}"
    outer._add_function(_definition(name, graph, [output]))
    return Traced(name, [], result, [output])


def _check_copy(op: Operation) -> None:
    if op.type in ("Placeholder", "PlaceholderV2"):
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
