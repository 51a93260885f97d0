"""Savers, summaries and timelines for training sessions, whose modules are imported on first use.

A session without checkpoints and summaries does not need them.
"""

from __future__ import annotations

from typing import Any


def default_saver() -> Any:
    """A Saver of all variables, which does nothing if there are none."""
    from tensorfleet.train.saver import Saver

    # Not sharded, unlike TensorFlow's, so that it works on machines without a shared file system.
    return Saver(allow_empty=True)


def saver_of_variables() -> Any:
    """A Saver of all variables; None if there are none."""
    from tensorfleet.ops.state.variable_collections import global_variables
    from tensorfleet.train.saver import Saver

    return Saver() if global_variables() else None


def checkpoint_state(directory: str) -> Any:
    """The message in the `checkpoint` file of a directory; None if there is none."""
    from tensorfleet.train.checkpoint_management import get_checkpoint_state

    return get_checkpoint_state(directory)


def merge_all() -> Any:
    """The merged summaries of the graph; None if there are none."""
    from tensorfleet.ops.io import summary

    return summary.merge_all()


def cached_writer(directory: str) -> Any:
    """The FileWriter of a directory, which all hooks share."""
    from tensorfleet.summary.file_writer import FileWriterCache

    return FileWriterCache.get(directory)


def file_writer(directory: str) -> Any:
    """A new FileWriter."""
    from tensorfleet.summary.file_writer import FileWriter

    return FileWriter(directory)


def write_graph(graph: Any, directory: str) -> None:
    """Writes a graph with its static shapes, as `graph.pbtxt`."""
    from tensorfleet.export import graph_io

    graph_io.write_graph(graph.as_graph_def(add_shapes=True), directory, "graph.pbtxt")


def add_graph(writer: Any, graph: Any, saver: Any) -> None:
    """Writes the graph to the event file for TensorBoard."""
    from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef

    writer.add_graph(graph)
    meta = MetaGraphDef(graph_def=graph.as_graph_def(add_shapes=True))
    if saver is not None and saver.saver_def is not None:
        meta.saver_def.CopyFrom(saver.saver_def)
    writer.add_meta_graph(meta)


def log_start(writer: Any, step: int) -> None:
    """Writes the event that a session starts."""
    from tensorfleet.proto.event_pb2 import SessionLog

    writer.add_session_log(SessionLog(status=SessionLog.START), step)


def log_stop(writer: Any) -> None:
    """Writes the event that the session has ended."""
    from tensorfleet.proto.event_pb2 import SessionLog

    writer.add_session_log(SessionLog(status=SessionLog.STOP))


def log_checkpoint(writer: Any, path: str, step: int) -> None:
    """Writes the event that a checkpoint was saved."""
    from tensorfleet.proto.event_pb2 import SessionLog

    writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=path), step)


def add_scalar(writer: Any, tag: str, value: float, step: int) -> None:
    """Writes a summary of one number."""
    from tensorfleet.proto.summary_pb2 import Summary

    writer.add_summary(Summary(value=[Summary.Value(tag=tag, simple_value=value)]), step)


def chrome_trace(step_stats: Any, show_dataflow: bool, show_memory: bool) -> str:
    """A timeline in the format of Chrome's trace viewer and Perfetto."""
    from tensorfleet.session.timeline import Timeline

    trace = Timeline(step_stats)
    return trace.generate_chrome_trace_format(show_dataflow=show_dataflow, show_memory=show_memory)
