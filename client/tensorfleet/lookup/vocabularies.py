"""Tables from words to ids and back, with hash buckets for words that are not in the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.lookup.tables import (
    InitializableLookupTableBase,
    KeyValueTensorInitializer,
    LookupInterface,
    StaticHashTable,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as range_
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import size
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.math.arithmetic import add
from tensorfleet.ops.math.comparison import not_equal
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.text.hashing import string_to_hash_bucket_fast, string_to_hash_bucket_strong
from tensorfleet.ops.text.strings import as_string


class HasherSpec(NamedTuple):
    """The hash for strings that are not in the vocabulary (`tf.contrib.lookup.HasherSpec`)."""

    hasher: str
    key: Sequence[int] | None


FastHashSpec = HasherSpec("fasthash", None)


def StrongHashSpec(key: Sequence[int]) -> HasherSpec:
    """SipHash with a secret key of two integers (`tf.contrib.lookup.StrongHashSpec`)."""
    if len(key) != 2:
        raise ValueError(f"`key` must be a list of two integers, received {key}")
    if not all(isinstance(part, (int, np.integer)) and part >= 0 for part in key):
        raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
    return HasherSpec("stronghash", list(key))


class IdTableWithHashBuckets(LookupInterface):
    """A table of ids, with ids of hash buckets for all other keys
    (`tf.contrib.lookup.IdTableWithHashBuckets`).

    Args:
        table: a table to int64, or None for buckets alone.
        num_oov_buckets: the number of buckets.
    """

    def __init__(
        self,
        table: InitializableLookupTableBase | None,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
        if table is not None and table.value_dtype is not dtypes.int64:
            raise TypeError(f"Invalid `value_dtype`, expected int64, received {table.value_dtype.name}")
        key_dtype = dtypes.as_dtype(key_dtype or (table.key_dtype if table is not None else dtypes.string))
        if not (key_dtype is dtypes.string or key_dtype.is_integer):
            raise TypeError(f"Invalid `key_dtype`, expected an integer or string, received {key_dtype.name}")
        super().__init__(key_dtype, dtypes.int64)
        self._table = table
        self._num_oov_buckets = num_oov_buckets
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        self._hasher_spec = hasher_spec
        if name is not None:
            self._name = name.split("/")[-1]
        else:
            self._name = table.name if table is not None else "hash_bucket"

    @property
    def resource_handle(self) -> Tensor:
        """The vocabulary's handle."""
        if self._table is None:
            raise ValueError("A table with buckets alone has no handle")
        return self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that fills the vocabulary; `tf.tables_initializer` runs those of all tables."""
        if self._table is not None:
            return self._table.initializer
        made: Operation = apply_op("NoOp", name="init")
        return made

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys and buckets: int64 []."""
        with name_scope(name, f"{self.name}_Size"):
            known = self._table.size() if self._table is not None else constant(0, dtypes.int64)
            return known + self._num_oov_buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The id of each key, int64 in the shape of `keys`; of sparse and ragged keys by element."""
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, name))
        keys = self._check_keys(keys)
        if self._num_oov_buckets == 0:
            assert self._table is not None
            return self._table.lookup(keys, name=name)
        known = keys
        if self._table is not None and self._table.key_dtype is dtypes.int64 and keys.dtype.is_integer:
            known = cast(keys, dtypes.int64)  # a vocabulary of integers is kept as int64
        with name_scope(name, f"{self.name}_Lookup"):
            text = keys if keys.dtype.base is dtypes.string else as_string(keys)
            buckets = self._hash(text)
            if self._table is None:
                return buckets
            ids = self._table.lookup(known)
            buckets = add(buckets, self._table.size())
            return where_v2(not_equal(ids, self._table.default_value), ids, buckets)

    def _hash(self, text: Tensor) -> Tensor:
        spec = self._hasher_spec
        if spec.hasher == "fasthash":
            return string_to_hash_bucket_fast(text, self._num_oov_buckets, name="hash_bucket")
        if spec.hasher == "stronghash" and spec.key is not None:
            return string_to_hash_bucket_strong(text, self._num_oov_buckets, spec.key, name="hash_bucket")
        raise ValueError(f"Unknown hasher {spec.hasher}")


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table from a vocabulary to ids, with buckets for other words (`tf.lookup.StaticVocabularyTable`).

    Args:
        initializer: the initializer of the vocabulary, string or integer to int64; None for buckets alone.
        num_oov_buckets: the number of buckets, whose ids follow those of the vocabulary.
        lookup_key_dtype: the dtype of keys, by default string.
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0.")
        table = None if initializer is None else StaticHashTable(initializer, default_value=-1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


def _ids(count: Tensor) -> Tensor:
    ids: Tensor = cast(range_(count), dtypes.int64)
    return ids


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """A table from each word of a vector to its index (`tf.contrib.lookup.index_table_from_tensor`).

    Args:
        mapping: the vocabulary, a vector of strings or integers.
        num_oov_buckets: the number of buckets for other words; 0 if these get `default_value`.
        dtype: the dtype of keys.
    """
    if mapping is None:
        raise ValueError("`vocabulary_list` must be specified.")
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {num_oov_buckets}")
    key_dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != key_dtype.is_integer:
            kind = "integer" if key_dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype!r}.")
        if not key_dtype.is_integer and keys.dtype.base != key_dtype:
            raise ValueError(f"Expected {key_dtype!r}, got {keys.dtype!r}.")
        ids = _ids(size(keys))
        with name_scope(None, "hash_table"):
            keys = cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            init = KeyValueTensorInitializer(keys, ids, keys.dtype.base, dtypes.int64, "table_init")
            table = StaticHashTable(init, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def _with_buckets(table: StaticHashTable, count: int, spec: HasherSpec, key_dtype: DType) -> Any:
    if not count:
        return table
    return IdTableWithHashBuckets(table, count, spec, key_dtype=key_dtype)


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """A table from each word of a file to its line number (`tf.contrib.lookup.index_table_from_file`).

    The table's task reads the file. The arguments are those of `index_table_from_tensor` and of
    `TextFileInitializer`.
    """
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    dtype = dtypes.as_dtype(key_dtype)
    with name_scope(name, "string_to_index"), name_scope(None, "hash_table"):
        init = TextFileIdTableInitializer(
            vocabulary_file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
            dtypes.int64 if dtype.is_integer else dtype,
        )
        table = StaticHashTable(init, default_value)
    return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """A table from the indices of a vector of strings to the strings
    (`tf.contrib.lookup.index_to_string_table_from_tensor`)."""
    if mapping is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with name_scope(name, "index_to_string"):
        values = convert_to_tensor(mapping, dtypes.string)
        keys = _ids(size(values))
        init = KeyValueTensorInitializer(keys, values, dtypes.int64, dtypes.string, "table_init")
        return StaticHashTable(init, default_value)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """A table from line numbers to lines of a file (`tf.contrib.lookup.index_to_string_table_from_file`)."""
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    with name_scope(name, "index_to_string"):
        init = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return StaticHashTable(init, default_value)


def string_to_index(tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None) -> Any:
    """The indices of strings in `mapping` (`tf.contrib.lookup.string_to_index`)."""
    table = index_table_from_tensor(mapping, default_value=default_value)
    return table.lookup(tensor, name=name)


def index_to_string(tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None) -> Any:
    """The strings of `mapping` at the given indices (`tf.contrib.lookup.index_to_string`)."""
    return index_to_string_table_from_tensor(mapping, default_value).lookup(tensor, name=name)
