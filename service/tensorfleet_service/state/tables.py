"""Lookup tables: from keys to values, kept on a task between steps."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dims import format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.piles import Dictionary

Shape = tuple[int, ...]


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


def _array(items: Sequence[Any], dtype: DType, shape: Shape) -> Any:
    """Scalars as an array; of rank 0 as a NumPy scalar."""
    array = np.empty(len(items), dtype.as_numpy_dtype)
    for begin in range(0, len(items), unlocked.LISTED):
        array[begin : begin + unlocked.LISTED] = items[begin : begin + unlocked.LISTED]
    return array.reshape(shape)[()]


def _shown(item: Any) -> str:
    return excerpt(item) if isinstance(item, bytes) else str(item)


class Table:
    """A table that programs change.

    Keys are scalars, or vectors of one size, which are tuples in the dictionary; values are scalars or arrays
    of one shape.

    Attributes:
        name: for errors.
        key_dtype, value_dtype, key_dims, value_dims: of one key, and of one value.
    """

    kind = "MutableHashTable"

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, value_dims: Shape = (), key_dims: Shape = ()
    ) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.key_dims = key_dims
        self.value_dims = value_dims
        self._lock = threading.Lock()
        self._values = Dictionary()

    def __del__(self) -> None:
        self._values.drop()

    def __len__(self) -> int:
        with self._lock:  # while items move within the dictionary, it has fewer
            return len(self._values)

    def read(self) -> Any:
        """The value of a fetched reference to the table: its container and name."""
        return np.array([b"", self.name.encode()], object)

    def check_types(self, key_dtype: DType, value_dtype: DType | None = None) -> None:
        """Raises InvalidArgumentError if an op asks for other dtypes than the table has."""
        if key_dtype is not self.key_dtype or value_dtype not in (None, self.value_dtype):
            wanted = f"{self.key_dtype.name}-{self.value_dtype.name}"
            got = key_dtype.name + ("" if value_dtype is None else f"-{value_dtype.name}")
            raise _invalid(f"Conflicting key/value dtypes {wanted} with {got} for table {self.name}")

    def find(self, keys: Any, default: Any) -> Any:
        """The value of each key; `default`, which is one value or one for each key, where there is none."""
        shape = self._keys_shape(keys)
        items = self._key_items(keys)
        whole = (*shape, *self.value_dims)
        if default.shape not in (self.value_dims, whole):
            raise _invalid(
                f"Expected shape {format_dims(self.value_dims)} or {format_dims(whole)} for default value, "
                f"got {format_dims(default.shape)}"
            )
        with self._lock:
            found = unlocked.Listed()
            for begin in range(0, len(items), unlocked.LISTED):
                found += self._values.get_all(items[begin : begin + unlocked.LISTED])
        if not self.value_dims:
            if default.ndim == 0 or default.shape != whole:
                one = default[()]
                return _array([one if v is None else v for v in found], self.value_dtype, whole)
            several = default.reshape(-1)
            chosen = [several[i] if v is None else v for i, v in enumerate(found)]
            return _array(chosen, self.value_dtype, whole)
        result = np.empty((len(items), *self.value_dims), self.value_dtype.as_numpy_dtype)
        rows = default.reshape((-1, *self.value_dims))
        for i, value in enumerate(found):
            result[i] = (rows[i] if len(rows) == len(items) else rows[0]) if value is None else value
        return result.reshape(whole)

    def insert(self, keys: Any, values: Any) -> None:
        pairs = self._pairs(keys, values)
        with self._lock:
            self._values.update(pairs)

    def remove(self, keys: Any) -> None:
        """Removes keys; those that are not there do no harm."""
        self._keys_shape(keys)
        items = self._key_items(keys)
        with self._lock:
            for item in items:
                self._values.pop(item, None)

    def replace(self, keys: Any, values: Any) -> None:
        """Replaces the table's content by these keys and values."""
        made = Dictionary()
        made.update(self._pairs(keys, values))
        with self._lock:
            made, self._values = self._values, made
        made.drop()

    def export(self) -> tuple[Any, Any]:
        """All keys and values, in no particular order."""
        with self._lock:
            keys, values = self._values.keys(), self._values.values()
        count = len(keys)
        shape = (count, *self.value_dims)
        if self.value_dims:
            exported = np.empty(shape, self.value_dtype.as_numpy_dtype)
            for i, value in enumerate(values):
                exported[i] = value
        else:
            exported = _array(values, self.value_dtype, shape)
        if self.key_dims:
            flat = [part for key in keys for part in key]
            return _array(flat, self.key_dtype, (count, *self.key_dims)), exported
        return _array(keys, self.key_dtype, (count,)), exported

    def _keys_shape(self, keys: Any) -> Shape:
        """The shape of an array of keys without the dimensions of a key."""
        rank = keys.ndim - len(self.key_dims)
        if rank < 0 or keys.shape[rank:] != self.key_dims:
            raise _invalid(
                f"Input key shape must be a suffix of {format_dims(self.key_dims)}, got "
                f"{format_dims(keys.shape)}"
            )
        shape: Shape = keys.shape[:rank]
        return shape

    def _key_items(self, keys: Any) -> list[Any]:
        if not self.key_dims:
            return unlocked.listed(keys)
        rows = keys.reshape(-1, self.key_dims[0])
        found: list[Any] = []
        step = max(unlocked.LISTED // self.key_dims[0], 1)
        for begin in range(0, len(rows), step):
            found += map(tuple, rows[begin : begin + step].tolist())
        return found

    def _pairs(self, keys: Any, values: Any) -> Iterable[tuple[Any, Any]]:
        expected = (*self._keys_shape(keys), *self.value_dims)
        if values.shape != expected:
            raise _invalid(
                f"Expected shape {format_dims(expected)} for value, got {format_dims(values.shape)}"
            )
        if not self.value_dims:
            return zip(self._key_items(keys), unlocked.listed(values), strict=True)
        rows = values.reshape((-1, *self.value_dims)).copy()
        return zip(self._key_items(keys), rows, strict=True)


class DenseTable(Table):
    """A table with two reserved keys, for empty and for deleted entries, which cannot be used."""

    kind = "MutableDenseHashTable"

    def __init__(
        self,
        name: str,
        empty_key: Any,
        deleted_key: Any,
        key_dtype: DType,
        value_dtype: DType,
        value_dims: Shape = (),
    ) -> None:
        super().__init__(name, key_dtype, value_dtype, value_dims, empty_key.shape)
        if empty_key.ndim > 1:
            raise _invalid(
                f"Empty key must be a scalar or a vector, got shape {format_dims(empty_key.shape)}"
            )
        if deleted_key is not None and deleted_key.shape != empty_key.shape:
            raise _invalid(
                f"Empty and deleted keys must have same shape, got shapes: {format_dims(empty_key.shape)} "
                f"and {format_dims(deleted_key.shape)}"
            )
        self._reserved = {super()._key_items(empty_key)[0]: "empty_key"}
        if deleted_key is not None:
            if super()._key_items(deleted_key)[0] in self._reserved:
                raise _invalid("Empty and deleted keys cannot be equal")
            self._reserved[super()._key_items(deleted_key)[0]] = "deleted_key"

    def _key_items(self, keys: Any) -> list[Any]:
        items = super()._key_items(keys)
        for item in items:
            if item in self._reserved:
                raise _invalid(f"Using the {self._reserved[item]} as a table key is not allowed")
        return items


class StaticTable(Table):
    """A table that is initialized once."""

    kind = "HashTable"

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType) -> None:
        super().__init__(name, key_dtype, value_dtype)
        self._is_initialized = False

    def find(self, keys: Any, default: Any) -> Any:
        if not self._is_initialized:
            raise errors.FailedPreconditionError(None, None, "Table not initialized.")
        return super().find(keys, default)

    def export(self) -> tuple[Any, Any]:
        if not self._is_initialized:
            raise errors.FailedPreconditionError(None, None, "Table is not initialized.")
        return super().export()

    def insert(self, keys: Any, values: Any) -> None:
        raise errors.UnimplementedError(None, None, "HashTable does not support insert")

    def remove(self, keys: Any) -> None:
        raise errors.UnimplementedError(None, None, "HashTable does not support remove")

    def replace(self, keys: Any, values: Any) -> None:
        self.initialize(self._pairs(keys, values))

    def initialize(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Sets the table's content; doing so again with the same content has no effect.

        Raises:
            FailedPreconditionError: a key has two values, or the table has another content.
        """
        made = Dictionary()
        for key, value in pairs:
            before = made.setdefault(key, value)
            if before != value:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {_shown(key)} has {_shown(before)} and "
                    f"trying to add value {_shown(value)}",
                )
        with self._lock:
            if not self._is_initialized:
                self._values = made
                self._is_initialized = True
            elif not self._values.same(made):
                raise errors.FailedPreconditionError(
                    None, None, "Table was already initialized with different data."
                )


KEY_TYPES = (dtypes.string, dtypes.int32, dtypes.int64)
VALUE_TYPES = (
    *(dtypes.string, dtypes.bool, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64),
    *(dtypes.float16, dtypes.bfloat16, dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16),
)
