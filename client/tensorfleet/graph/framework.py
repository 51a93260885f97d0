"""Scopes and collections of the default graph: `tf.device`, `tf.name_scope`, `tf.add_to_collection`, …"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from tensorfleet.graph.graph import Graph, get_default_graph as get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """New operations run after these operations and tensors (`tf.control_dependencies`).

    Args:
        control_inputs: None clears the outer scopes.

    Example:
        >>> v = tf.Variable(1)
        >>> with tf.control_dependencies([v.assign(5)]):
        ...     read = v.read_value()
        >>> tf.Session().run(read)
        np.int32(5)
    """
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Asks for a device for new operations of the default graph (`tf.device`).

    Args:
        device_name_or_function: a string such as "/job:ps/task:0", possibly partial, which completes that of
            the outer scopes; a DeviceSpec; a function from an operation to one of these; or None to ignore
            the outer scopes.

    Example:
        >>> with tf.device("/job:worker/task:1"):
        ...     x = tf.constant(1)
        >>> x.device
        '/job:worker/task:1'
    """
    return get_default_graph().device(device_name_or_function)


def container(container_name: str) -> AbstractContextManager[str]:
    """The container of new variables and queues (`tf.container`), which `Session.reset` can name."""
    return get_default_graph().container(container_name)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Places new operations where `op` is (`tf.colocate_with`)."""
    return get_default_graph().colocate_with(op, ignore_existing)


def graph_of(values: Iterable[Any]) -> Graph:
    """The graph that the tensors, operations and variables among `values` belong to, by default the default.

    Inside of a function it is the function's graph, which captures what belongs to the graphs around it.

    Raises:
        ValueError: they belong to several graphs.
    """
    default = get_default_graph()
    if default.building_function:
        return default
    found: Any = None
    for value in values:
        element = value._as_graph_element() if hasattr(value, "_as_graph_element") else value
        if not isinstance(element, (Tensor, Operation)):
            continue
        if found is None:
            found = element
        elif element.graph is not found.graph:
            raise ValueError(f"{element!r} must be from the same graph as {found!r}.")
    return default if found is None else found.graph


class name_scope:
    """Prefixes the names of new operations (`tf.name_scope`); its value is the prefix with its "/".

    Args:
        name: the scope's name; one that ends in "/" is re-entered as it is; None without a default is the
            root.
        default_name: used where `name` is None.
        values: tensors that the scope's operations take: their graph becomes the default graph.

    Example:
        >>> with tf.name_scope("parts"):
        ...     x = tf.constant(1, name="x")
        >>> x.name
        'parts/x:0'
    """

    def __init__(
        self, name: Any, default_name: str | None = None, values: Iterable[Any] | None = None
    ) -> None:
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely meant to "
                "pass this "
                "into the `values` kwarg."
            )
        self._name = default_name if name is None else name
        self._default_name = default_name
        self._values = values
        self._has_values = values is not None
        self._scopes: list[contextlib.ExitStack] = []

    @property
    def name(self) -> Any:
        """The name as it was given."""
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._has_values:
            raise ValueError(
                f"At least one of name ({self._name}) and default_name ({self._default_name}) should be "
                "provided"
            )
        graph = graph_of(self._values or ())
        with contextlib.ExitStack() as scopes:
            scopes.enter_context(graph.as_default())
            scope = scopes.enter_context(graph.name_scope(self._name))
            self._scopes.append(scopes.pop_all())
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scopes.pop().__exit__(kind, value, traceback)


@contextlib.contextmanager
def op_scope(values: Iterable[Any], name: str | None, default_name: str | None = None) -> Iterator[str]:
    """`name_scope` with its arguments in another order (`tf.op_scope`, deprecated)."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def add_to_collection(name: Any, value: Any) -> None:
    """Appends to a collection of the default graph (`tf.add_to_collection`)."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Appends to several collections of the default graph (`tf.add_to_collections`)."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of a collection; with `scope`, the items whose names it matches (`tf.get_collection`).

    Example:
        >>> v = tf.Variable(1)
        >>> tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES) == [v]
        True
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection itself (`tf.get_collection_ref`)."""
    return get_default_graph().get_collection_ref(key)
