"""Functions of `tf.function` for one kind of arguments: traced once, called by an operation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.core.type_specs import TensorSpec
from tensorfleet.functions.body import BodyGraph
from tensorfleet.functions.call_node import add_call
from tensorfleet.functions.definition_graph import SHAPES
from tensorfleet.functions.naming import TRACED_CALL
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.effects import in_order
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.proto.function_pb2 import FunctionDef

_numbers = itertools.count()


class ConcreteFunction:
    """A traced function: its body, and calls of it.

    Attributes:
        graph: the body.
        inputs: the arguments in the body, then those for captured tensors.
        structured_input_signature: (args, kwargs), with a TensorSpec for each tensor.
        structured_outputs: what the Python function returned, with tensors of the body.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        names: Sequence[str],
        label: str,
        may_make_variables: bool,
        functional: bool = False,
    ) -> None:
        """Traces a function.

        Args:
            args, kwargs: its arguments, with a TensorSpec for each tensor.
            names: the names of these tensors, in their order.
            label: the function's name.
            may_make_variables: whether it may make variables.
            functional: whether its conditionals and loops become If, Case and While.
        """
        self.structured_input_signature = tuple(args), dict(kwargs)
        self._origin = function, args, kwargs, names, label
        outer = get_default_graph()
        self.graph = BodyGraph(outer, automatic=True, may_make_variables=may_make_variables)
        self.graph.functional_flow = functional
        with self.graph.as_default():
            tensors = [
                self.graph.add_argument(name, spec.dtype, spec.shape._dims)
                for spec, name in zip(_specs((args, kwargs)), names, strict=True)
            ]
            given = iter(tensors)
            own_args, own_kwargs = _mapped(
                lambda leaf: next(given) if isinstance(leaf, TensorSpec) else leaf, (list(args), kwargs)
            )
            returned = function(*own_args, **own_kwargs)
            effects = in_order(self.graph.get_operations(), None)
            leaves = [_as_result(leaf) for leaf in structures.flatten(returned)]
            with control_dependencies(effects):
                ended = [None if leaf is None else identity(leaf) for leaf in leaves]
        self.structured_outputs = structures.pack(returned, ended)
        self.graph.results = [leaf for leaf in ended if leaf is not None]
        self._argument_count = len(tensors)
        self.name = f"__inference_{label}_{next(_numbers)}"
        self._definition: FunctionDef | None = None
        self._functional: tuple[str, list[Tensor]] | None = None

    # What programs ask

    @property
    def inputs(self) -> list[Tensor]:
        return self.graph.arguments

    @property
    def outputs(self) -> list[Tensor]:
        """The results that are tensors, in the body."""
        return self.graph.results

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outer graphs that each call passes after the arguments."""
        return self.graph.captured

    @property
    def definition(self) -> FunctionDef:
        """The function as a FunctionDef message."""
        if self._definition is None:
            self._definition = definition_of(
                self.name, self.graph.get_operations(), self.inputs, self.outputs
            )
        return self._definition

    @property
    def function_def(self) -> FunctionDef:
        """`definition`."""
        return self.definition

    @property
    def python_grad_func(self) -> None:
        """None: calls bring their own rules."""
        return

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """(name, op type) of each operation of the body that has state."""
        return self.graph.stateful_ops

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return _mapped(lambda leaf: None if leaf is None else leaf.dtype, self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the results, in their structure."""
        return _mapped(
            lambda leaf: TensorShape(None) if leaf is None else leaf.shape, self.structured_outputs
        )

    @property
    def variables(self) -> list[Any]:
        """The variables that the body uses."""
        handles = {id(tensor) for tensor in self.captured_inputs}
        outer = self.graph.outer
        found = {}
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
            for variable in outer.get_collection(key):
                if id(getattr(variable, "handle", None)) in handles:
                    found[id(variable)] = variable
        return list(found.values())

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of `variables` that optimizers change."""
        return [variable for variable in self.variables if variable.trainable]

    def add_to_graph(self, g: Graph | None = None) -> None:
        """Puts the function, and those that it calls, into a graph's library."""
        graph = g or get_default_graph()
        graph._add_function(self)
        self.graph.add_functions(graph)

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of a call with the tensors of the signature, by position or by name.

        Raises:
            TypeError: another number of tensors, an unknown name, or another dtype.
        """
        own = self.inputs[: self._argument_count]
        names = [tensor.op.name for tensor in own]
        given = [leaf for leaf in structures.flatten(list(args)) if not _is_bound(leaf)]
        if len(given) > len(own):
            raise TypeError(f"{self.name} takes {len(own)} tensors, got {len(given)}")
        for name in names[len(given) :]:
            if name not in kwargs:
                raise TypeError(f"{self.name} missing required argument: {name}")
            given.append(kwargs.pop(name))
        unknown = [key for key, value in kwargs.items() if not _is_bound(value)]
        if unknown:
            raise TypeError(f"{self.name} got unexpected keyword arguments: {', '.join(unknown)}")
        return self.call_flat([_as_argument(x, spec) for x, spec in zip(given, own, strict=True)])

    def call_flat(self, tensors: Sequence[Tensor]) -> Any:
        """The results of a call with these arguments, in the structure of the Python function's."""
        graph = get_default_graph()
        self.add_to_graph(graph)
        op = self._operation(graph, [*tensors, *self.captured_inputs])
        op.put_attr(SHAPES, [own.dims for own in self.outputs])
        for output, own in zip(op.outputs, self.outputs, strict=True):
            output.set_shape(own.dims)
        results = iter(op.outputs)
        leaves = structures.flatten(self.structured_outputs)
        packed = [None if leaf is None else next(results) for leaf in leaves]
        return structures.pack(self.structured_outputs, packed)

    def _operation(self, graph: Graph, inputs: list[Tensor]) -> Operation:
        op_type = "StatefulPartitionedCall" if self.definition.signature.is_stateful else "PartitionedCall"
        op = add_call(graph, op_type, self.name, inputs, [output.dtype.base for output in self.outputs])
        op.put_attr("_gradient_op_type", TRACED_CALL.encode())
        return op

    def functional(self) -> tuple[str, list[Tensor]]:
        """The function whose conditionals and loops are functions, too, so that it has gradients.

        Returns:
            Its name, and the tensors that a call passes after those that a call of this one passes.
        """
        if self._functional is None:
            self._functional = self._traced_again() if self._has_switches() else (self.name, [])
        return self._functional

    def _has_switches(self) -> bool:
        return any(
            op.type in ("Switch", "RefSwitch", "Enter", "RefEnter") for op in self.graph.get_operations()
        )

    def _traced_again(self) -> tuple[str, list[Tensor]]:
        with self.graph.outer.as_default():
            again = ConcreteFunction(*self._origin, may_make_variables=False, functional=True)
        given = again.inputs[: self._argument_count]
        passed = [again.graph.capture(tensor) for tensor in self.captured_inputs]
        more = [tensor for tensor in again.captured_inputs if tensor not in self.captured_inputs]
        arguments = [*given, *passed, *(again.graph.capture(tensor) for tensor in more)]
        definition = definition_of(again.name, again.graph.get_operations(), arguments, again.outputs)
        self.graph.outer._add_function(definition)
        again.graph.add_functions(self.graph.outer)
        return again.name, more


def _as_result(leaf: Any) -> Tensor | None:
    if leaf is None or isinstance(leaf, Operation):
        return None
    return convert_to_tensor(leaf)


def _as_argument(value: Any, own: Tensor) -> Tensor:
    tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else own.dtype)
    if tensor.dtype.base is not own.dtype.base or not tensor.shape.is_compatible_with(own.shape):
        raise TypeError(
            f"Cannot pass {tensor!r} for {own.op.name}: TensorSpec(shape={own.shape}, "
            f"dtype={own.dtype.name})."
        )
    return tensor


def _is_bound(value: Any) -> bool:
    """Whether an argument was decided when the function was traced."""
    return value is None or isinstance(value, (bool, str))


def _specs(structure: Any) -> list[TensorSpec]:
    return [leaf for leaf in structures.flatten(structure) if isinstance(leaf, TensorSpec)]


def _mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    return structures.pack(structure, [function(leaf) for leaf in structures.flatten(structure)])
