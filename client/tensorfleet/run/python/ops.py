"""What `tensorflow.python.framework.ops` has beside the names of `tf`."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import tensorfleet as tf
from tensorfleet.graph import gradient_registry
from tensorfleet.graph.framework import graph_of
from tensorfleet.graph.graph import Graph, get_default_graph, is_nested
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

F = TypeVar("F")

_ids = itertools.count(1)
_dense_types: list[type] = [Tensor, tf.Variable]
_lock = threading.Lock()


def uid() -> int:
    """A number that no other call returns."""
    return next(_ids)


def tensor_id(tensor: Any) -> int:
    """A number of the tensor, as long as there is the tensor."""
    return id(tensor)


class EagerTensor:
    """The class of eager tensors, of which there are none: `isinstance` with it is False."""


def RegisterShape(op_type: str) -> Callable[[F], F]:
    """A decorator without effect: shapes of results are inferred by the op's own rule."""

    def decorate(function: F) -> F:
        return function

    return decorate


class _GradientRegistry:
    """The registry of gradients, for programs that ask whether theirs is there."""

    @property
    def _registry(self) -> Mapping[str, Any]:
        return gradient_registry.registered()

    def lookup(self, name: str) -> Any:
        """The rule of the name; None if the op is declared not differentiable.

        Raises:
            LookupError: there is none.
        """
        return gradient_registry.lookup(name)

    def list(self) -> Iterable[str]:
        """The names that have a rule, or are declared not differentiable."""
        return gradient_registry.registered().keys()


_gradient_registry = _GradientRegistry()


def get_gradient_function(op: Any) -> Any:
    """The gradient's rule of an operation.

    Raises:
        LookupError: there is none.
    """
    return gradient_registry.rule_of(op)


def is_dense_tensor_like(t: Any) -> bool:
    """Whether a value is a tensor, a variable, or of a type that was registered as such."""
    return isinstance(t, tuple(_dense_types))


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Lets `is_dense_tensor_like` be true of a type.

    Raises:
        TypeError: its `name` or `dtype` is not a property.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    with _lock:
        _dense_types.append(tensor_type)


def graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """The graph of an op's inputs: `graph` if it is given, else theirs, else the default graph.

    Inside of a function it is the function's graph.

    Raises:
        ValueError: the inputs are of several graphs, or not of `graph`.
    """
    if graph is None or get_default_graph().building_function:
        return graph_of(op_input_list)
    for value in op_input_list:
        element = value._as_graph_element() if hasattr(value, "_as_graph_element") else value
        if isinstance(element, (Tensor, Operation)) and element.graph is not graph:
            raise ValueError(f"{element} is not from the passed-in graph.")
    return graph


def convert_n_to_tensor(values: Iterable[Any], dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """A tensor for each value."""
    return [
        tf.convert_to_tensor(value, dtype, None if name is None else f"{name}_{at}")
        for at, value in enumerate(values)
    ]


def get_all_collection_keys() -> list[Any]:
    """The names of the default graph's collections."""
    return get_default_graph().get_all_collection_keys()


def get_name_scope() -> str:
    """The default graph's current name scope."""
    return get_default_graph().get_name_scope()


def inside_function() -> bool:
    """Whether the default graph is the body of a function."""
    return get_default_graph().building_function


def set_shapes_for_outputs(op: Operation) -> None:
    """Does nothing: an operation's outputs have their shapes since it was made."""


def name_from_scope_name(name: str) -> str:
    """The name of an operation whose scope this is, as `tf.name_scope` gives it: without the slash."""
    return name.removesuffix("/")


def has_default_graph() -> bool:
    """Whether a block of `Graph.as_default` is under way in this thread."""
    return is_nested()
