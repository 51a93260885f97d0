"""Writing checkpoints: tensors into a data file, their names and places into an index."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from types import TracebackType
from typing import Any

import numpy as np

from tensorfleet.checkpoint import checksum, files, slices, table, varint
from tensorfleet.core import dtypes, errors, shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.files import LOCAL, Files
from tensorfleet.proto.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto

HEADER_KEY = b""
VERSION = 1
_UINT32_MAX = 0xFFFFFFFF


class BundleWriter:
    """One checkpoint of one shard; as a context manager it is completed, or after an error leaves no trace.

    The files are written under temporary names. A checkpoint of the same name is replaced only when the new
    one is completely on the disk.

    Raises:
        OpError: on any call, of the kind of the operating system's error: ResourceExhaustedError for a full
            disk, NotFoundError for a missing directory.
    """

    def __init__(self, prefix: str, way: Files = LOCAL) -> None:
        self.prefix = prefix
        self._way = way
        self._entries: dict[bytes, BundleEntryProto] = {}
        with files.reported(prefix):
            # As in TensorFlow the last directory of the path need not exist. Other shards may make it now.
            if directory := os.path.dirname(prefix):
                with suppress(FileExistsError):
                    way.make_directory(directory)
            files.remove_abandoned(directory, way)
            self._data = files.NewFile(files.data_path(prefix, 0, 1), way)

    def add(self, name: str, value: Any, shape_and_slice: str = "", dtype: DType | None = None) -> None:
        """Adds a tensor, or the part of a partitioned one that `shape_and_slice` tells.

        The value of `dtype` variant is an array of VariantTensorDataProto.

        Raises:
            InvalidArgumentError: there is a tensor of that name, or the value does not fit the part.
        """
        array = np.asarray(value, order="C")
        key = name.encode()
        if not shape_and_slice:
            self._add(key, array, dtype)
            return
        full, part = slices.parse(shape_and_slice)
        if part.shape(full) != array.shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Slice {shape_and_slice!r} of tensor {name} has shape {list(part.shape(full))}, but the "
                f"value has shape {list(array.shape)}",
            )
        if part.is_full(full):
            self._add(key, array)
            return
        whole = self._entries.get(key)
        kind = dtypes.from_numpy(array.dtype).enum
        if whole is None:
            whole = BundleEntryProto(dtype=kind, shape=shapes.to_proto(full))  # type: ignore[arg-type]
        elif not whole.slices or whole.dtype != kind or whole.shape != shapes.to_proto(full):
            raise errors.InvalidArgumentError(
                None, None, f"The slices of tensor {name} are of different tensors"
            )
        self._add(slices.key(key, part), array)
        whole.slices.append(part.to_proto())
        self._entries[key] = whole

    def _add(self, key: bytes, array: np.ndarray[Any, Any], dtype: DType | None = None) -> None:
        if key in self._entries:
            name = key.decode("utf-8", "backslashreplace")
            raise errors.InvalidArgumentError(None, None, f"Adding duplicate key: {name}")
        dtype = dtype or dtypes.from_numpy(array.dtype)
        offset = self._data.size
        with files.reported(self._data.path):
            if dtype is dtypes.variant:
                crc = self._write_variants(array)
            else:
                crc = self._write_strings(array) if dtype is dtypes.string else self._write_numbers(array)
        self._entries[key] = BundleEntryProto(
            dtype=dtype.enum,  # type: ignore[arg-type]
            shape=shapes.to_proto(array.shape),
            offset=offset,
            size=self._data.size - offset,
            crc32c=checksum.mask(crc),
        )

    def _write_numbers(self, array: np.ndarray[Any, Any]) -> int:
        raw = array.reshape(-1).view(np.uint8)
        self._data.write(raw.data)
        return checksum.extend(0, raw)

    def _write_strings(self, array: np.ndarray[Any, Any]) -> int:
        items: list[bytes] = array.reshape(-1).tolist()
        lengths = [len(item) for item in items]
        crc = checksum.extend(0, b"".join(_fixed(n) for n in lengths))
        length_crc = struct.pack("<I", checksum.mask(crc))
        content = b"".join(items)
        self._data.write(b"".join(varint.encode(n) for n in lengths) + length_crc + content)
        return checksum.extend(checksum.extend(crc, length_crc), content)

    def _write_variants(self, array: np.ndarray[Any, Any]) -> int:
        crc = 0
        for message in array.reshape(-1).tolist():
            content: bytes = message.SerializeToString()
            crc = checksum.extend(checksum.extend(crc, struct.pack("<Q", len(content))), content)
            stored = struct.pack("<I", checksum.mask(crc))
            self._data.write(varint.encode(len(content)) + content + stored)
            crc = checksum.extend(crc, stored)
        return crc

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                with files.reported(self._data.path):
                    self._data.complete()
                    write_index(self.prefix, 1, self._entries, [self._data], self._way)
        finally:
            self._data.discard()


def _fixed(length: int) -> bytes:
    return struct.pack("<I" if length <= _UINT32_MAX else "<Q", length)


def write_index(
    prefix: str,
    shards: int,
    entries: dict[bytes, BundleEntryProto],
    data: list[files.NewFile],
    way: Files = LOCAL,
) -> None:
    """Writes the index, then gives it and the completed `data` files their names. Raises OSError."""
    header = BundleHeaderProto(num_shards=shards)
    header.version.producer = VERSION
    items = {key: entry.SerializeToString() for key, entry in entries.items()}
    items[HEADER_KEY] = header.SerializeToString()
    index = files.NewFile(files.index_path(prefix), way)
    try:
        index.write(table.write(sorted(items.items())))
        index.complete()
        # The index is what makes a checkpoint one: it comes last.
        for file in data:
            file.publish()
        index.publish()
    finally:
        index.discard()
