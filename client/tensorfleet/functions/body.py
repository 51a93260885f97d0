"""The bodies of functions: a Python function, called with placeholders in a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tensorfleet.core import structures
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.effects import in_order
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.data_flow.tensor_array import as_flow, with_flow
from tensorfleet.ops.state.resource_variables import ResourceVariable
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.ops.state.variable_store import variable_store

_VARIABLES = (
    *(GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES),
    *(GraphKeys.TRAINABLE_VARIABLES, GraphKeys.METRIC_VARIABLES),
)


class BodyGraph(FuncGraph):
    """The body of a function; variables are made outside.

    Attributes:
        results: the function's results, tensors of this graph.
        variables: those that `tf.get_variable` gave.
        automatic: whether what acts does so in the order of the program, also in conditionals and loops.
        made: how many variables were made.
    """

    def __init__(
        self,
        outer: Graph,
        by_value: bool = False,
        copied_effects: Collection[Operation] = (),
        automatic: bool = False,
        may_make_variables: bool = True,
    ) -> None:
        with outer.as_default():
            get_variable_scope(), variable_store()  # which the body shares
        super().__init__(outer, True, by_value, copied_effects)
        self.automatic = automatic
        self.made = 0
        self.may_make_variables = may_make_variables
        self.results: list[Tensor] = []
        self.variables: list[Any] = []
        for key in _VARIABLES:
            self._collections[key] = outer.get_collection_ref(key)

    def _before_variable(self, arguments: dict[str, Any]) -> None:
        self.made += 1
        if not self.may_make_variables:
            raise ValueError("tf.function-decorated function tried to create variables on non-first call.")
        value = arguments.get("initial_value")
        if isinstance(value, Tensor) and value.op.graph is self:
            arguments["initial_value"] = self.lift(value)
        if self.automatic:
            arguments["use_resource"] = True

    def _keeping_effects(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not self.automatic:
            return function

        def kept(*args: Any) -> Any:
            before = self.version
            result = function(*args)
            effects = in_order(self.get_operations()[before:], self._get_control_flow_context())
            if not effects:
                return result
            with self.control_dependencies(effects):
                if isinstance(result, Operation):
                    return no_op()
                return structures.map_structure(_passed, result)

        return kept

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """(name, op type) of each operation that has state."""
        return [(op.name, op.type) for op in self.get_operations() if op.opdef.is_stateful]

    def add_functions(self, graph: Graph) -> None:
        """Puts the functions that the body calls into a graph's library."""
        for name, definition in self._functions.items():
            defined = self._get_function(name)
            graph._add_function(
                definition if defined is None else defined, self._function_gradients.get(name)
            )


def _passed(value: Any) -> Any:
    if isinstance(value, Operation):
        return value
    return with_flow(value, identity(convert_to_tensor(as_flow(value))))


def build(
    function: Callable[..., Any],
    arguments: Sequence[tuple[str, DType]],
    label: str,
    by_value: bool = False,
    copied_effects: Collection[Operation] = (),
    reads_variables: bool = True,
    devices: Sequence[Any] = (),
) -> BodyGraph:
    """Calls a function with placeholders, under the variable scope in force; variables are made outside.

    Args:
        arguments: names and dtypes; shapes are unknown.
        label: the function's name, for errors.
        by_value, copied_effects: as in `FuncGraph`.
        reads_variables: whether `tf.get_variable` gives the values of resource variables, read outside.
        devices: device scopes of the body.

    Raises:
        ValueError: the function returns None among other results.
    """
    outer = get_default_graph()
    scope = get_variable_scope()
    graph = BodyGraph(outer, by_value, copied_effects)
    graph.seed = None  # that of the graph does not hold in functions of Defun

    def get(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with outer.as_default(), outer.name_scope(None):
            variable = getter(*args, **kwargs)
            graph.variables.append(variable)
            if isinstance(variable, ResourceVariable) and reads_variables:
                return variable.value()
            return variable

    with graph.as_default():
        graph._scopes.devices = tuple(devices)
        tensors = [graph.add_argument(name, dtype, None) for name, dtype in arguments]
        with variable_scope(scope, custom_getter=get, auxiliary_name_scope=False):
            results = function(*tensors)
        if results is None:
            results = []
        elif not isinstance(results, (list, tuple)):
            results = [results]
        if any(result is None for result in results):
            raise ValueError(f"Function {label} can not return None.")
        outputs = [convert_to_tensor(result) for result in results]
        graph.results = [t if t.op.graph is graph else graph.capture(t) for t in outputs]
    return graph


def get_extra_vars() -> list[Any]:
    """The variables that the function which is being defined has asked for; none outside of functions."""
    graph = get_default_graph()
    return graph.variables if isinstance(graph, BodyGraph) else []


def get_extra_inputs() -> list[Tensor]:
    """The tensors of outer graphs that the function which is being defined uses; none outside of one."""
    graph = get_default_graph()
    return graph.captured if isinstance(graph, BodyGraph) else []


def get_extra_args() -> list[Tensor]:
    """The placeholders that stand for `get_extra_inputs`, in their order."""
    graph = get_default_graph()
    return graph.arguments[-len(graph.captured) :] if isinstance(graph, BodyGraph) and graph.captured else []
