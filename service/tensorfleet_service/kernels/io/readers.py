"""Readers: TFRecordReaderV2 and its kin, ReaderReadV2, …, their older forms, and ops of whole files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    check_handle,
    each_string,
    invalid,
    of_handle,
    shape_text,
    string_vector,
)
from tensorfleet_service.records.files import ProgramFiles
from tensorfleet_service.records.reader import Reader
from tensorfleet_service.records.sources import (
    Lines,
    Name,
    Open,
    Parts,
    Records,
    Whole,
    check_not_negative,
    content,
    opener,
)
from tensorfleet_service.state.queues import Queue
from tensorfleet_service.state.variables import DEFAULT_CONTAINER
from tensorfleet_service.threads.future import Future

READER = "reader"
"""The kind of readers among a task's resources."""

_private = itertools.count()


def _opener(node: KernelNode, kind: str) -> Open:
    attrs, files = node.attrs, ProgramFiles(node.resources.files)
    match kind:
        case "TFRecordReader":
            compression = attrs["compression_type"].decode()
            return opener(files, lambda file: Records(content(file, compression)))
        case "TextLineReader":
            skip = attrs["skip_header_lines"]
            check_not_negative(skip_header_lines=skip)
            return opener(files, lambda file: Lines(file, skip))
        case "FixedLengthRecordReader":
            sizes = {name: attrs[f"{name}_bytes"] for name in ("header", "record", "footer", "hop")}
            check_not_negative(**{f"{name}_bytes": value for name, value in sizes.items()})
            if not sizes["record"]:
                raise invalid("record_bytes must be > 0")
            # Any other encoding means none, as in TensorFlow.
            encoding = "ZLIB" if attrs.get("encoding") == b"ZLIB" else ""
            header, size, footer, hop = sizes.values()
            return opener(files, lambda file: Parts(content(file, encoding), size, header, footer, hop))
        case "WholeFileReader":
            return opener(files, Whole)
    return Name


@kernel(
    *("TFRecordReaderV2", "TextLineReaderV2", "FixedLengthRecordReaderV2", "WholeFileReaderV2"),
    *("TFRecordReader", "TextLineReader", "FixedLengthRecordReader", "WholeFileReader"),
    *("IdentityReaderV2", "IdentityReader"),
)
def reader(node: KernelNode) -> Kernel:
    attrs, resources, library = node.attrs, node.resources, library_of(node)
    kind = node.op.removesuffix("V2")
    open_source = _opener(node, kind)
    container = attrs["container"].decode() or DEFAULT_CONTAINER
    shared = attrs["shared_name"].decode()
    name = shared or f"_{next(_private)}_{node.name}"

    def make() -> Reader:
        serializes = kind in ("WholeFileReader", "IdentityReader")
        return Reader(kind, shared or node.name, open_source, serializes, library.pool)

    if not shared:
        # A reader without a name for others is the session's own, and ends with it.
        own = make()
        library.on_close(own.close)
        return lambda: own

    def find() -> Reader:
        found = resources.get_or_create(container, READER, name, make)
        if found.kind != kind:
            raise invalid(f"Shared reader '{shared}' is a {found.kind}, but a {kind} was asked for")
        return found

    return find


def _after(found: Any, convert: Callable[[Any], Any]) -> Any:
    return found.then(convert) if type(found) is Future else convert(found)


@kernel("ReaderReadV2", "ReaderRead", blocking=True)
def read(node: KernelNode) -> AsyncKernel:
    def first(records: Any) -> Any:
        (key,), (value,) = records
        return key, value

    return AsyncKernel(lambda reader, queue: _after(_take(reader, queue, 1), first))


@kernel("ReaderReadUpToV2", "ReaderReadUpTo", blocking=True)
def read_up_to(node: KernelNode) -> AsyncKernel:
    def both(records: Any) -> Any:
        keys, values = records
        return string_vector(keys), string_vector(values)

    return AsyncKernel(lambda reader, queue, count: _after(_take(reader, queue, int(count)), both))


def _take(reader: Any, queue: Any, count: int) -> Any:
    check_handle(reader, Reader)
    check_handle(queue, Queue)
    return reader.take(queue, count)


@kernel("ReaderNumRecordsProducedV2", "ReaderNumRecordsProduced")
def num_records_produced(node: KernelNode) -> Kernel:
    return of_handle(Reader, lambda reader: np.int64(reader.produced))


@kernel("ReaderNumWorkUnitsCompletedV2", "ReaderNumWorkUnitsCompleted")
def num_work_units_completed(node: KernelNode) -> Kernel:
    return of_handle(Reader, lambda reader: np.int64(reader.finished))


@kernel("ReaderSerializeStateV2", "ReaderSerializeState", blocking=True)
def serialize_state(node: KernelNode) -> AsyncKernel:
    return AsyncKernel(of_handle(Reader, lambda reader: reader.serialize()))


@kernel("ReaderRestoreStateV2", "ReaderRestoreState", blocking=True)
def restore_state(node: KernelNode) -> AsyncKernel:
    def run(reader: Reader, state: Any) -> Any:
        return reader.restore(_scalar(state, "Reader state must be scalar"))

    return AsyncKernel(of_handle(Reader, run))


@kernel("ReaderResetV2", "ReaderReset", blocking=True)
def reset(node: KernelNode) -> AsyncKernel:
    return AsyncKernel(of_handle(Reader, lambda reader: reader.reset()))


def _scalar(value: Any, text: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if value.ndim:
        raise invalid(f"{text}, but had shape: {shape_text(value.shape)}")
    return bytes(value[()])


# Whole files


@kernel("ReadFile")
def read_file(node: KernelNode) -> Kernel:
    files, text = ProgramFiles(node.resources.files), "Input filename tensor must be scalar"
    return lambda filename: files.read(_scalar(filename, text))


@kernel("WriteFile")
def write_file(node: KernelNode) -> Kernel:
    files = ProgramFiles(node.resources.files)

    def run(filename: Any, contents: Any) -> None:
        name = _scalar(filename, "Input filename tensor must be scalar")
        files.write(name, _scalar(contents, "Contents tensor must be scalar"))

    return run


@array_kernel("MatchingFiles", lasting=True)
def matching_files(node: KernelNode) -> Kernel:
    files = ProgramFiles(node.resources.files)

    def run(pattern: Any) -> Any:
        if pattern.ndim > 1:
            text = (
                f"Input patterns tensor must be scalar or vector, but had shape: {shape_text(pattern.shape)}"
            )
            raise invalid(text)
        return string_vector(sorted(name for one in each_string(pattern, 64) for name in files.match(one)))

    return run
