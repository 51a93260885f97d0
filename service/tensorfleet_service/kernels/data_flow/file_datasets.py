"""Datasets of the records in files: TFRecordDataset, TextLineDataset, CSVDatasetV2, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.long_texts import excerpt
from tensorfleet.records.compression import KINDS
from tensorfleet.records.tfrecord import BUFFER
from tensorfleet_service.data.dataset import Dataset, Element
from tensorfleet_service.data.experimental import Listed
from tensorfleet_service.data.files import CsvRecords, FileRecords
from tensorfleet_service.data.sql import TYPES, SqlRows
from tensorfleet_service.kernels.data_flow.dataset_ops import Make, dataset_kernel
from tensorfleet_service.kernels.registry import KernelNode
from tensorfleet_service.kernels.values import host_array, invalid
from tensorfleet_service.records.csv import CsvReader, Format
from tensorfleet_service.records.files import ProgramFiles
from tensorfleet_service.records.sources import Lines, Parts, Records, Source, content

_MAX_BUFFER_BYTES = 1 << 26
"""Limit on the bytes read at a time, for programs that ask for larger buffers."""


def _names(value: Any) -> list[bytes]:
    value = host_array(value)
    if value.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return list(value.reshape(-1).tolist())


def _text(value: Any) -> bytes:
    return bytes(host_array(value).reshape(())[()])


def _kind(value: Any) -> str:
    kind = excerpt(_text(value))
    if kind not in KINDS:
        raise invalid("Unsupported compression_type.")
    return kind


def _buffer(value: Any) -> int:
    size = int(value)
    if size < 0:
        raise invalid("`buffer_size` must be >= 0 (0 == default)")
    return min(size, _MAX_BUFFER_BYTES) or BUFFER


def _opener(node: KernelNode, make: Callable[[BinaryIO], Source]) -> Callable[[bytes], Source]:
    files = ProgramFiles(node.resources.files)
    return lambda name: make(files.open_for_read(name))


def _strings_only(node: KernelNode) -> None:
    """Sets the types and shapes of elements, for which these ops have no attributes: they are strings."""
    node.attrs.setdefault("output_types", [dtypes.string])
    node.attrs.setdefault("output_shapes", [()])


@dataset_kernel("TFRecordDataset", "TFRecordDatasetV2")
def tf_record_dataset(node: KernelNode) -> Make:
    _strings_only(node)

    def make(filenames: Any, compression: Any, buffer_size: Any, offsets: Any = None) -> Dataset:
        if offsets is not None and host_array(offsets).size:
            raise errors.UnimplementedError(None, None, "TFRecordDatasetV2 takes no byte_offsets here")
        kind, size = _kind(compression), _buffer(buffer_size)
        return FileRecords(_names(filenames), _opener(node, lambda file: Records(content(file, kind), size)))

    return make


@dataset_kernel("TextLineDataset")
def text_line_dataset(node: KernelNode) -> Make:
    _strings_only(node)

    def make(filenames: Any, compression: Any, buffer_size: Any) -> Dataset:
        kind, size = _kind(compression), _buffer(buffer_size)
        opener = _opener(node, lambda file: Lines(content(file, kind), 0, True, size))
        return FileRecords(_names(filenames), opener)

    return make


class _WholeParts(Parts):
    """Parts of a file, whose length must be a multiple of theirs."""

    def __init__(self, file: BinaryIO, name: bytes, kind: str, header: int, size: int, footer: int) -> None:
        if not kind:
            file.seek(0, 2)
            body = file.tell() - header - footer
            file.seek(0)
            if body < 0 or body % size:
                file.close()
                raise invalid(_excess(name, header, footer, body % 2**64, size))
        super().__init__(content(file, kind), size, header, footer)
        self._described = name, header, footer, size
        self._given = 0

    def read(self) -> list[bytes]:
        found = super().read()
        self._given += len(found)
        if not found and self.rest > 0:
            name, header, footer, size = self._described
            text = _excess(name, header, footer, self._given * size + self.rest, size)
            raise errors.DataLossError(None, None, text)
        return found


def _excess(name: bytes, header: int, footer: int, body: int, size: int) -> str:
    return (
        f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
        f'"{excerpt(name)}" has body length {body} bytes, which is not an exact '
        f"multiple of the record length ({size} bytes)."
    )


@dataset_kernel("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2")
def fixed_length_record_dataset(node: KernelNode) -> Make:
    _strings_only(node)

    def make(
        filenames: Any, header: Any, record: Any, footer: Any, buffer_size: Any, compression: Any = b""
    ) -> Dataset:
        head, size, foot, kind = int(header), int(record), int(footer), _kind(compression)
        if head < 0:
            raise invalid("`header_bytes` must be >= 0")
        if size <= 0:
            raise invalid("`record_bytes` must be > 0")
        if foot < 0:
            raise invalid("`footer_bytes` must be >= 0")
        _buffer(buffer_size)
        files = ProgramFiles(node.resources.files)

        def open_source(name: bytes) -> Source:
            return _WholeParts(files.open_for_read(name), name, kind, head, size, foot)

        return FileRecords(_names(filenames), open_source)

    return make


@dataset_kernel("MatchingFilesDataset")
def matching_files_dataset(node: KernelNode) -> Make:
    _strings_only(node)
    files = ProgramFiles(node.resources.files)

    def make(patterns: Any) -> Dataset:
        found = sorted(name for pattern in _names(patterns) for name in files.match(pattern))
        return Listed([_string(name) for name in found])

    return make


def _string(value: bytes) -> Element:
    array = np.empty((), object)
    array[()] = value
    return (array,)


@dataset_kernel("CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset")
def csv_dataset(node: KernelNode) -> Make:
    types = node.attrs["output_types"]
    files = ProgramFiles(node.resources.files)
    count = len(types)

    def make(filenames: Any, compression: Any, buffer_size: Any, *rest: Any) -> Dataset:
        header, delimiter, quotes, missing, select, *defaults = rest
        exclude: Sequence[int] = []
        if node.op == "CSVDatasetV2":
            exclude = host_array(defaults.pop()).reshape(-1).tolist()
        columns = host_array(select).reshape(-1).tolist()
        for chosen, name in ((columns, "select_cols"), (exclude, "exclude_cols")):
            if any(a >= b for a, b in pairwise(chosen)) or any(i < 0 for i in chosen):
                raise invalid(f"{name} should be strictly increasing indices, none of them negative")
        if columns and exclude:
            raise invalid("Either select_cols or exclude_cols should be empty")
        if columns and len(columns) != count:
            raise invalid("select_cols should match output size")
        kind = _kind(compression)
        _buffer(buffer_size)
        quoted = bool(quotes)
        form = Format(_text(delimiter), quoted, _text(missing), columns)
        given = [host_array(default) for default in defaults]
        if any(default.size > 1 for default in given):
            raise invalid("Each record default should be at most rank 1, of one element")
        dropped = frozenset(exclude)

        def convert(fields: list[bytes]) -> Element:
            if dropped:
                fields = [field for i, field in enumerate(fields) if i not in dropped]
            taken = form.take(fields)
            values = zip(taken, types, given, strict=False)
            element = tuple(
                [
                    _value(form.value(field, dtype, default, place, "", "!"), dtype)
                    for place, (field, dtype, default) in enumerate(values)
                ]
            )
            if len(taken) != count:
                found = "more" if len(taken) > count else len(taken)
                raise invalid(f"Expect {count} fields but have {found} in record")
            return element

        def open_reader(name: bytes) -> CsvReader:
            return CsvReader(content(files.open_for_read(name), kind), form, quoted, bool(header))

        return CsvRecords(_names(filenames), open_reader, convert)

    return make


_MAX_DATABASE_BYTES = 1 << 30


@dataset_kernel("SqlDataset", "ExperimentalSqlDataset")
def sql_dataset(node: KernelNode) -> Make:
    types = node.attrs["output_types"]
    files = ProgramFiles(node.resources.files)
    for dtype in types:
        if dtype not in TYPES:
            raise invalid(f"SqlDataset gives no {dtype.name}")
    if any(dims not in ((), None) for dims in node.attrs["output_shapes"]):
        raise invalid("Each element of `output_shapes_` must be a scalar.")

    def make(driver: Any, source: Any, query: Any) -> Dataset:
        if _text(driver) != b"sqlite":
            kind = excerpt(_text(driver))
            raise invalid(f"The database type, {kind}, is not supported by SqlDataset: use sqlite")
        name, text = _text(source), _text(query)

        def read() -> bytes:
            with files.open_for_read(name) as file:
                size = file.seek(0, 2)
                if size > _MAX_DATABASE_BYTES:
                    why = f"A database of {size} bytes is larger than the {_MAX_DATABASE_BYTES} allowed"
                    raise errors.ResourceExhaustedError(None, None, why)
            return files.read(name)

        return SqlRows(read, text, types)

    return make


def _value(value: Any, dtype: dtypes.DType) -> Any:
    if dtype is dtypes.string:
        return _string(value)[0]
    assert dtype.np is not None
    with np.errstate(over="ignore"):
        return dtype.np.type(value)
