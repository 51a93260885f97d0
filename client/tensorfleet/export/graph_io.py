"""`tf.train.write_graph`: a graph as a file."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.checkpoint import files
from tensorfleet.graph.graph import Graph


def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Writes a graph or a GraphDef to a file and returns the file's path (`tf.train.write_graph`).

    Args:
        logdir: the directory, which is made if needed.
        as_text: write text, instead of bytes.

    Raises:
        OpError: the file cannot be written.
    """
    from google.protobuf import text_format

    is_graph = isinstance(graph_or_graph_def, Graph)
    definition = graph_or_graph_def.as_graph_def() if is_graph else graph_or_graph_def
    path = os.path.join(os.fspath(logdir), name)
    with files.reported(path):
        os.makedirs(logdir, exist_ok=True)
        files.replace_file(
            path,
            text_format.MessageToString(definition).encode() if as_text else definition.SerializeToString(),
        )
    return path
