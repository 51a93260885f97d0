"""Operations that write their summaries themselves, to an event file of a task: `tf.contrib.summary`."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.framework import add_to_collection, device, get_collection
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.control_flow.smart_cond import smart_cond
from tensorfleet.ops.io import summary_writers  # noqa: F401 - the ops register themselves
from tensorfleet.ops.io.summary import all_v2_summary_ops, summary_scope
from tensorfleet.ops.math.comparison import equal
from tensorfleet.train.step_count import get_or_create_global_step

_WRITTEN = "_SUMMARY_V2"
_INITIALIZERS = "_SUMMARY_WRITER_V2"


class _State(threading.local):
    """The default writer, and whether summaries are recorded: a bool, or a function that makes a tensor."""

    writer: SummaryWriter | None = None
    records: bool | Callable[[], Tensor] = False


_state = _State()


class SummaryWriter:
    """A writer of summaries (`tf.contrib.summary.SummaryWriter`), made by `create_file_writer`."""

    def __init__(self, resource: Tensor | None, init_op: Operation | None = None) -> None:
        self._resource, self._init_op = resource, init_op

    def set_as_default(self) -> None:
        """Has summaries that are made from now on written by this writer."""
        _state.writer = self if self._resource is not None else None

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """A `with` block whose summaries are written by this writer."""
        before = _state.writer
        self.set_as_default()
        try:
            yield self
        finally:
            _state.writer = before

    def init(self) -> Operation:
        """The operation that begins the file."""
        return no_op() if self._init_op is None else self._init_op

    def flush(self) -> Operation:
        """An operation after which all events are in the file."""
        return _on_writer("FlushSummaryWriter", self)

    def close(self) -> Operation:
        """The operation that closes the file."""
        return _on_writer("CloseSummaryWriter", self)


def _on_writer(kind: str, writer: SummaryWriter | None, *inputs: Any, name: str | None = None) -> Operation:
    if writer is None or writer._resource is None:
        return no_op()
    with device("cpu:0"):
        made: Operation = apply_op(kind, writer._resource, *inputs, name=name)
    return made


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of an event file in a directory of the task that it is placed on
    (`tf.contrib.summary.create_file_writer`).

    Args:
        logdir: the directory, or None for a writer that writes nothing.
        max_queue, flush_millis: without effect: events are written at once.
        filename_suffix: the end of the file's name, ".v2" by default.
        name: sessions of a server share the writers of one name, by default of one directory.

    Example:
        >>> import tempfile
        >>> writer = tf.contrib.summary.create_file_writer(tempfile.mkdtemp())
        >>> step = tf.train.get_or_create_global_step()
        >>> with writer.as_default(), tf.contrib.summary.always_record_summaries():
        ...     written = tf.contrib.summary.scalar("loss", 0.5)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     with writer.as_default():
        ...         tf.contrib.summary.initialize()
        ...     session.run(tf.contrib.summary.all_summary_ops())
        [None]
    """
    if logdir is None:
        return SummaryWriter(None)
    text = logdir if isinstance(logdir, Tensor) else os.fspath(logdir)
    shared = name if name is not None else ("" if isinstance(text, Tensor) else f"logdir:{text}")
    with device("cpu:0"):
        resource = apply_one("SummaryWriter", shared_name=shared)
        init = apply_op(
            "CreateSummaryFileWriter",
            resource,
            convert_to_tensor(text, dtypes.string),
            convert_to_tensor(10 if max_queue is None else max_queue, dtypes.int32),
            convert_to_tensor(120_000 if flush_millis is None else flush_millis, dtypes.int32),
            convert_to_tensor(".v2" if filename_suffix is None else filename_suffix, dtypes.string),
        )
    add_to_collection(_INITIALIZERS, init)
    return SummaryWriter(resource, init)


create_summary_file_writer = create_file_writer


def summary_writer_initializer_op() -> list[Operation]:
    """The operations that begin the files of all writers."""
    return list(get_collection(_INITIALIZERS))


def initialize(graph: Any = None, session: Any = None) -> None:
    """Begins the files of all writers, and writes a graph by the default one.

    Args:
        session: by default the default session.

    Raises:
        RuntimeError: there is no default writer.
        ValueError: there is no session.
    """
    if _state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = get_default_session() if session is None else session
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    with session.graph.as_default():
        session.run(summary_writer_initializer_op())
        if graph is not None:
            session.run(_graph_written(graph, 0))


def all_summary_ops() -> list[Any]:
    """The operations that write summaries, in the default graph."""
    return list(all_v2_summary_ops() or [])


def should_record_summaries() -> Any:
    """Whether summaries are recorded: a bool or a tensor; not so by default."""
    return _state.records() if callable(_state.records) else _state.records


