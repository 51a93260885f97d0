"""`freeze_graph`: one GraphDef from a graph and a checkpoint, with constants in place of variables.

Usage: `python -m tensorfleet.saved_model.freeze_graph --help`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tensorfleet.checkpoint import files as checkpoint_files
from tensorfleet.core import logging
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_util import convert_variables_to_constants
from tensorfleet.graph.import_graph import import_graph_def
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef
from tensorfleet.proto.saver_pb2 import SaverDef
from tensorfleet.saved_model import tag_constants
from tensorfleet.saved_model.loading import load
from tensorfleet.session.session import Session
from tensorfleet.train.checkpoint_management import checkpoint_exists
from tensorfleet.train.checkpoint_reader import NewCheckpointReader
from tensorfleet.train.saver import Saver, import_meta_graph


def freeze_graph_with_def_protos(
    input_graph_def: GraphDef | None,
    input_saver_def: SaverDef | None,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_denylist: str = "",
    input_meta_graph_def: MetaGraphDef | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Sequence[str] | None = None,
    checkpoint_version: int = SaverDef.V2,
) -> GraphDef:
    """The graph of some nodes, with constants in place of the variables that they need.

    The graph is from `input_graph_def`, `input_meta_graph_def` or `input_saved_model_dir`; the arguments are
    those of `freeze_graph`, with messages in place of files.

    Raises:
        ValueError: there is no such checkpoint, no output node is named, or the checkpoint has partitioned
            variables, which can only be read with a MetaGraphDef or a SavedModel.
        OpError: the output cannot be written, or the variables cannot be restored.
    """
    outputs = _names(output_node_names)
    if not outputs:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    if not input_saved_model_dir and not (input_checkpoint and checkpoint_exists(input_checkpoint)):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    graph = Graph()
    with graph.as_default(), Session(graph=graph) as session:
        if input_saved_model_dir:
            tags = saved_model_tags or [tag_constants.SERVING]
            load(session, tags, input_saved_model_dir, clear_devices=clear_devices)
        elif input_meta_graph_def is not None:
            saver = import_meta_graph(input_meta_graph_def, clear_devices=clear_devices)
            if saver is not None:
                saver.restore(session, input_checkpoint)
        else:
            _import(input_graph_def or GraphDef(), clear_devices)
            assert input_checkpoint is not None
            saver = Saver(saver_def=input_saver_def) if input_saver_def else _saver_of(input_checkpoint)
            if saver is not None:
                saver.restore(session, input_checkpoint)
        if _names(initializer_nodes):
            session.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(
            session,
            graph.as_graph_def(),
            outputs,
            _names(variable_names_whitelist) or None,
            _names(variable_names_denylist) or None,
        )
    if output_graph:
        with checkpoint_files.reported(output_graph):
            checkpoint_files.replace_file(output_graph, frozen.SerializeToString(deterministic=True))
    logging.info("%d ops in the final graph.", len(frozen.node))
    return frozen


def _names(text: str | None) -> list[str]:
    return [name for name in (text or "").replace(" ", "").split(",") if name]


def _import(graph_def: GraphDef, clear_devices: bool) -> None:
    copy = GraphDef()
    copy.CopyFrom(graph_def)
    for node in copy.node if clear_devices else ():
        node.device = ""
    import_graph_def(copy, name="")


def _saver_of(checkpoint: str) -> Saver | None:
    """A Saver of the default graph's variables that are in the checkpoint."""
    graph = get_default_graph()
    operations = {op.name: op for op in graph.get_operations()}
    variables: dict[str, Any] = {}
    for name in NewCheckpointReader(checkpoint).get_variable_to_shape_map():
        found = operations.get(name)
        if found is None:
            if f"{name}/part_0" in operations:
                raise ValueError(
                    "Models containing partition variables cannot be converted from checkpoint files. "
                    "Please pass in a SavedModel using the flag --input_saved_model_dir."
                )
            continue
        if found.type == "VarHandleOp":
            reads = (op for op in found.outputs[0].consumers() if op.type == "ReadVariableOp")
            found = next(reads, None)
        if found is not None and found.type in ("Variable", "VariableV2", "ReadVariableOp"):
            variables[name] = found.outputs[0]
    return Saver(variables) if variables else None


