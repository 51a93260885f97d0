"""Search of graphs and checkpoints for missing op types and dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.core import dtypes, errors
from tensorfleet.graph import op_def
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef
from tensorfleet.proto.saved_model_pb2 import SavedModel
from tensorfleet.proto.types_pb2 import DataType
from tensorfleet.run.advice import PAGE
from tensorfleet.run.reading import Finding

GRAPHS = (".pb", ".pbtxt", ".meta")


class FileError(ValueError):
    """A file does not have the format that its name implies; the text says why."""


def read_graph(path: Path) -> tuple[list[Finding], int]:
    """The findings in the graphs of a file, and their number of nodes.

    `saved_model.pb` and `saved_model.pbtxt` are SavedModels, `.meta` is a MetaGraphDef, other files
    GraphDefs.

    Raises:
        FileError: the file is damaged, or of another kind.
        OSError: the file cannot be read.
    """
    if path.stem == "saved_model":
        message: Any = SavedModel()
    else:
        message = MetaGraphDef() if path.suffix == ".meta" else GraphDef()
    content = path.read_bytes()
    try:
        if path.suffix == ".pbtxt":
            text_format.Parse(content.decode(), message)
        else:
            message.ParseFromString(content)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        kind = type(message).__name__
        raise FileError(f"{path} is not a {kind}: {str(error) or 'its bytes cannot be decoded'}") from None
    findings: list[Finding] = []
    nodes = 0
    for graph in _graphs(message):
        functions = {function.signature.name for function in graph.library.function}
        findings += _missing(str(path), graph.node, functions)
        for function in graph.library.function:
            findings += _missing(f"{path}:{function.signature.name}", function.node_def, functions)
        nodes += len(graph.node) + sum(len(function.node_def) for function in graph.library.function)
    return findings, nodes


def _graphs(message: Any) -> list[GraphDef]:
    if isinstance(message, SavedModel):
        return [definition.graph_def for definition in message.meta_graphs]
    return [message.graph_def if isinstance(message, MetaGraphDef) else message]


def _missing(place: str, nodes: Iterable[Any], functions: set[str]) -> Iterable[Finding]:
    for node in nodes:
        if node.op not in functions and op_def.lookup(node.op) is None:
            text = (
                f"the op type {node.op} is missing: see {PAGE}, and docs/adding_an_op.md for how one is added"
            )
            yield Finding(f"{place}:{node.name}", node.op, text)
        for name, value in node.attr.items():
            for number in (value.type, *value.list.type):
                if number and not _is_known(number):
                    kind = _name(number)
                    text = f"the dtype {kind} of the attribute {name} is missing: cast to another one"
                    yield Finding(f"{place}:{node.name}", kind, text)


def read_checkpoint(prefix: str) -> tuple[list[Finding], int]:
    """The tensors of a checkpoint with unsupported dtypes, and the number of all tensors.

    Raises:
        FileError: there is no checkpoint of that name, or it is damaged.
    """
    try:
        with BundleReader(prefix) as reader:
            entries = reader.entries
    except errors.OpError as error:
        raise FileError(error.message) from None
    findings = []
    for name, entry in entries.items():
        if not _is_known(entry.dtype) or (dtypes.as_dtype(entry.dtype).np is None):
            kind = _name(entry.dtype)
            text = f"the dtype {kind} cannot be read: leave the variable out of the Saver's var_list"
            findings.append(Finding(f"{prefix}:{name}", kind, text))
    return findings, len(entries)


def _is_known(number: int) -> bool:
    try:
        dtypes.as_dtype(number)
    except TypeError:
        return False
    return True


def _name(number: int) -> str:
    try:
        return DataType.Name(number).removeprefix("DT_").lower()
    except ValueError:
        return f"number {number}"
