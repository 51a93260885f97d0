"""`tf.profiler.write_op_log`: a file with what is known of the nodes of a graph before it runs."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from typing import Any

from tensorfleet.api.float_operations import float_operations
from tensorfleet.core import logging
from tensorfleet.core.file_io import open_binary
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.state.variable_collections import trainable_variables
from tensorfleet.proto.config_pb2 import RunMetadata
from tensorfleet.proto.tfprof_log_pb2 import OpLogEntry, OpLogProto

_FILE = "tfprof_log"
_TRAINABLE = "_trainable_variables"


class _Texts:
    """Numbers for texts, in the order in which they come."""

    def __init__(self) -> None:
        self.numbers = {"none": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers)) if text else 0


def write_op_log(
    graph: Graph | None,
    log_dir: str | os.PathLike[str],
    op_log: OpLogProto | None = None,
    run_meta: RunMetadata | None = None,
    add_trace: bool = True,
) -> None:
    """Writes the file `tfprof_log`, an OpLogProto, into a directory (`tf.profiler.write_op_log`).

    It has the floating-point operations of the nodes where they are known, the lines that made them, and
    which of them are trainable variables.

    Args:
        graph: the graph, by default the default graph.
        op_log: entries of the program's own; what they do not say is added.
        run_meta: the RunMetadata of a run with a trace, whose shapes complete those of the graph.
        add_trace: whether to write the lines, too.

    Raises:
        NotFoundError: there is no such directory.
    """
    graph = graph or get_default_graph()
    if run_meta is not None:
        _take_shapes(graph, run_meta)
    texts = _Texts()
    trainable = {variable.op for variable in _trainable(graph)}
    entries: dict[str, OpLogEntry] = {}
    for entry in op_log.log_entries if op_log is not None else ():
        entries.setdefault(entry.name, OpLogEntry()).CopyFrom(entry)
    for op in graph.get_operations():
        found = _entry(op, texts, add_trace)
        if op in trainable:
            found.types.append(_TRAINABLE)
        if found.float_ops or found.types or add_trace:
            _merge(entries.setdefault(op.name, OpLogEntry(name=op.name)), found)
    made = OpLogProto(log_entries=entries.values(), id_to_string={n: t for t, n in texts.numbers.items()})
    with open_binary(Path(log_dir) / _FILE, "wb") as file:
        file.write(made.SerializeToString())


def _trainable(graph: Graph) -> list[Any]:
    with graph.as_default():
        return trainable_variables()


def _entry(op: Operation, texts: _Texts, add_trace: bool) -> OpLogEntry:
    entry = OpLogEntry(name=op.name, float_ops=float_operations(op))
    for frame in op.traceback if add_trace else ():
        number = frame.lineno or -1
        entry.code_def.traces.add(
            file_id=texts.number(frame.filename),
            lineno=number,
            function_id=texts.number(frame.name),
            line_id=texts.number(linecache.getline(frame.filename, number).strip()),
            func_start_line=-1,
        )
    return entry


def _merge(entry: OpLogEntry, found: OpLogEntry) -> None:
    """Adds to an entry what it does not say itself."""
    entry.types.extend(found.types)
    entry.float_ops = entry.float_ops or found.float_ops
    if not entry.code_def.traces:
        entry.code_def.CopyFrom(found.code_def)


def _take_shapes(graph: Graph, run_meta: RunMetadata) -> None:
    """Completes the static shapes of outputs by those of a run; one that does not fit is left out."""
    names = {op.name: op for op in graph.get_operations()}
    for device in run_meta.step_stats.dev_stats:
        for node in device.node_stats:
            op = names.get(node.node_name)
            if op is None or len(node.output) != len(op.outputs):
                continue
            for tensor, output in zip(op.outputs, node.output, strict=True):
                shape = TensorShape([dim.size for dim in output.tensor_description.shape.dim])
                if tensor.shape.is_compatible_with(shape):
                    tensor.set_shape(shape)
                else:
                    logging.warning("Node %s ran with the shape %s, not %s", op.name, shape, tensor.shape)