def _parsed(path: str, message: Any, binary: bool) -> Any:
    """The message in a file.

    Raises:
        OSError: the file cannot be read.
    """
    if not os.path.isfile(path):
        raise OSError(f"Input file '{path}' does not exist!")
    with open(path, "rb") as file:
        content = file.read()
    try:
        if binary:
            message.ParseFromString(content)
            return message
        return text_format.Parse(content.decode(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as e:
        kind = type(message).__name__
        raise OSError(f"{path} is no {kind} in {'binary' if binary else 'text'} form: {e}") from e


def freeze_graph(
    input_graph: str | None,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_denylist: str = "",
    input_meta_graph: str | bool | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = tag_constants.SERVING,
    checkpoint_version: int = SaverDef.V2,
    variable_names_blacklist: str = "",
) -> GraphDef:
    """Writes the graph of some nodes, with constants in place of the variables that they need.

    Args:
        input_graph: a file with a GraphDef.
        input_saver: a file with the SaverDef that restores its variables; "" for a new Saver.
        input_binary: whether these files are binary; else they are text.
        input_checkpoint: the checkpoint's prefix.
        output_node_names: the nodes to keep, separated by commas.
        restore_op_name, filename_tensor_name: ignored, as in TensorFlow.
        output_graph: the file to write; "" for none.
        clear_devices: remove the nodes' devices.
        initializer_nodes: nodes to run after the variables are restored, separated by commas.
        variable_names_whitelist, variable_names_denylist: only these variables, or all but these.
        input_meta_graph: a file with a MetaGraphDef, in place of `input_graph`.
        input_saved_model_dir: a SavedModel, in place of graph and checkpoint.
        saved_model_tags: the tags of its graph, separated by commas.
        checkpoint_version: ignored, as the files tell it.
        variable_names_blacklist: the older name of `variable_names_denylist`.

    Raises:
        OSError: a file cannot be read.
        ValueError, OpError: see `freeze_graph_with_def_protos`.
    """
    graph_def = _parsed(input_graph, GraphDef(), input_binary) if input_graph else None
    meta_graph = None
    if input_meta_graph:
        meta_graph = _parsed(str(input_meta_graph), MetaGraphDef(), input_binary)
    saver_def = _parsed(input_saver, SaverDef(), input_binary) if input_saver else None
    return freeze_graph_with_def_protos(
        graph_def,
        saver_def,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_denylist or variable_names_blacklist,
        meta_graph,
        input_saved_model_dir,
        _names(saved_model_tags),
        checkpoint_version,
    )


def _flag(text: str) -> bool:
    return text.lower() in ("1", "true", "t", "yes")


def parser() -> argparse.ArgumentParser:
    """The parser of the command's arguments, those of `freeze_graph`."""
    p = argparse.ArgumentParser(
        prog="python -m tensorfleet.saved_model.freeze_graph",
        description="Make one file from a graph and a checkpoint, with constants in place of variables.",
    )
    texts = {
        "input_graph": "a file with a GraphDef",
        "input_saver": "a file with the SaverDef that restores the variables",
        "input_checkpoint": "the checkpoint's prefix",
        "output_graph": "the file to write",
        "output_node_names": "the nodes to keep, separated by commas",
        "restore_op_name": "ignored",
        "filename_tensor_name": "ignored",
        "initializer_nodes": "nodes to run after the variables are restored, separated by commas",
        "variable_names_whitelist": "only these variables become constants, separated by commas",
        "variable_names_denylist": "all variables but these become constants, separated by commas",
        "input_meta_graph": "a file with a MetaGraphDef, in place of a GraphDef",
        "input_saved_model_dir": "the directory of a SavedModel, in place of graph and checkpoint",
    }
    for name, text in texts.items():
        p.add_argument(f"--{name}", default="", help=text)
    p.add_argument("--variable_names_blacklist", default="", help="the older name of the denylist")
    p.add_argument("--saved_model_tags", default=tag_constants.SERVING, help="the tags of its graph")
    p.add_argument("--checkpoint_version", type=int, default=SaverDef.V2, help="ignored")
    for name, default, text in (
        ("input_binary", False, "the input files are binary, not text"),
        ("clear_devices", True, "leave out devices"),
    ):
        p.add_argument(f"--{name}", nargs="?", const=True, default=default, type=_flag, help=text)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Freezes a graph by the command's arguments; returns 0."""
    frozen = freeze_graph(**vars(parser().parse_args(argv)))
    print(f"{len(frozen.node)} ops in the final graph.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
