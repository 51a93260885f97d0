"""Datasets of the records in files: TFRecords, lines, parts of equal length, comma-separated values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.data.dataset import Dataset, Element, Rows, Run
from tensorfleet_service.data.position import Position, State, skip
from tensorfleet_service.records.csv import CsvReader
from tensorfleet_service.records.sources import Source


class Strings(Rows):
    """Elements of one string: items are the strings themselves."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(())

    def element(self, index: Any) -> Element:
        value = np.empty((), object)
        value[()] = index
        return (value,)

    def gather(self, indices: list[Any]) -> Element:
        values = np.empty(len(indices), object)
        values[:] = indices
        return (values,)


class FileRecords(Dataset):
    """The records of files, one file after the other (`TFRecordDataset`, `TextLineDataset`, …).

    Args:
        names: of the files.
        open_source: opens a file. An error of opening or reading a file is that of one element; the next file
            follows.
    """

    def __init__(self, names: Sequence[bytes], open_source: Callable[[bytes], Source]) -> None:
        super().__init__()
        self.rows = Strings()
        self._names = names
        self._open = open_source

    def items(self, run: Run) -> Iterator[bytes]:
        return _Reading(run, self._names, self._open)


class _Reading(Position):
    """The iterator over the records of files. Its position is a file, and a number of records in it."""

    PARTS = ("_names",)

    def __init__(self, run: Run, names: Sequence[bytes], open_source: Callable[[bytes], Source]) -> None:
        self._names = iter(names)
        self._open = open_source
        self._name: bytes | None = None  # of the open file, of which `_read` records are in `_ready` or given
        self._read = 0
        self._source: Source | None = None
        self._ready: deque[bytes] = deque()
        run.open(self)

    def save(self) -> State:
        return super().save() | {"name": self._name, "given": self._read - len(self._ready)}

    def restore(self, saved: State) -> None:
        super().restore(saved)
        if saved["name"] is not None:
            self._begin(saved["name"])
            skip(self, saved["given"])

    def __next__(self) -> bytes:
        while not self._ready:
            self._more()
        return self._ready.popleft()

    def many(self, count: int) -> list[bytes]:
        """The next records, at most those of one piece of a file."""
        found: list[bytes] = []
        ready = self._ready
        while len(found) < count:
            if ready:
                found += [ready.popleft() for _ in range(min(count - len(found), len(ready)))]
            else:
                try:
                    self._more()
                except StopIteration:
                    break
        return found

    def _more(self) -> None:
        """Reads some records; raises StopIteration after the last file."""
        source = self._source
        if source is None:
            source = self._begin(next(self._names))
        try:
            records = source.read()
        except BaseException:
            self._name = None  # the next call goes on with the next file
            self.close()
            raise
        if records:
            self._read += len(records)
            self._ready.extend(records)
        else:
            self._name = None
            self.close()

    def _begin(self, name: bytes) -> Source:
        self._source = self._open(name)
        self._name, self._read = name, 0
        return self._source

    def close(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.close()


class CsvRecords(Dataset):
    """The records of files of comma-separated values (`CSVDatasetV2`).

    Args:
        names: of the files.
        open_reader: opens a file.
        convert: makes an element of the fields of a record.
    """

    def __init__(
        self,
        names: Sequence[bytes],
        open_reader: Callable[[bytes], CsvReader],
        convert: Callable[[list[bytes]], Element],
    ) -> None:
        super().__init__()
        self._names = names
        self._open = open_reader
        self._convert = convert

    def items(self, run: Run) -> Iterator[Element]:
        return _ReadingCsv(run, self._names, self._open, self._convert)


class _ReadingCsv(Position):
    """The iterator over the records of files. Its position is a file, and a number of records in it."""

    PARTS = ("_names",)

    def __init__(
        self,
        run: Run,
        names: Sequence[bytes],
        open_reader: Callable[[bytes], CsvReader],
        convert: Callable[[list[bytes]], Element],
    ) -> None:
        self._names = iter(names)
        self._open = open_reader
        self._convert = convert
        self._name: bytes | None = None  # of the open file, of which `_read` records were asked for
        self._read = 0
        self._reader: CsvReader | None = None
        run.open(self)

    def save(self) -> State:
        return super().save() | {"name": self._name, "given": self._read}

    def restore(self, saved: State) -> None:
        super().restore(saved)
        if saved["name"] is not None:
            reader = self._begin(saved["name"])
            for _ in range(saved["given"]):
                try:
                    if reader.read() is None:
                        raise ValueError("the file has become shorter")
                except errors.InvalidArgumentError:
                    pass  # as the first time: an error took the record's place
            self._read = saved["given"]

    def __next__(self) -> Element:
        while True:
            reader = self._reader
            if reader is None:
                reader = self._begin(next(self._names))
            self._read += 1  # also where it is no record
            fields = reader.read()
            if fields is not None:
                return self._convert(fields)
            self._name = None
            self.close()

    def _begin(self, name: bytes) -> CsvReader:
        self._reader = self._open(name)
        self._name, self._read = name, 0
        return self._reader

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
