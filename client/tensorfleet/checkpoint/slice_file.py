"""Checkpoints of the first format: one file, a table of parts of tensors (the ops Save and Restore)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.checkpoint import files, slices, table
from tensorfleet.core import dtypes, errors, shapes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.core.files import LOCAL, Files
from tensorfleet.proto.saved_tensor_slice_pb2 import SavedSliceMeta, SavedTensorSlices

_META_KEY = b""
_VERSION = 1
_MOST_DIMENSIONS = 64  # NumPy's
_MOST_ELEMENTS = 2**63 // 16 - 1  # of the largest type
_WRITTEN = frozenset(
    (
        *(dtypes.bool, dtypes.float32, dtypes.float64, dtypes.float16, dtypes.complex64, dtypes.complex128),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
        *(dtypes.qint8, dtypes.quint8, dtypes.qint32, dtypes.string),
    )
)


def write(path: str, tensors: Iterable[tuple[str, np.ndarray[Any, Any], str]], way: Files = LOCAL) -> None:
    """Writes a file of (name, value, shape_and_slice), the last being empty for whole tensors.

    Raises:
        InvalidArgumentError: a value does not fit its part, or is of a type that the format does not have.
        OpError: of the kind of the operating system's error.
    """
    whole: dict[str, SavedSliceMeta] = {}
    items: dict[bytes, bytes] = {}
    for name, value, spec in tensors:
        dtype = dtypes.from_numpy(value.dtype)
        if dtype not in _WRITTEN:
            text = f"Saving data type {dtype.name} not yet supported"
            raise errors.UnimplementedError(None, None, text)
        full, part = slices.parse(spec) if spec else (value.shape, _all_of(value.ndim))
        if part.shape(full) != value.shape:
            raise _invalid(
                f"Slice in shape_and_slice specification does not match the shape of the tensor to save: "
                f"{spec}, tensor: {list(value.shape)}"
            )
        meta = whole.get(name)
        if meta is None:
            meta = whole[name] = SavedSliceMeta(name=name, shape=shapes.to_proto(full), type=dtype.enum)  # type: ignore[arg-type]
        elif meta.type != dtype.enum or meta.shape != shapes.to_proto(full):
            raise _invalid(f"Mismatching shapes or types: existing tensor {name}, which has other parts")
        entry = SavedTensorSlices()
        entry.data.name = name
        entry.data.slice.CopyFrom(part.to_proto())
        entry.data.data.CopyFrom(tensor_util.elements_proto(value))
        key = slices.key(name.encode(), part)
        if key not in items:
            meta.slice.append(part.to_proto())
        items[key] = entry.SerializeToString()
    head = SavedTensorSlices()
    head.meta.tensor.extend(whole[name] for name in whole)
    head.meta.versions.producer = _VERSION
    items[_META_KEY] = head.SerializeToString()
    with files.reported(path):
        new = files.NewFile(path, way)
        try:
            new.write(table.write(sorted(items.items())))
            new.complete()
            new.publish()
        finally:
            new.discard()


class SliceReader:
    """The parts of tensors in files of the first format, read at once.

    Raises:
        NotFoundError: there is no file.
        DataLossError: a file is damaged, or is of another kind.
        InternalError: the files have different tensors of one name.
    """

    def __init__(self, pattern: str, paths: Sequence[str], way: Files = LOCAL) -> None:
        self.pattern = pattern
        self._meta: dict[str, SavedSliceMeta] = {}
        self._items: dict[bytes, bytes] = {}
        if not paths:
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                f"{pattern}",
            )
        for path in paths:
            try:
                with files.reported(path), way.open_for_read(path) as file:
                    items = table.read(file.read())
                head = SavedTensorSlices.FromString(items.pop(_META_KEY))
            except (table.CorruptTable, DecodeError, KeyError) as e:
                why = "it has no header" if isinstance(e, KeyError) else str(e)
                raise errors.DataLossError(None, None, f"Unable to open table file {path}: {why}") from e
            for meta in head.meta.tensor:
                found = self._meta.setdefault(meta.name, meta)
                if found is meta:
                    continue
                if found.shape != meta.shape or found.type != meta.type:
                    text = f"Incompatible tensor shapes detected for tensor {meta.name} in {pattern}"
                    raise errors.InternalError(None, None, text)
                found.slice.extend(meta.slice)
            self._items |= items

    def names(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._meta)

    def dtype(self, name: str) -> DType:
        """The dtype of a tensor; raises as `read`."""
        try:
            return dtypes.from_enum(self._entry(name).type)
        except TypeError as e:
            raise self._damaged(name, str(e)) from None

    def read(self, name: str, shape_and_slice: str = "") -> np.ndarray[Any, Any]:
        """The value of a tensor, or of a part of it.

        Raises:
            NotFoundError: there is no such tensor, or some of it is not in the files.
            InvalidArgumentError: the part is of a tensor of another shape.
            DataLossError: what is stored of it is damaged.
        """
        meta = self._entry(name)
        full = self._shape(meta)
        part = _all_of(len(full))
        if shape_and_slice:
            wanted, part = slices.parse(shape_and_slice)
            if wanted != full:
                raise _invalid(
                    f"Shape in shape_and_slice spec {list(wanted)} does not match the shape in the save "
                    f"file: {list(full)}, save file path: {self.pattern}"
                )
        result: np.ndarray[Any, Any] = np.empty(full, self.dtype(name).np)
        covered = np.zeros(full, bool)
        for message in meta.slice:
            stored = slices.Slice.from_proto(message)
            if not stored.fits(full):
                raise self._damaged(name, f"a part of it is not inside of the shape {list(full)}")
            if covered[stored.index(full)].any():
                raise self._damaged(name, "parts of it overlap")
            result[stored.index(full)] = self._values(name, stored, stored.shape(full), meta)
            covered[stored.index(full)] = True
        if not covered[part.index(full)].all():
            text = f"The slices of tensor {name} in checkpoint {self.pattern} do not cover all of it"
            raise errors.NotFoundError(None, None, text)
        return np.ascontiguousarray(result[part.index(full)]).reshape(part.shape(full))

    def _entry(self, name: str) -> SavedSliceMeta:
        found = self._meta.get(name)
        if found is None:
            text = f'Tensor name "{name}" not found in checkpoint files {self.pattern}'
            raise errors.NotFoundError(None, None, text)
        return found

    def _values(
        self, name: str, part: slices.Slice, dims: tuple[int, ...], meta: SavedSliceMeta
    ) -> np.ndarray[Any, Any]:
        raw = self._items.get(slices.key(name.encode(), part))
        try:
            if raw is None:
                raise ValueError("a part of it is missing")
            message = SavedTensorSlices.FromString(raw).data.data
            message.dtype = meta.type
            message.tensor_shape.CopyFrom(shapes.to_proto(dims))
            return tensor_util.make_ndarray(message)
        except (DecodeError, ValueError, TypeError) as e:
            raise self._damaged(name, str(e)) from e

    def _shape(self, meta: SavedSliceMeta) -> tuple[int, ...]:
        """The shape of a whole tensor. Raises DataLossError if no array can have it."""
        full = tuple(dim.size for dim in meta.shape.dim)
        if meta.shape.unknown_rank or len(full) > _MOST_DIMENSIONS or min(full, default=0) < 0:
            raise self._damaged(meta.name, f"it has the shape {list(full)}")
        if math.prod(size for size in full if size) > _MOST_ELEMENTS:
            raise self._damaged(meta.name, f"the shape {list(full)} has too many elements")
        return full

    def _damaged(self, name: str, why: str) -> errors.OpError:
        return errors.DataLossError(None, None, f"{self.pattern}: tensor {name} is damaged: {why}")


def _all_of(rank: int) -> slices.Slice:
    return slices.Slice(((0, slices.FULL),) * rank)


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)
