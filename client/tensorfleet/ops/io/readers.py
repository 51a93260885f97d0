"""Readers, which take file names from a queue and return the files' records; and ops on whole files."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io import reader_ops  # noqa: F401  the ops register themselves
from tensorfleet.records.options import TFRecordOptions


class ReaderBase:
    """The base class of readers (`tf.ReaderBase`).

    A reader takes file names from a queue of strings, the next one when it reaches the end of a file.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle of the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader's state can be saved."""
        return self._supports_serialize

    def _apply(self, op_type: str, *inputs: Any, name: str | None) -> Any:
        suffix = "V2" if self._reader_ref.dtype is dtypes.resource else ""
        return apply_op(f"{op_type}{suffix}", self._reader_ref, *inputs, name=name)

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next record, as a key and a value.

        Args:
            queue: the queue of file names, or its handle.

        Raises:
            OutOfRangeError: in a run, when the queue is closed and empty.
        """
        return self._apply("ReaderRead", _handle(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """The next `num_records` records of one file, fewer at its end, as vectors of keys and of values.

        Raises:
            OutOfRangeError: in a run, when the queue is closed and empty.
        """
        return self._apply("ReaderReadUpTo", _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """The number of records that the reader has returned."""
        made: Tensor = self._apply("ReaderNumRecordsProduced", name=name)
        return made

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """The number of files that the reader has read to their ends."""
        made: Tensor = self._apply("ReaderNumWorkUnitsCompleted", name=name)
        return made

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The reader's state as a string for `restore_state`; only if the reader `supports_serialize`."""
        made: Tensor = self._apply("ReaderSerializeState", name=name)
        return made

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Restores a state from `serialize_state`."""
        made: Operation = self._apply("ReaderRestoreState", state, name=name)
        return made

    def reset(self, name: str | None = None) -> Operation:
        """Resets the reader, which then starts with the next file of the queue."""
        made: Operation = self._apply("ReaderReset", name=name)
        return made


def _handle(queue: Any) -> Any:
    return queue if isinstance(queue, Tensor) else queue.queue_ref


class WholeFileReader(ReaderBase):
    """A reader of whole files: keys are their names, values their contents (`tf.WholeFileReader`)."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply_one("WholeFileReaderV2", name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """A reader of the lines of files, without line breaks (`tf.TextLineReader`)."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        """A reader that skips the first `skip_header_lines` lines of each file."""
        super().__init__(apply_one("TextLineReaderV2", skip_header_lines=skip_header_lines or 0, name=name))


class FixedLengthRecordReader(ReaderBase):
    """A reader of records of equal length (`tf.FixedLengthRecordReader`)."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        """A reader of records of `record_bytes` bytes.

        Args:
            header_bytes, footer_bytes: the sizes of the parts of a file before the first record and after the
                last one.
            hop_bytes: the distance between the starts of two records; 0 for `record_bytes`.
            encoding: "ZLIB" for compressed files.
        """
        reader = apply_one(
            "FixedLengthRecordReaderV2",
            record_bytes=record_bytes,
            header_bytes=header_bytes or 0,
            footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0,
            encoding=encoding or "",
            name=name,
        )
        super().__init__(reader)


class TFRecordReader(ReaderBase):
    """A reader of TFRecord files (`tf.TFRecordReader`)."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        """A reader; `options` give the compression of the files."""
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(apply_one("TFRecordReaderV2", compression_type=kind, name=name))


class IdentityReader(ReaderBase):
    """A reader that returns the names from the queue, as keys and as values (`tf.IdentityReader`)."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply_one("IdentityReaderV2", name=name), supports_serialize=True)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The content of a file on the task that runs the op (`tf.io.read_file`)."""
    return apply_one("ReadFile", convert_to_tensor(filename, dtypes.string), name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Writes `contents` to a file, whose directories are made if needed (`tf.io.write_file`)."""
    made: Operation = apply_op("WriteFile", filename, contents, name=name)
    return made


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The sorted names of the files that match a pattern, or one of several (`tf.io.matching_files`)."""
    return apply_one("MatchingFiles", pattern, name=name)
