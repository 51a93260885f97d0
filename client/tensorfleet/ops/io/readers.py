"""Readers, which take the names of files from a queue and give the records in them; and whole files."""

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
    """The common part of readers (`tf.ReaderBase`).

    A reader takes the names of files from a queue of strings, and goes on to the next name where a file ends.
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
            queue: of the names of files; or its handle.

        Raises:
            OutOfRangeError: in a run, when the queue is closed and empty.
        """
        return self._apply("ReaderRead", _handle(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """The next records of one file, as vectors of keys and of values: `num_records`, or fewer at its end.

        Raises:
            OutOfRangeError: in a run, when the queue is closed and empty.
        """
        return self._apply("ReaderReadUpTo", _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """The number of records that it has given."""
        made: Tensor = self._apply("ReaderNumRecordsProduced", name=name)
        return made

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """The number of files that it has read to their ends."""
        made: Tensor = self._apply("ReaderNumWorkUnitsCompleted", name=name)
        return made

    def serialize_state(self, name: str | None = None) -> Tensor:
        """A string from which `restore_state` goes on; only of a reader that `supports_serialize`."""
        made: Tensor = self._apply("ReaderSerializeState", name=name)
        return made

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Goes back to what `serialize_state` gave."""
        made: Operation = self._apply("ReaderRestoreState", state, name=name)
        return made

    def reset(self, name: str | None = None) -> Operation:
        """Begins anew, with the next file of the queue."""
        made: Operation = self._apply("ReaderReset", name=name)
        return made


def _handle(queue: Any) -> Any:
    return queue if isinstance(queue, Tensor) else queue.queue_ref


class WholeFileReader(ReaderBase):
    """Gives whole files: keys are their names, values what they contain (`tf.WholeFileReader`)."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply_one("WholeFileReaderV2", name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Gives the lines of files, without their ends (`tf.TextLineReader`)."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        """Leaves out the first `skip_header_lines` of each file."""
        super().__init__(apply_one("TextLineReaderV2", skip_header_lines=skip_header_lines or 0, name=name))


class FixedLengthRecordReader(ReaderBase):
    """Gives the parts of files that are equally long (`tf.FixedLengthRecordReader`)."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        """Makes a reader of parts of `record_bytes`.

        Args:
            header_bytes, footer_bytes: what a file has before the first part, and after the last.
            hop_bytes: from the beginning of a part to that of the next; 0: `record_bytes`.
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
    """Gives the records of TFRecord files (`tf.TFRecordReader`)."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        """Makes a reader; `options` say whether the files are compressed."""
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(apply_one("TFRecordReaderV2", compression_type=kind, name=name))


class IdentityReader(ReaderBase):
    """Gives the names themselves, as keys and as values (`tf.IdentityReader`)."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply_one("IdentityReaderV2", name=name), supports_serialize=True)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The content of a file, of the task that runs the op (`tf.io.read_file`)."""
    return apply_one("ReadFile", convert_to_tensor(filename, dtypes.string), name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Makes a file of this content, and the directories that it needs (`tf.io.write_file`)."""
    made: Operation = apply_op("WriteFile", filename, contents, name=name)
    return made


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that match a pattern, or one of several, sorted (`tf.io.matching_files`)."""
    return apply_one("MatchingFiles", pattern, name=name)
