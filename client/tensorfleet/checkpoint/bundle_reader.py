"""Reading checkpoints, with all checksums verified."""

from __future__ import annotations

import math
import os
import struct
from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.checkpoint import checksum, files, slices, table, varint
from tensorfleet.checkpoint.bundle_writer import HEADER_KEY, VERSION
from tensorfleet.core import dtypes, errors, shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.files import LOCAL, Files
from tensorfleet.proto.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto
from tensorfleet.proto.tensor_pb2 import VariantTensorDataProto


class BundleReader:
    """A checkpoint, open for reading; a context manager that closes its files.

    Args:
        prefix: its name.
        way: opens its files.

    Attributes:
        entries: what the index has for each tensor, whole tensors only, sorted by name.
        shards: the number of data files.

    Raises:
        NotFoundError: there is no checkpoint of that name.
        DataLossError: the index is damaged.
    """

    def __init__(self, prefix: str, way: Files = LOCAL) -> None:
        self.prefix = prefix
        self._way = way
        path = files.index_path(prefix)
        try:
            with files.reported(path), way.open_for_read(path) as file:
                items = table.read(file.read())
            header = BundleHeaderProto.FromString(items.pop(HEADER_KEY))
            self._entries = {key: BundleEntryProto.FromString(value) for key, value in items.items()}
        except errors.NotFoundError as e:
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                f"{prefix}: {e.message}",
            ) from e
        except (table.CorruptTable, DecodeError, KeyError) as e:
            why = "it has no header" if isinstance(e, KeyError) else str(e)
            raise errors.DataLossError(None, None, f"Unable to read file ({path}): {why}") from e
        if header.endianness != BundleHeaderProto.LITTLE or header.version.min_consumer > VERSION:
            raise errors.UnimplementedError(
                None, None, f"{path}: big-endian checkpoints and versions after {VERSION} cannot be read"
            )
        self.shards: int = header.num_shards
        self.entries: dict[str, BundleEntryProto] = {
            key.decode("utf-8", "surrogateescape"): entry
            for key, entry in self._entries.items()
            if not key.startswith(b"\0")
        }
        self._files: dict[int, BinaryIO] = {}
        self._stack = ExitStack()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return _dims(self._entry(name))

    def dtype(self, name: str) -> DType:
        """The dtype of a tensor."""
        return dtypes.as_dtype(self._entry(name).dtype)

    def read(self, name: str, shape_and_slice: str = "") -> np.ndarray[Any, Any]:
        """The value of a tensor, or of a part of it.

        Raises:
            NotFoundError: there is no such tensor, or some of it is not in the checkpoint.
            InvalidArgumentError: the part is of a tensor of another shape.
            DataLossError: its data are damaged or cut off.
        """
        entry = self._entry(name)
        full = _dims(entry)
        if not shape_and_slice:
            return self._whole(name, entry, full)
        wanted, part = slices.parse(shape_and_slice)
        if wanted != full:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tensor_name = {name}; shape in shape_and_slice spec {_text(wanted)} does not match the "
                f"shape stored in checkpoint: {_text(full)} (in {self.prefix})",
            )
        key = slices.key(_key(name), part)
        if key in self._entries:
            return self._values(f"{name} {shape_and_slice}", self._entries[key])
        return np.ascontiguousarray(self._whole(name, entry, full)[part.index(full)])

    def _entry(self, name: str) -> BundleEntryProto:
        entry = self.entries.get(name)
        if entry is None:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}")
        return entry

    def _whole(self, name: str, entry: BundleEntryProto, full: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if not entry.slices:
            return self._values(name, entry)
        result: np.ndarray[Any, Any] = np.empty(full, dtypes.as_dtype(entry.dtype).np)
        covered = np.zeros(full, bool)
        for message in entry.slices:
            part = slices.Slice.from_proto(message)
            stored = self._entries.get(slices.key(_key(name), part))
            if stored is None:
                raise errors.DataLossError(
                    None, None, f"{files.index_path(self.prefix)}: a slice of tensor {name} is missing"
                )
            if covered[part.index(full)].any():
                raise errors.DataLossError(
                    None, None, f"{files.index_path(self.prefix)}: slices of tensor {name} overlap"
                )
            result[part.index(full)] = self._values(name, stored)
            covered[part.index(full)] = True
        if not covered.all():
            raise errors.NotFoundError(
                None, None, f"The slices of tensor {name} in checkpoint {self.prefix} do not cover all of it"
            )
        return result

    def _values(self, name: str, entry: BundleEntryProto) -> np.ndarray[Any, Any]:
        path = files.data_path(self.prefix, entry.shard_id, self.shards)
        dtype, dims = dtypes.as_dtype(entry.dtype), _dims(entry)
        if dtype is dtypes.variant:
            raw = self._bytes(name, entry, path)
            return _variants(raw, math.prod(dims), entry, f"{path}: tensor {name}").reshape(dims)
        if dtype.np is None:
            raise errors.UnimplementedError(
                None, None, f"{path}: tensor {name} is of type {dtype.name}, which cannot be read"
            )
        raw = self._bytes(name, entry, path)
        if dtype is dtypes.string:
            return _strings(raw, math.prod(dims), dims, entry, f"{path}: tensor {name}")
        if len(raw) != math.prod(dims) * dtype.np.itemsize:
            raise errors.DataLossError(
                None,
                None,
                f"{path}: tensor {name} has {len(raw)} bytes, but its shape {_text(dims)} and type "
                f"{dtype.name} take another number",
            )
        _verify(checksum.masked(raw), entry, f"{path}: tensor {name}")
        return raw.view(dtype.np).reshape(dims)

    def _bytes(self, name: str, entry: BundleEntryProto, path: str) -> np.ndarray[Any, Any]:
        with files.reported(path):
            file = self._files.get(entry.shard_id)
            if file is None:
                file = self._files[entry.shard_id] = self._way.open_for_read(path)
                self._stack.callback(file.close)
            if entry.offset + entry.size > os.fstat(file.fileno()).st_size:
                raise errors.DataLossError(
                    None, None, f"{path} is truncated: tensor {name} ends at byte {entry.offset + entry.size}"
                )
            raw = np.empty(entry.size, np.uint8)
            file.seek(entry.offset)
            rest = raw.data
            while len(rest):
                count = file.readinto(rest)  # type: ignore[attr-defined]
                if not count:
                    raise errors.DataLossError(None, None, f"{path} ends inside of tensor {name}")
                rest = rest[count:]
        return raw

    def close(self) -> None:
        """Closes the files."""
        self._files.clear()
        self._stack.close()

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _strings(
    raw: np.ndarray[Any, Any], count: int, dims: tuple[int, ...], entry: BundleEntryProto, what: str
) -> np.ndarray[Any, Any]:
    """The strings out of their lengths, the checksum of these, and their bytes."""
    data = raw.tobytes()
    position, lengths = 0, []
    try:
        for _ in range(count):
            length, position = varint.decode(data, position)
            lengths.append(length)
        crc = checksum.extend(
            0, b"".join(struct.pack("<I" if length < 1 << 32 else "<Q", length) for length in lengths)
        )
        stored = data[position : position + 4]
        if struct.unpack("<I", stored)[0] != checksum.mask(crc):
            raise ValueError("the checksum of its lengths does not match")
        position += 4
        if position + sum(lengths) != len(data):
            raise ValueError("its lengths do not add up")
    except (ValueError, struct.error) as e:
        raise errors.DataLossError(None, None, f"{what} is damaged: {e}") from e
    content = data[position:]
    _verify(checksum.mask(checksum.extend(checksum.extend(crc, stored), content)), entry, what)
    result = np.empty(count, object)
    start = 0
    for i, length in enumerate(lengths):
        result[i] = content[start : start + length]
        start += length
    return result.reshape(dims)


def _variants(
    raw: np.ndarray[Any, Any], count: int, entry: BundleEntryProto, what: str
) -> np.ndarray[Any, Any]:
    """The messages of variants, each with its length and the checksum of all up to it."""
    data, position, crc = raw.tobytes(), 0, 0
    found: list[VariantTensorDataProto] = []
    try:
        for _ in range(count):
            length, start = varint.decode(data, position)
            end = start + length
            crc = checksum.extend(checksum.extend(crc, struct.pack("<Q", length)), data[start:end])
            stored = data[end : end + 4]
            if struct.unpack("<I", stored)[0] != checksum.mask(crc):
                raise ValueError("a checksum in it does not match")
            found.append(VariantTensorDataProto.FromString(data[start:end]))
            crc = checksum.extend(crc, stored)
            position = end + 4
    except (ValueError, struct.error, DecodeError) as e:
        raise errors.DataLossError(None, None, f"{what} is damaged: {e}") from e
    _verify(checksum.mask(crc), entry, what)
    result = np.empty(count, object)
    result[:] = found
    return result


def _verify(calculated: int, entry: BundleEntryProto, what: str) -> None:
    if calculated != entry.crc32c:
        raise errors.DataLossError(
            None, None, f"{what}: Checksum does not match: stored {entry.crc32c} vs. calculated {calculated}"
        )


def _dims(entry: BundleEntryProto) -> tuple[int, ...]:
    return tuple(shapes.from_proto(entry.shape) or ())  # type: ignore[arg-type]


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _text(dims: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, dims))}]"