@contextlib.contextmanager
def _recording(records: bool | Callable[[], Tensor]) -> Iterator[None]:
    before, _state.records = _state.records, records
    try:
        yield
    finally:
        _state.records = before


def always_record_summaries() -> Any:
    """A `with` block whose summaries are recorded."""
    return _recording(True)


def never_record_summaries() -> Any:
    """A `with` block whose summaries are not recorded."""
    return _recording(False)


def record_summaries_every_n_global_steps(n: Any, global_step: Any = None) -> Any:
    """A `with` block whose summaries are recorded in each `n`-th global step."""
    step = get_or_create_global_step() if global_step is None else global_step

    def is_due() -> Tensor:
        with device("cpu:0"):
            return equal(convert_to_tensor(step) % n, 0)

    return _recording(is_due)


def _written(kind: str, name: str, family: str | None, step: Any, *inputs: Any, **attrs: Any) -> Any:
    """The operation that writes the summary of a node of this type, where it is recorded."""
    writer = _state.writer
    if writer is None:
        return no_op()
    with summary_scope(name, family, list(inputs)) as (tag, _):

        def record() -> Tensor:
            data = apply_one(kind, tag, *inputs, **attrs)
            made = _on_writer("WriteRawProtoSummary", writer, _step(step), data)
            return _after(made)

        skip = functools.partial(convert_to_tensor, False)
        operation = smart_cond(should_record_summaries(), record, skip).op
        add_to_collection(_WRITTEN, operation)
        return operation


def _after(operation: Operation) -> Tensor:
    """True after an operation."""
    with operation.graph.control_dependencies([operation]):
        made: Tensor = apply_one("Identity", convert_to_tensor(True))
    return made


def _step(step: Any) -> Tensor:
    return cast(convert_to_tensor(get_or_create_global_step() if step is None else step), dtypes.int64)


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes a number (`tf.contrib.summary.scalar`).

    Args:
        name: the tag, behind the names of scopes.
        family: a prefix of the tag.
        step: by default the global step.
    """
    return _written("ScalarSummary", name, family, step, convert_to_tensor(tensor))


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes the distribution of values (`tf.contrib.summary.histogram`)."""
    return _written("HistogramSummary", name, family, step, convert_to_tensor(tensor))


def image(
    name: str,
    tensor: Any,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes images, of the shape [batch, height, width, channels] (`tf.contrib.summary.image`).

    Args:
        bad_color: the color of pixels that are no numbers, of dtype uint8, red by default.
    """
    more = {} if bad_color is None else {"bad_color": bad_color}
    return _written(
        "ImageSummary", name, family, step, convert_to_tensor(tensor), max_images=max_images, **more
    )


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None
) -> Any:
    """Writes sound, of the shape [batch, frames, channels] (`tf.contrib.summary.audio`)."""
    inputs = convert_to_tensor(tensor), convert_to_tensor(sample_rate, dtypes.float32)
    return _written("AudioSummaryV2", name, family, step, *inputs, max_outputs=max_outputs)


def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """Writes a tensor of any kind (`tf.contrib.summary.generic`)."""
    text = metadata if metadata is not None else b""
    text = text.SerializeToString() if hasattr(text, "SerializeToString") else text
    return _written("TensorSummaryV2", name, family, step, convert_to_tensor(tensor), convert_to_tensor(text))


def graph(param: Any, step: Any = None, name: str | None = None) -> Operation:
    """Writes a graph: a Graph, a GraphDef, or a string tensor with one (`tf.contrib.summary.graph`)."""
    return _graph_written(param, step, name)


def _graph_written(param: Any, step: Any, name: str | None = None) -> Operation:
    if isinstance(param, Graph):
        param = param.as_graph_def(add_shapes=True)
    text = param.SerializeToString() if hasattr(param, "SerializeToString") else param
    inputs = _step(step), convert_to_tensor(text, dtypes.string)
    return _on_writer("WriteGraphSummary", _state.writer, *inputs, name=name)


def import_event(tensor: Any, name: str | None = None) -> Operation:
    """Writes an event, given as a string (`tf.contrib.summary.import_event`)."""
    return _on_writer("ImportEvent", _state.writer, convert_to_tensor(tensor, dtypes.string), name=name)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Operation:
    """An operation after which all events of a writer, by default the default one, are in its file."""
    return _on_writer("FlushSummaryWriter", _state.writer if writer is None else writer, name=name)


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The directory for the events of an evaluation: "eval" or "eval_NAME" in a model's directory."""
    return os.path.join(model_dir, "eval" if not name else f"eval_{name}")
