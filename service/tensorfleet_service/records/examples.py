"""Arrays of the features of serialized Examples: dense, sparse and ragged ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dims import Dims, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import excerpt
from tensorfleet.proto.example_pb2 import Example
from tensorfleet_service.records.columns import Column, find
from tensorfleet_service.records.spans import BYTES, FLOATS, INTS, MISSING, Scanner

KINDS = {dtypes.string: BYTES, dtypes.float32: FLOATS, dtypes.int64: INTS}
"""The kind of the values of each dtype."""

_TYPE_NAMES = {BYTES: "string", FLOATS: "float", INTS: "int64"}
_UNKNOWN = "<unknown>"


class Dense(NamedTuple):
    """A feature that is an array of one shape in each Example; the first dimension may vary (None)."""

    key: bytes
    dtype: DType
    dims: tuple[int | None, ...]

    @property
    def varies(self) -> bool:
        return bool(self.dims) and self.dims[0] is None

    @property
    def stride(self) -> int:
        """The number of elements in one step along a varying first dimension, or in the whole feature."""
        return math.prod(d or 0 for d in (self.dims[1:] if self.varies else self.dims))


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def dense_feature(key: bytes, dtype: DType, dims: Dims) -> Dense:
    """A dense feature. Raises InvalidArgumentError if more than the first dimension is unknown."""
    if dims is None or any(d is None for d in dims[1:]):
        text = f"dense_shapes of {_text(key)} may be unknown in the first dimension only: {format_dims(dims)}"
        raise invalid(text)
    return Dense(key, dtype, tuple(dims))


def _text(key: bytes) -> str:
    return excerpt(key)


class Batch:
    """Several serialized Examples, or one alone.

    Raises:
        InvalidArgumentError: one is no Example.
    """

    def __init__(self, scanner: Scanner, items: list[bytes], names: Sequence[bytes], single: bool) -> None:
        self._names = names
        self._count = len(items)
        self.single = single
        try:
            self._found = find(scanner, items)
        except ValueError as e:
            number = e.args[0]
            value = excerpt(items[number][:100])
            raise invalid(f"{self._of(number)}Could not parse example input, value: '{value}'") from None

    def __len__(self) -> int:
        return self._count

    def fill(self) -> None:
        """Writes the values of all features; until then, the arrays have their shapes alone."""
        self._found.fill()

    def _of(self, number: int, key: bytes | None = None) -> str:
        """The beginning of a message about an Example."""
        if self.single:
            return "" if key is None else f"Key: {_text(key)}.  "
        name = _text(self._names[number]) if self._names else _UNKNOWN
        return f"Name: {name}, " + ("" if key is None else f"Key: {_text(key)}, Index: {number}.  ")

    def column(self, place: int, key: bytes, dtype: DType, dense: bool) -> Column:
        """The values of a feature.

        Args:
            place: its index among the scanner's keys.

        Raises:
            InvalidArgumentError: an Example has it with another type.
        """
        wanted = KINDS[dtype]
        if not self._found.kinds(place) <= {MISSING, wanted}:
            raise self._other_type(place, key, dtype, dense)
        try:
            return self._found.column(place, wanted)
        except ValueError as e:
            raise invalid(f"Key: {_text(key)}.  Can't parse serialized Example: {e}") from None

    def _kinds(self, place: int) -> list[int]:
        return [self._found.kind(number, place) for number in range(self._count)]

    def _other_type(self, place: int, key: bytes, dtype: DType, dense: bool) -> errors.InvalidArgumentError:
        wrong = [kind not in (MISSING, KINDS[dtype]) for kind in self._kinds(place)]
        number = wrong.index(True)
        found, wanted = _TYPE_NAMES[self._found.kind(number, place)], _TYPE_NAMES[KINDS[dtype]]
        text = (
            f"Data type: {found} but expected type: {wanted}"
            if dense
            else f"Expected type: {wanted}, Actual type: {found}"
        )
        return invalid(f"{self._of(number, key)}Data types don't match. {text}")

    def dense(self, place: int, feature: Dense, default: Any) -> np.ndarray[Any, Any]:
        """A dense feature: [Examples, …].

        Args:
            default: the value for Examples that lack it; without elements: it is required.

        Raises:
            InvalidArgumentError: an Example lacks it, or has it with another type or size.
        """
        column = self.column(place, feature.key, feature.dtype, True)
        if feature.varies:
            return self._varying(column, feature, default)
        return self._fixed(column, feature, default, place)

    def _fixed(self, column: Column, feature: Dense, default: Any, place: int) -> np.ndarray[Any, Any]:
        size, dims = feature.stride, feature.dims
        count = self._count
        if column.longest == size and column.total == size * count and size:
            return column.values().reshape(count, *dims)
        lacks = np.array(self._kinds(place), np.int64) == MISSING
        if lacks.any() and not default.size and size:
            name = _TYPE_NAMES[KINDS[feature.dtype]]
            raise invalid(
                f"{self._of(int(lacks.argmax()))}Feature: {_text(feature.key)} (data type: {name}) is "
                "required but could not be found."
            )
        wrong = (column.counts != size) & ~lacks
        if wrong.any():
            number = int(wrong.argmax())
            raise self._other_size(number, feature, int(column.counts[number]))
        return column.rows(size, default.reshape(-1)).reshape(count, *dims)

    def _other_size(self, number: int, feature: Dense, got: int) -> errors.InvalidArgumentError:
        name = _TYPE_NAMES[KINDS[feature.dtype]]
        start = self._of(number, feature.key)
        if self.single:
            kind = "bytes" if name == "string" else name
            return invalid(f"{start}Can't parse serialized Example: Some {kind}_list slice was not parsed.")
        kind = "bytes" if name == "string" else name
        return invalid(
            f"{start}Number of {kind} values != expected.  Values size: {got} but output shape: "
            f"[{','.join(map(str, feature.dims))}]"
        )

    def _varying(self, column: Column, feature: Dense, default: Any) -> np.ndarray[Any, Any]:
        stride = feature.stride
        if stride > 1 and (wrong := column.counts % stride).any():
            number = int((wrong != 0).argmax())
            raise self._other_stride(number, feature, int(column.counts[number]))
        steps = column.longest // stride if stride else 0
        fill: Any = b"" if feature.dtype is dtypes.string else 0
        rows = column.rows(column.longest, default.reshape(-1)[0] if default.size else fill)
        return rows.reshape(self._count, steps, *feature.dims[1:])

    def _other_stride(self, number: int, feature: Dense, got: int) -> errors.InvalidArgumentError:
        key = _text(feature.key)
        if self.single:
            return invalid(
                f"Error while parsing feature with key {key}: number of elements should be divisible by "
                f"{feature.stride}, found {got} instead"
            )
        name = _TYPE_NAMES[KINDS[feature.dtype]]
        kind = "bytes" if name == "string" else name
        return invalid(
            f"{self._of(number, feature.key)}Number of {kind} values is not a multiple of stride length. Saw "
            f"{got} values but output shape is: [?,{','.join(map(str, feature.dims[1:]))}]"
        )

    def sparse(self, place: int, key: bytes, dtype: DType) -> tuple[Any, Any, list[int]]:
        """The indices, values and sizes of a SparseTensor: of rank 2, or of rank 1 for a single Example."""
        column = self.column(place, key, dtype, False)
        if self.single:
            total = column.total
            return np.arange(total, dtype=np.int64)[:, None], column.values(), [total]
        values, indices = column.values_and_indices()
        return indices, values, [self._count, column.longest]

    def ragged(self, place: int, key: bytes, dtype: DType, split_type: DType) -> tuple[Any, Any]:
        """The values and the row splits of a RaggedTensor; a single Example has no splits."""
        column = self.column(place, key, dtype, False)
        splits = np.zeros(0 if self.single else self._count + 1, split_type.np)
        if not self.single:
            np.cumsum(column.counts, out=splits[1:])
        return column.values(), splits


class ExampleParser:
    """Makes arrays of the features of Examples.

    Args:
        sparse: (name, dtype) of the features that become SparseTensors.
        dense: the features that become arrays.
        ragged: (name, dtype, dtype of the splits) of those that become RaggedTensors.
    """

    def __init__(
        self,
        sparse: Sequence[tuple[bytes, DType]],
        dense: Sequence[Dense],
        ragged: Sequence[tuple[bytes, DType, DType]] = (),
    ) -> None:
        self._sparse = sparse
        self._dense = dense
        self._ragged = ragged
        names = [*(key for key, _ in sparse), *(f.key for f in dense), *(key for key, _, _ in ragged)]
        keys = list(dict.fromkeys(names))
        self._places = {key: i for i, key in enumerate(keys)}
        self._scanner = Scanner(keys, Example)

    def parse(
        self, items: list[bytes], names: Sequence[bytes], defaults: Sequence[Any], single: bool
    ) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any], list[Any]]:
        """(indices, values and shapes of sparse features, dense features, values and splits of ragged ones).

        Args:
            items: serialized Examples; one if `single`.
            names: of the Examples, for messages; may be empty.
            defaults: an array for each dense feature, for Examples that lack it.

        Raises:
            InvalidArgumentError: one is no Example, lacks a feature, or has it with another type or size.
        """
        batch = Batch(self._scanner, items, names, single)
        places = self._places
        sparse = [batch.sparse(places[key], key, dtype) for key, dtype in self._sparse]
        dense = [
            batch.dense(places[feature.key], feature, default)
            for feature, default in zip(self._dense, defaults, strict=True)
        ]
        ragged = [batch.ragged(places[key], key, dtype, split) for key, dtype, split in self._ragged]
        batch.fill()
        if single:
            dense = [made[0] for made in dense]
        indices, values, sizes = ([part[i] for part in sparse] for i in range(3))
        shapes = list(np.array(sizes, np.int64))
        return indices, values, shapes, dense, [part[0] for part in ragged], [part[1] for part in ragged]
