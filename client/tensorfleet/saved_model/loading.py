"""`tf.saved_model.load`: loading a graph of a SavedModel and its variables into a session."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.checkpoint import files as checkpoint_files
from tensorfleet.core import logging
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.scopes import prepend_scope
from tensorfleet.proto.meta_graph_pb2 import AssetFileDef, MetaGraphDef
from tensorfleet.proto.saved_model_pb2 import SavedModel
from tensorfleet.saved_model import constants, files
from tensorfleet.saved_model.tensor_infos import INIT_OP_KEY, operation
from tensorfleet.train.saver import import_meta_graph


def load(
    sess: Any, tags: Any, export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any
) -> MetaGraphDef:
    """Adds a graph of a SavedModel to the session's, and restores its variables (`tf.saved_model.load`).

    The session's tasks read the variables and the files of tables.

    Args:
    sess: the session.
    tags: the tags of the graph.
    export_dir: the model's directory.
    import_scope: the prefix of the names of its nodes; signatures have the names without it.
        saver_kwargs: further arguments of `tf.train.import_meta_graph`.

    Returns:
        The graph's MetaGraphDef; `signature_def` has its signatures by name.

    Raises:
        OSError: there is no SavedModel, or it cannot be read.
        RuntimeError: no graph has these tags.
        OpError: the variables could not be restored, or the model's initial operation failed.

    Example:
        >>> import os, tempfile
        >>> x = tf.placeholder(tf.float32, name="x")
        >>> y = tf.identity(x * tf.Variable(3.0), name="y")
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "1")
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     tf.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        >>> with tf.Session(graph=tf.Graph()) as session:
        ...     loaded = tf.saved_model.load(session, [tf.saved_model.SERVING], path)
        ...     signature = loaded.signature_def["serving_default"]
        ...     print(session.run(signature.outputs["y"].name, {signature.inputs["x"].name: 2.0}))
        6.0
        >>> folder.cleanup()
    """
    directory = os.fsdecode(export_dir)
    definition = find(files.read(directory), tags)
    with sess.graph.as_default() as graph:
        saver = import_meta_graph(definition, import_scope=import_scope, **saver_kwargs)
        prefix = files.variables_prefix(directory)
        if saver is None:
            logging.info("The specified SavedModel has no variables; no checkpoints were restored.")
        elif os.path.isfile(checkpoint_files.index_path(prefix)):
            saver.restore(sess, prefix)
        feeds = {
            prepend_scope(asset.tensor_info.name, import_scope): files.asset_path(directory, asset.filename)
            for asset in assets_of(definition)
        }
        first = initial_operation(definition, graph, import_scope)
        if first is not None:
            sess.run(first, feeds)
    return definition


def find(saved_model: SavedModel, tags: Any) -> MetaGraphDef:
    """The graph with exactly these tags.

    Raises:
        RuntimeError: there is no such graph.
    """
    wanted = set(tags)
    for definition in saved_model.meta_graphs:
        if set(definition.meta_info_def.tags) == wanted:
            return definition
    there = ", ".join(str(sorted(graph.meta_info_def.tags)) for graph in saved_model.meta_graphs)
    shown = tags if isinstance(tags, str) else ", ".join(map(str, tags))
    raise RuntimeError(
        f"MetaGraphDef associated with tags {shown!r} could not be found in SavedModel, with available tags "
        f"'[{there}]'."
    )


def assets_of(definition: MetaGraphDef) -> list[AssetFileDef]:
    """The assets of a graph, and the tensors of their paths."""
    if definition.asset_file_def:
        return list(definition.asset_file_def)
    collected = definition.collection_def.get(constants.ASSETS_KEY)
    return [] if collected is None else [AssetFileDef.FromString(v.value) for v in collected.any_list.value]


def initial_operation(definition: MetaGraphDef, graph: Graph, import_scope: str | None) -> Any:
    """The operation to run once after the graph was loaded, or None.

    Raises:
        RuntimeError: the model has several.
    """
    signature = definition.signature_def.get(INIT_OP_KEY)
    if signature is not None:
        return operation(signature.outputs[INIT_OP_KEY], graph, import_scope)
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        names = (
            list(definition.collection_def[key].node_list.value) if key in definition.collection_def else []
        )
        if len(names) > 1:
            raise RuntimeError(f"Expected exactly one SavedModel init op, {key} has: {names}")
        if names:
            return graph.as_graph_element(prepend_scope(names[0], import_scope))
    return None
