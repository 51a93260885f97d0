"""`tensorflow.python.framework.meta_graph`: the functions under `tf.train.export_meta_graph`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorfleet as tf
from tensorfleet.export import meta_graph
from tensorfleet.graph import op_def, op_def_proto
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.scopes import strip_scope
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef
from tensorfleet.proto.op_def_pb2 import OpList
from tensorfleet.proto.saver_pb2 import SaverDef

read_meta_graph_file = meta_graph.read
strip_graph_default_valued_attrs = meta_graph.strip_defaults


def _check_type(name: str, value: Any, kind: type, called: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name} must be of type {called}, not {type(value)}")


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list[str] | None = None,
    graph: Any = None,
    export_scope: str | None = None,
    exclude_nodes: Iterable[Any] | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> MetaGraphDef:
    """A graph as a message.

    Raises:
        TypeError: an argument is of another type.
    """
    _check_type("graph", graph, Graph, "Graph")
    _check_type("meta_info_def", meta_info_def, MetaGraphDef.MetaInfoDef, "MetaInfoDef")
    _check_type("graph_def", graph_def, GraphDef, "GraphDef")
    _check_type("saver_def", saver_def, SaverDef, "SaverDef")
    return meta_graph.export_meta_graph(
        None,
        meta_info_def,
        graph_def,
        saver_def,
        collection_list,
        graph=graph,
        export_scope=export_scope,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )


def add_collection_def(
    meta_graph_def: MetaGraphDef,
    key: Any,
    graph: Any = None,
    export_scope: str | None = None,
    exclude_nodes: Iterable[Any] | None = None,
    override_contents: Iterable[Any] | None = None,
) -> None:
    """Adds a graph's collection to a message, or other items under its name; none with another key than text.

    Raises:
        TypeError: `graph` is no graph.
    """
    _check_type("graph", graph, Graph, "Graph")
    if not isinstance(key, str):
        tf.logging.warning(
            "Only collections with string type keys will be serialized. This key has %s", type(key)
        )
        return
    items = list(override_contents or (graph or get_default_graph()).get_collection(key))
    excluded = {getattr(item, "name", item) for item in exclude_nodes or ()}
    kept = [item for item in items if getattr(item, "name", item) not in excluded]
    meta_graph.add_collection(meta_graph_def, key, kept, export_scope)


def _variables(graph: Graph, scope: str | None) -> dict[str, Any]:
    found = graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope)
    return {strip_scope(variable.name, scope): variable for variable in found}


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Any = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> tuple[MetaGraphDef, dict[str, Any]]:
    """The message of `tf.train.export_meta_graph`, and the scope's variables by their names within it."""
    graph = graph or get_default_graph()
    definition = meta_graph.export_meta_graph(
        filename,
        graph_def=graph_def,
        saver_def=saver_def,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        unbound_inputs_col_name=unbound_inputs_col_name,
        **kwargs,
    )
    return definition, _variables(graph, export_scope)


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Any = None,
    import_scope: str | None = None,
    input_map: Any = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    return_elements: Any = None,
) -> tuple[dict[str, Any], Any]:
    """Adds a graph's message to a graph; see `tf.train.import_meta_graph`.

    Returns:
        The scope's variables by their names within it, and what `tf.import_graph_def` returns.
    """
    graph = graph or get_default_graph()
    with graph.as_default():
        _, scope, elements = meta_graph.import_scoped(
            meta_graph_or_file,
            clear_devices,
            import_scope,
            input_map=input_map,
            unbound_inputs_col_name=unbound_inputs_col_name,
            restore_collections_predicate=restore_collections_predicate,
            return_elements=return_elements,
        )
    return _variables(graph, scope), elements


def import_scoped_meta_graph(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """The variables alone; the arguments are the same, without `return_elements`."""
    return import_scoped_meta_graph_with_return_elements(*args, **kwargs)[0]


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Any = None, to_graph: Any = None
) -> dict[str, Any]:
    """Copies a scope of one graph into a scope of another, or of the same.

    Returns:
        The new variables by their names within the scope.

    Raises:
        ValueError: both are the same.
    """
    source, target = from_graph or get_default_graph(), to_graph or get_default_graph()
    if source is target and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same graph."
        )
    definition, _ = export_scoped_meta_graph(export_scope=from_scope, graph=source)
    return import_scoped_meta_graph(definition, graph=target, import_scope=to_scope)


def ops_used_by_graph_def(graph_def: GraphDef) -> list[str]:
    """The op types of a graph and of the functions that it calls."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    used: set[str] = set()
    ahead = [node.op for node in graph_def.node]
    while ahead:
        op_type = ahead.pop()
        if op_type not in used:
            used.add(op_type)
            ahead.extend(node.op for node in functions[op_type].node_def) if op_type in functions else None
    return sorted(used - functions.keys())


def stripped_op_list_for_graph(graph_def: GraphDef) -> OpList:
    """The definitions of the op types that a graph uses, without their descriptions.

    Raises:
        RuntimeError: an op type is not known.
    """
    found = {name: op_def.lookup(name) for name in ops_used_by_graph_def(graph_def)}
    if unknown := [name for name, definition in found.items() if definition is None]:
        raise RuntimeError(f"Op {unknown[0]} is used by the graph, but is not registered")
    return OpList(op=[op_def_proto.to_proto(definition) for definition in found.values() if definition])
