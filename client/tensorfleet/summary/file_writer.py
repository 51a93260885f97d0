"""`tf.summary.FileWriter`, which writes the events of a training to an event file."""

from __future__ import annotations

import os
import threading
import time
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import logging
from tensorfleet.graph.framework import get_default_graph
from tensorfleet.graph.graph import Graph
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.summary.event_file_writer import EventFileWriter

if TYPE_CHECKING:
    from tensorfleet.proto.config_pb2 import RunMetadata
    from tensorfleet.proto.event_pb2 import Event, SessionLog
    from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef


class FileWriter:
    """Writes an event file that TensorBoard reads (`tf.summary.FileWriter`). Any thread may use it.

    Args:
        logdir: the directory, which is made if needed.
        graph: a graph to write at once.
        max_queue: the greatest number of events in the queue; adding more waits.
        flush_secs: the interval at which the file is flushed, in seconds.
        graph_def: an older form of `graph`.
        filename_suffix: the end of the file's name.
        session: ignored, as this process always writes the file.

    Raises:
        OpError: the file cannot be made.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self.event_writer = EventFileWriter(os.fspath(logdir), max_queue, flush_secs, filename_suffix)
        self._closed = False
        self._run_tags: set[str] = set()
        self._described: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph(graph if graph is not None else graph_def))

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The directory of the file."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a summary: the value of a summary op, or a Summary message.

        Raises:
            OpError: this or earlier events could not be written, as for all methods.
        """
        from tensorfleet.proto.event_pb2 import Event
        from tensorfleet.proto.summary_pb2 import Summary

        message = Summary.FromString(summary) if isinstance(summary, bytes) else summary
        event = Event(summary=message)
        for value in event.summary.value:
            # TensorBoard needs the metadata of a tag only once.
            if value.HasField("metadata"):
                if value.tag in self._described:
                    value.ClearField("metadata")
                self._described.add(value.tag)
        self._add(event, global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Adds the event that a session has started, ended or saved a checkpoint."""
        from tensorfleet.proto.event_pb2 import Event

        self._add(Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a graph: a `tf.Graph` (or a GraphDef, an older way).

        Raises:
            ValueError: both `graph` and `graph_def` are given.
            TypeError: the graph is of another type.
        """
        from tensorfleet.proto.event_pb2 import Event

        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        definition = _graph_def(graph if graph is not None else graph_def)
        self._add(Event(graph_def=definition.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: MetaGraphDef, global_step: Any = None) -> None:
        """Adds a MetaGraphDef.

        Raises:
            TypeError: `meta_graph_def` is of another type.
        """
        from tensorfleet.proto.event_pb2 import Event
        from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef

        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: RunMetadata, tag: str, global_step: Any = None) -> None:
        """Adds the RunMetadata of a traced step.

        Raises:
            ValueError: the tag has been used.
        """
        from tensorfleet.proto.event_pb2 import Event, TaggedRunMetadata

        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(Event(tagged_run_metadata=tagged), global_step)

    def add_event(self, event: Event) -> None:
        """Adds an Event message."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Waits until all added events are in the file."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Writes the remaining events and closes the file. Further events are dropped, with a warning."""
        self._closed = True
        self.event_writer.close()

    def reopen(self) -> None:
        """Continues with another file after `close`."""
        self.event_writer.reopen()
        self._closed = False

    def _add(self, event: Event, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter "
                "is explicitly reopened.",
                stacklevel=3,
            )


def _graph_def(graph: Any) -> GraphDef:
    if isinstance(graph, Graph):
        return graph.as_graph_def(add_shapes=True)
    if isinstance(graph, GraphDef):
        logging.warning(
            "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as "
            "`sess.graph`."
        )
        return graph
    raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")


def _meta_graph(graph: Any) -> MetaGraphDef:
    from tensorfleet.export.meta_graph import export_meta_graph

    if isinstance(graph, Graph):
        return export_meta_graph(graph=graph, collection_list=[])
    return export_meta_graph(graph_def=graph, collection_list=[])


class FileWriterCache:
    """The FileWriters of a process, one for each directory (`tf.summary.FileWriterCache`)."""

    _cache: dict[str, FileWriter] = {}  # noqa: RUF012 - shared on purpose
    _lock = threading.RLock()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """The FileWriter of a directory, made at the first call, when it writes the default graph."""
        key = os.fspath(logdir)
        with FileWriterCache._lock:
            if key not in FileWriterCache._cache:
                FileWriterCache._cache[key] = FileWriter(key, graph=get_default_graph())
            return FileWriterCache._cache[key]

    @staticmethod
    def clear() -> None:
        """Closes and forgets all FileWriters."""
        with FileWriterCache._lock:
            writers = list(FileWriterCache._cache.values())
            FileWriterCache._cache.clear()
        for writer in writers:
            writer.close()
