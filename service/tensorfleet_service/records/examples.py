"""Arrays of the features of serialized Examples: dense, sparse and ragged ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dims import Dims, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.proto.example_pb2 import Example
from tensorfleet_service.records.spans import (
    BYTES,
    FLOATS,
    INTS,
    MANY_BYTES,
    MISSING,
    Scanner,
    Spans,
    floats,
    integers,
    strings,
)

_KIND = {dtypes.string: BYTES, dtypes.float32: FLOATS, dtypes.int64: INTS}
_TYPE_NAMES = {BYTES: "string", MANY_BYTES: "string", FLOATS: "float", INTS: "int64"}
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


class Column(NamedTuple):
    """The values of one feature in several Examples, one after the other, and how many each of these has."""

    values: np.ndarray[Any, Any]
    counts: list[int]
    missing: list[int]
    """The Examples that lack the feature, whose counts are zero."""


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def dense_feature(key: bytes, dtype: DType, dims: Dims) -> Dense:
    """Raises InvalidArgumentError: the shape says too little."""
    if dims is None or any(d is None for d in dims[1:]):
        text = f"dense_shapes of {_text(key)} may be unknown in the first dimension only: {format_dims(dims)}"
        raise invalid(text)
    return Dense(key, dtype, tuple(dims))


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")


class Batch:
    """Several serialized Examples, or one alone.

    Raises:
        InvalidArgumentError: one is no Example.
    """

    def __init__(self, scanner: Scanner, items: list[bytes], names: Sequence[bytes], single: bool) -> None:
        self._names = names
        self.single = single
        try:
            self._items, self._spans = scanner.scan(items)
        except ValueError as e:
            number = e.args[0]
            value = items[number][:100].decode("utf-8", "backslashreplace")
            raise invalid(f"{self._of(number)}Could not parse example input, value: '{value}'") from None

    def __len__(self) -> int:
        return len(self._items)

    def _of(self, number: int, key: bytes | None = None) -> str:
        """The beginning of a message about an Example."""
        if self.single:
            return "" if key is None else f"Key: {_text(key)}.  "
        name = _text(self._names[number]) if self._names else _UNKNOWN
        return f"Name: {name}, " + ("" if key is None else f"Key: {_text(key)}, Index: {number}.  ")

    def column(self, place: int, key: bytes, dtype: DType, dense: bool) -> Column:
        """The values of a feature.

        Args:
            place: its number among the scanner's keys.

        Raises:
            InvalidArgumentError: an Example has it with another type.
        """
        at = 3 * place
        wanted = _KIND[dtype]
        spans = self._spans
        kinds = {span[at] for span in spans}
        allowed = (MISSING, BYTES, MANY_BYTES) if wanted == BYTES else (MISSING, wanted)
        if not kinds.issubset(allowed):
            raise self._other_type(at, key, dtype, allowed, dense)
        missing = [i for i, span in enumerate(spans) if not span[at]] if MISSING in kinds else []
        start, end = at + 1, at + 2
        pieces = [item[span[start] : span[end]] for item, span in zip(self._items, spans, strict=True)]
        if wanted == FLOATS:
            return Column(*floats(pieces), missing)
        if wanted == INTS:
            try:
                return Column(*integers(pieces), missing)
            except ValueError as e:
                raise invalid(f"Key: {_text(key)}.  Can't parse serialized Example: {e}") from None
        return Column(*_strings(pieces, spans, at, kinds), missing)

    def _other_type(
        self, at: int, key: bytes, dtype: DType, allowed: tuple[int, ...], dense: bool
    ) -> errors.InvalidArgumentError:
        number, span = next((i, span) for i, span in enumerate(self._spans) if span[at] not in allowed)
        found, wanted = _TYPE_NAMES[span[at]], _TYPE_NAMES[_KIND[dtype]]
        text = (
            f"Data type: {found} but expected type: {wanted}"
            if dense
            else f"Expected type: {wanted}, Actual type: {found}"
        )
        return invalid(f"{self._of(number, key)}Data types don't match. {text}")

    def dense(self, place: int, feature: Dense, default: Any) -> np.ndarray[Any, Any]:
        """A dense feature: [Examples, …], or […] of one alone.

        Args:
            default: what Examples have that lack it; without elements: none may.

        Raises:
            InvalidArgumentError: an Example lacks it, or has it with another type or size.
        """
        column = self.column(place, feature.key, feature.dtype, True)
        made = (
            self._varying(column, feature, default)
            if feature.varies
            else self._fixed(column, feature, default)
        )
        return made[0] if self.single else made

    def _fixed(self, column: Column, feature: Dense, default: Any) -> np.ndarray[Any, Any]:
        values, counts, missing = column
        size, dims = feature.stride, feature.dims
        if missing and not default.size and size:
            name = _TYPE_NAMES[_KIND[feature.dtype]]
            raise invalid(
                f"{self._of(missing[0])}Feature: {_text(feature.key)} (data type: {name}) is required but "
                "could not be found."
            )
        count = len(counts)
        if len(values) == size * count and counts.count(size) == count:
            return values.reshape(count, *dims)
        lacks = set(missing)
        for number, got in enumerate(counts):
            if got != size and number not in lacks:
                raise self._other_size(number, feature, got)
        result = np.empty((count, size), values.dtype)
        present = [i for i in range(count) if i not in lacks]
        result[present] = values.reshape(-1, size)
        result[missing] = default.reshape(-1)
        return result.reshape(count, *dims)

    def _other_size(self, number: int, feature: Dense, got: int) -> errors.InvalidArgumentError:
        name = _TYPE_NAMES[_KIND[feature.dtype]]
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
        values, counts, _ = column
        stride = feature.stride
        for number, got in enumerate(counts):
            if stride and got % stride:
                raise self._other_stride(number, feature, got)
        longest = max(counts, default=0)
        count = len(counts)
        steps = longest // stride if stride else 0
        shape = (count, steps, *feature.dims[1:])
        if len(values) == longest * count:
            return values.reshape(shape)
        result = np.empty((count, longest), values.dtype)
        result[...] = default.reshape(-1)[0] if default.size else (b"" if values.dtype == object else 0)
        place = np.arange(longest) < np.array(counts)[:, None]
        result[place] = values
        return result.reshape(shape)

    def _other_stride(self, number: int, feature: Dense, got: int) -> errors.InvalidArgumentError:
        key = _text(feature.key)
        if self.single:
            return invalid(
                f"Error while parsing feature with key {key}: number of elements should be divisible by "
                f"{feature.stride}, found {got} instead"
            )
        name = _TYPE_NAMES[_KIND[feature.dtype]]
        kind = "bytes" if name == "string" else name
        return invalid(
            f"{self._of(number, feature.key)}Number of {kind} values is not a multiple of stride length. Saw "
            f"{got} values but output shape is: [?,{','.join(map(str, feature.dims[1:]))}]"
        )

    def sparse(self, place: int, key: bytes, dtype: DType) -> tuple[Any, Any, Any]:
        """The indices, values and shape of a SparseTensor: of rank 2, or 1 of one Example alone."""
        values, counts, _ = self.column(place, key, dtype, False)
        if self.single:
            return (
                np.arange(len(values), dtype=np.int64)[:, None],
                values,
                np.array([len(values)], np.int64),
            )
        indices = np.empty((len(values), 2), np.int64)
        fill_places(indices, counts)
        return indices, values, np.array([len(counts), max(counts, default=0)], np.int64)

    def ragged(self, place: int, key: bytes, dtype: DType, split_type: DType) -> tuple[Any, Any]:
        """The values and the row splits of a RaggedTensor; of one Example alone without splits."""
        values, counts, _ = self.column(place, key, dtype, False)
        splits = np.zeros(0 if self.single else len(counts) + 1, split_type.np)
        if not self.single:
            np.cumsum(counts, out=splits[1:])
        return values, splits


def fill_places(indices: np.ndarray[Any, Any], counts: Sequence[int]) -> None:
    """Writes (row, place in the row) of elements of which each row has so many."""
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    starts = np.cumsum([0, *counts[:-1]]) if len(counts) else np.zeros(0, np.int64)
    indices[:, -2] = rows
    indices[:, -1] = np.arange(len(rows), dtype=np.int64) - starts[rows]


def object_array(items: Sequence[bytes]) -> np.ndarray[Any, Any]:
    """A vector of strings."""
    result = np.empty(len(items), object)
    result[:] = items
    return result


def _strings(
    pieces: list[bytes], spans: list[Spans], at: int, kinds: set[int]
) -> tuple[np.ndarray[Any, Any], list[int]]:
    if kinds == {BYTES}:
        return object_array(pieces), [1] * len(pieces)
    values: list[bytes] = []
    counts = []
    for piece, span in zip(pieces, spans, strict=True):
        kind = span[at]
        found = [piece] if kind == BYTES else strings(piece) if kind == MANY_BYTES else []
        values += found
        counts.append(len(found))
    return object_array(values), counts


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
            items: serialized Examples; one, where it is `single`.
            names: of the Examples, for messages; may be none.
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
        indices, values, shapes = ([part[i] for part in sparse] for i in range(3))
        return indices, values, shapes, dense, [part[0] for part in ragged], [part[1] for part in ragged]
