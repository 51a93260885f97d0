"""MetaGraphDef: a graph with its collections and its Saver, as a message and as a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from google.protobuf.any_pb2 import Any as AnyProto

from tensorfleet.checkpoint import files
from tensorfleet.core import logging
from tensorfleet.core.version import API_VERSION
from tensorfleet.graph import op_def, op_def_proto
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.import_graph import import_graph_def
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.scopes import prepend_scope, strip_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow.control_flow_contexts import CondContext
from tensorfleet.ops.control_flow.while_context import WhileContext
from tensorfleet.ops.state.variables import Variable
from tensorfleet.proto.control_flow_pb2 import CondContextDef, WhileContextDef
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.meta_graph_pb2 import CollectionDef, MetaGraphDef
from tensorfleet.proto.saver_pb2 import SaverDef
from tensorfleet.proto.variable_pb2 import VariableDef

UNBOUND = "$unbound_inputs_"
"""What the names of inputs from outside of an exported scope begin with."""

_SAVERS = frozenset(
    ("SaveV2", "RestoreV2", "Save", "SaveSlices", "Restore", "RestoreSlice", "MergeV2Checkpoints")
)

_VARIABLES = frozenset(
    (
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.CONCATENATED_VARIABLES,
        GraphKeys.WEIGHTS,
        GraphKeys.BIASES,
        GraphKeys.GLOBAL_STEP,
        GraphKeys.EVAL_STEP,
    )
)
"""The collections whose bytes are VariableDef messages."""


_FROM_PROTO: dict[str, Callable[[bytes, str | None], Any]] = {
    GraphKeys.COND_CONTEXT: lambda value, scope: CondContext.from_proto(
        CondContextDef.FromString(value), scope
    ),
    GraphKeys.WHILE_CONTEXT: lambda value, scope: WhileContext.from_proto(
        WhileContextDef.FromString(value), scope
    ),
}
"""From a collection to the function that makes an object from bytes in it and an import scope."""


def register_from_proto(key: str, from_proto: Callable[[bytes, str | None], Any]) -> None:
    """Registers the function that makes objects from a collection's bytes when a graph is imported.

    Args:
        key: the collection.
        from_proto: a function from the serialized message and the import scope to an object, or None.
    """
    _FROM_PROTO[key] = from_proto


_TO_PROTO: dict[str, Callable[..., Any]] = {}
"""From a collection to the function that makes a message from one of its objects and an export scope."""


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Registers how a collection's objects go into meta graphs and come out of them.

    Args:
        proto_type: the class of the messages.
        to_proto: a function from an object, and `export_scope`, to a message.
        from_proto: a function from a message, and `import_scope`, to an object.

    Raises:
        TypeError: one of the functions is given without the other.
    """
    if (to_proto is None) != (from_proto is None) or (to_proto is not None and not callable(to_proto)):
        raise TypeError("Both to_proto and from_proto must be functions, or None.")
    if to_proto is None or from_proto is None:
        return
    made = from_proto
    _TO_PROTO[collection_name] = to_proto
    _FROM_PROTO[collection_name] = lambda value, scope: made(proto_type.FromString(value), import_scope=scope)


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: MetaGraphDef.MetaInfoDef | None = None,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    collection_list: list[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> MetaGraphDef:
    """A graph as a message, also written to a file if one is given (`tf.train.export_meta_graph`).

    Args:
        filename: the file.
        meta_info_def: the information about the graph as a whole.
        graph_def: the nodes; by default those of `graph`.
        saver_def: the Saver.
        collection_list: the collections to export, by default all.
        as_text: write the file as text.
        graph: the graph, by default the default graph.
        export_scope: export only the nodes of this name scope, which is stripped from their names. Inputs
            from outside of it are to be given when the graph is imported, by `input_map`: their names begin
            with `$unbound_inputs_`.
        clear_devices: remove the nodes' devices.
        clear_extraneous_savers: leave out Savers other than `saver_def`, with their nodes.
        strip_default_attrs: leave out attributes with their default value.
        save_debug_info: ignored.
        kwargs: `unbound_inputs_col_name`, the collection of the names of inputs from outside of the scope,
            by default "unbound_inputs"; None for none.

    Raises:
        OpError: the file cannot be written.
    """
    graph = graph or get_default_graph()
    definition = MetaGraphDef()
    if meta_info_def is not None:
        definition.meta_info_def.CopyFrom(meta_info_def)
    definition.graph_def.CopyFrom(graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def)
    for node in definition.graph_def.node:
        if node.op == "VarHandleOp":
            # For messages alone, and TensorFlow 1.15 refuses nodes with attributes that it does not know.
            node.attr.pop("debug_name", None)
    savers: frozenset[str] = frozenset()
    if clear_extraneous_savers:
        savers = _other_savers(definition.graph_def, saver_def)
    if export_scope is not None or savers:
        unbound = _keep(definition.graph_def, export_scope, savers)
        unbound_inputs_col_name = kwargs.get("unbound_inputs_col_name", "unbound_inputs")
        if unbound_inputs_col_name:
            graph.get_collection_ref(unbound_inputs_col_name)[:] = unbound
    used = sorted({node.op for node in definition.graph_def.node})
    if not definition.meta_info_def.stripped_op_list.op:
        functions = definition.graph_def.library.function
        used = sorted({*used, *(node.op for function in functions for node in function.node_def)})
        for found in map(op_def.lookup, used):
            if found is not None:
                definition.meta_info_def.stripped_op_list.op.add().CopyFrom(op_def_proto.to_proto(found))
    definition.meta_info_def.tensorflow_version = API_VERSION
    definition.meta_info_def.tensorflow_git_version = "unknown"  # as of any build outside of a repository
    if clear_devices:
        for node in definition.graph_def.node:
            node.device = ""
    if strip_default_attrs:
        strip_defaults(definition)
    if saver_def is not None:
        definition.saver_def.CopyFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if key == GraphKeys.SAVERS and clear_extraneous_savers:
            if saver_def is not None:
                definition.collection_def[key].bytes_list.value.append(saver_def.SerializeToString())
        elif isinstance(key, str):
            items = graph.get_collection(key)
            if savers:
                items = [item for item in items if _name(item) not in savers]
            add_collection(definition, key, items, export_scope)
    if filename is not None:
        _write(filename, definition, as_text)
    return definition


def _other_savers(graph_def: GraphDef, saver_def: SaverDef | None) -> frozenset[str]:
    """The nodes of other savers than `saver_def`: all in the scopes of nodes that save or restore."""

    def scope(name: str) -> str:
        return name.partition(":")[0].rpartition("/")[0] + "/"

    kept = set()
    if saver_def is not None:
        kept = {scope(saver_def.save_tensor_name), scope(saver_def.restore_op_name)}
    others = tuple({scope(node.name) for node in graph_def.node if node.op in _SAVERS} - kept - {"/"})
    return frozenset(node.name for node in graph_def.node if node.name.startswith(others))


def _keep(graph_def: GraphDef, scope: str | None, excluded: frozenset[str]) -> list[str]:
    """Leaves the nodes of a scope, without the scope in their names, and without those that are excluded.

    Returns:
        The inputs from outside of the scope, by the names that they have now: UNBOUND and the old name.
    """
    prefix = scope.rstrip("/") + "/" if scope else ""
    kept = [node for node in graph_def.node if node.name.startswith(prefix) and node.name not in excluded]
    unbound: list[str] = []
    for node in kept:
        node.name = strip_scope(node.name, scope)
        for i, source in enumerate(node.input):
            bare = source.removeprefix("^")
            mark = source[: len(source) - len(bare)]
            if bare.startswith(prefix):
                node.input[i] = mark + strip_scope(bare, scope)
            else:
                node.input[i] = f"{mark}{UNBOUND}{bare}"
                unbound.append(node.input[i])
        if "_class" in node.attr:
            inside = [
                name for name in node.attr["_class"].list.s if name.startswith(f"loc:@{prefix}".encode())
            ]
            located = [name.replace(f"loc:@{prefix}".encode(), b"loc:@") for name in inside]
            node.attr["_class"].list.s[:] = located
        frame = node.attr["frame_name"].s if "frame_name" in node.attr else b""
        if prefix and frame.startswith(prefix.encode()):
            node.attr["frame_name"].s = frame.removeprefix(prefix.encode())
    copies = [type(node).FromString(node.SerializeToString()) for node in kept]
    del graph_def.node[:]
    graph_def.node.extend(copies)
    return unbound


def strip_defaults(definition: MetaGraphDef) -> None:
    """Removes attributes with their default values from the nodes, also from those of functions."""
    for node in definition.graph_def.node:
        _strip_defaults(node)
    for function in definition.graph_def.library.function:
        for node in function.node_def:
            _strip_defaults(node)
    definition.meta_info_def.stripped_default_attrs = True


def _strip_defaults(node: Any) -> None:
    found = op_def.lookup(node.op)
    if found is None:
        return
    for attr in op_def_proto.to_proto(found).attr:
        if attr.HasField("default_value") and node.attr.get(attr.name) == attr.default_value:
            del node.attr[attr.name]


def add_collection(definition: MetaGraphDef, key: str, items: list[Any], scope: str | None) -> None:
    """Adds a graph's collection to a message, unless it has items that cannot be written."""
    collection = CollectionDef()
    kinds = set()
    for item in items:
        if (to_proto := _TO_PROTO.get(key)) is not None:
            message = to_proto(item, export_scope=scope)
            kind, value = "bytes_list", None if message is None else message.SerializeToString()
        else:
            kind, value = _collected(key, item, scope)
        if not kind:
            logging.debug("Collection %s is not exported: it has a %s", key, type(item).__name__)
            return
        if value is not None:
            kinds.add(kind)
            values = getattr(collection, kind).value
            (values.add().CopyFrom if kind == "any_list" else values.append)(value)
    if len(kinds) == 1:
        definition.collection_def[key].CopyFrom(collection)


def _collected(key: str, item: Any, scope: str | None) -> tuple[str, Any]:
    """The kind of list and the value for an item; no kind if none fits, None if it is outside of `scope`."""
    if isinstance(item, AnyProto):
        return "any_list", item
    if isinstance(item, Variable) and key not in _VARIABLES:
        # In collections of programs' own a variable is its tensor, as in TensorFlow.
        return _collected(key, item._as_graph_element(), scope)
    if hasattr(item, "to_proto"):
        message = item.to_proto(export_scope=scope)
        return "bytes_list", None if message is None else message.SerializeToString()
    if isinstance(item, (Tensor, Operation)):
        if scope is not None and not item.name.startswith(scope):
            return "node_list", None
        return "node_list", strip_scope(item.name, scope)
    if isinstance(item, bool) or not isinstance(item, (int, float, str, bytes)):
        return "", None
    if isinstance(item, (str, bytes)):
        text = item.encode() if isinstance(item, str) else item
        # Text may be a node's name.
        is_inside = scope is None or text.startswith(
            (scope.encode(), UNBOUND.encode(), f"^{UNBOUND}".encode())
        )
        return "bytes_list", text if is_inside else None
    return ("int64_list" if isinstance(item, int) else "float_list"), item


def _write(filename: str, definition: MetaGraphDef, as_text: bool) -> None:
    from google.protobuf import text_format

    content = text_format.MessageToString(definition).encode() if as_text else definition.SerializeToString()
    with files.reported(filename):
        files.replace_file(filename, content)


def read(filename: Any) -> MetaGraphDef:
    """The MetaGraphDef in a file, binary or as text.

    Raises:
        OSError: there is no such file, or no message in it.
    """
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    if not os.path.isfile(filename):
        raise OSError(f"File does not exist. Received: {filename}.")
    with open(filename, "rb") as file:
        content = file.read()
    try:
        return MetaGraphDef.FromString(content)
    except DecodeError:
        pass
    try:
        return text_format.Parse(content, MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {filename}: {e}.") from e


def import_scoped(
    meta_graph_or_file: Any,
    clear_devices: bool,
    import_scope: str | None,
    *,
    input_map: Any = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    **kwargs: Any,
) -> tuple[MetaGraphDef, str, Any]:
    """Adds the nodes and collections of a MetaGraphDef, or of a file with one, to the default graph.

    Args:
        input_map: tensors in place of inputs, by their names.
        unbound_inputs_col_name: the collection with the names that `input_map` must have.
        restore_collections_predicate: which collections to add, by their names.
        kwargs: arguments of `tf.import_graph_def`.

    Returns:
        The message; the scope that the nodes are in, which differs from `import_scope` where that is taken;
        and what `tf.import_graph_def` returns.

    Raises:
        ValueError: inputs from outside of the exported scope are not in `input_map`.
    """
    definition = (
        meta_graph_or_file if isinstance(meta_graph_or_file, MetaGraphDef) else read(meta_graph_or_file)
    )
    if unbound_inputs_col_name and unbound_inputs_col_name in definition.collection_def:
        _check_bound(definition.collection_def[unbound_inputs_col_name], input_map or {})
    graph_def = definition.graph_def
    if clear_devices:
        graph_def = GraphDef.FromString(graph_def.SerializeToString())
        for node in graph_def.node:
            node.device = ""
    graph = get_default_graph()
    scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else ""
    elements = import_graph_def(
        graph_def,
        name=import_scope or "",
        input_map=input_map,
        producer_op_list=definition.meta_info_def.stripped_op_list,
        **kwargs,
    )
    variables: dict[bytes, Variable] = {}
    for key, collection in sorted(definition.collection_def.items()):
        if key != unbound_inputs_col_name and restore_collections_predicate(key):
            graph.get_collection_ref(key).extend(_items(graph, key, collection, scope, variables))
    return definition, scope, elements


def _check_bound(collection: CollectionDef, input_map: Any) -> None:
    kind = collection.WhichOneof("kind")
    names = [] if kind is None else list(getattr(collection, kind).value)
    needed = [name.decode() if isinstance(name, bytes) else name for name in names]
    if sorted(needed) != sorted(input_map) and needed:
        lacking = ",".join(name for name in needed if name not in input_map)
        raise ValueError(
            f"Graph contains unbound inputs: {lacking}. Must provide these inputs through input_map."
        )


def _items(
    graph: Graph, key: str, collection: CollectionDef, scope: str | None, variables: dict[bytes, Variable]
) -> list[Any]:
    kind = collection.WhichOneof("kind")
    if kind is None:
        return []
    values = list(getattr(collection, kind).value)
    if kind == "node_list":
        return [graph.as_graph_element(prepend_scope(name, scope)) for name in values]
    if kind == "bytes_list" and key in _VARIABLES:
        # A variable that is in several collections becomes one object.
        for value in values:
            if value not in variables:
                variables[value] = Variable.from_proto(VariableDef.FromString(value), scope)
        return [variables[value] for value in values]
    if kind == "bytes_list" and key in _FROM_PROTO:
        return [_FROM_PROTO[key](value, scope) for value in values]
    if kind == "bytes_list" and scope:
        return [prepend_scope(value.decode(), scope) for value in values]  # as TensorFlow: they may be names
    return values


def _name(item: Any) -> str:
    """The name that an item of a collection has, or is; empty for one that has none, such as a message."""
    name = getattr(item, "name", item)
    return name if isinstance(name, str) else ""
