"""Lookup tables, their initializers, and tables that do not change after initialization.

A table is kept on the task of its handle's device; sessions on that task share tables of the same name.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import add_to_collection, colocate_with, name_scope
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor


class LookupInterface:
    """The base class of tables in the graph (`tf.contrib.lookup.LookupInterface`)."""

    lookup: Callable[..., Any]

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)
        self._handle: Tensor | None = None
        self._name = ""

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The last part of its handle's name."""
        return self._name

    @property
    def resource_handle(self) -> Tensor:
        """The table's handle."""
        assert self._handle is not None
        return self._handle

    def _take_handle(self, handle: Tensor) -> None:
        self._handle = handle
        self._name = handle.op.name.split("/")[-1]

    def _check_keys(self, keys: Any) -> Tensor:
        """Raises TypeError if keys have another dtype than the table's."""
        keys = convert_to_tensor(
            keys, dtype=None if isinstance(keys, Tensor) else self._key_dtype, name="keys"
        )
        if keys.dtype.base is not self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype!r}, received: {keys.dtype.base!r}"
            )
        assert isinstance(keys, Tensor)
        return keys

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys in the table: int64 []."""
        with (
            name_scope(name, f"{self.name}_Size", [self.resource_handle]),
            colocate_with(self.resource_handle),
        ):
            return apply_one("LookupTableSizeV2", self.resource_handle)

    def __getitem__(self, keys: Any) -> Any:
        """The value of each key, as `lookup` gives it."""
        return self.lookup(keys)

    def _export(self, scope: str | None, default: str) -> tuple[Tensor, Tensor]:
        with name_scope(scope, default, [self.resource_handle]), colocate_with(self.resource_handle):
            keys, values = apply_op(
                "LookupTableExportV2", self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
            return keys, values


class TextFileIndex:
    """Special columns of text files: the whole line and its number (`tf.lookup.TextFileIndex`)."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializerBase:
    """The base class of `tf.lookup` initializers, which make the operation that fills a table."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def _shared_name(self) -> str:
        """A name for the table that is the same for the same content."""
        return f"hash_table_{uuid.uuid4()}"

    def initialize(self, table: LookupInterface) -> Operation:
        """The operation that fills a table."""
        raise NotImplementedError

    def _check(self, table: LookupInterface) -> None:
        """Raises TypeError if the table has other dtypes."""
        if (table.key_dtype, table.value_dtype) != (self.key_dtype, self.value_dtype):
            raise TypeError(
                f"Invalid dtypes for table {table.name}: it maps {table.key_dtype.name} to "
                f"{table.value_dtype.name}, its initializer {self.key_dtype.name} to {self.value_dtype.name}"
            )


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table from two tensors (`tf.lookup.KeyValueTensorInitializer`).

    Args:
        keys, values: vectors of one size.
        key_dtype, value_dtype: by default those of the tensors.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
        self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype.base, self._values.dtype.base)

    def initialize(self, table: LookupInterface) -> Operation:
        """The operation that fills a table.

        Raises:
            TypeError: the table has other dtypes.
        """
        self._check(table)
        with name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            made: Operation = apply_op("LookupTableImportV2", table.resource_handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class TextFileInitializer(TableInitializerBase):
    """Fills a table from a text file on its task, a line for each key (`tf.lookup.TextFileInitializer`).

    Args:
        filename: the file, which is added to the collection `tf.GraphKeys.ASSET_FILEPATHS`.
        key_dtype, key_index, value_dtype, value_index: the dtypes and columns of keys and values; a column
            is an index or one of `TextFileIndex`.
        vocab_size: the number of lines to read, by default all.
        delimiter: the character between columns.
        value_index_offset: a number that is added to values that are line numbers.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (
            ("key", key_index, self.key_dtype),
            ("value", value_index, self.value_dtype),
        ):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"Invalid `{what}_index`: {index}. `{what}_index` should be >= -2")
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(
                    f"`{what}_dtype` must be int64 if `{what}_index` is "
                    f"{TextFileIndex.LINE_NUMBER}; received {dtype!r}"
                )
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is dtypes.string):
                raise ValueError(
                    f"`{what}_dtype` should be an integer or string for `{what}_index` "
                    f"{TextFileIndex.WHOLE_LINE}; received {dtype!r}"
                )
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0; got {vocab_size}")
        if key_index == value_index:
            raise ValueError(f"`key_index` and `value_index` are both {key_index}")
        self._file = filename if isinstance(filename, str) else str(filename)
        self._filename = convert_to_tensor(filename, dtypes.string, name="asset_path")
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = name if name is not None else "text_file_init"
        self._offset = value_index_offset

    @property
    def _shared_name(self) -> str:
        parts = ["hash_table", self._file, self._vocab_size, self._key_index, self._value_index]
        if self._offset:
            parts.append(self._offset)
        return "_".join(str(part) for part in parts if part is not None)

    def initialize(self, table: LookupInterface) -> Operation:
        """The operation that fills a table.

        Raises:
            TypeError: the table has other dtypes.
        """
        self._check(table)
        with name_scope(self._name, values=(table.resource_handle,)):
            made: Operation = apply_op(
                "InitializeTableFromTextFileV2",
                table.resource_handle,
                self._filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        return made


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from lines, or a column, to int64 (`tf.contrib.lookup.TextFileIdTableInitializer`)."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            *(filename, key_dtype, key_column_index, dtypes.int64, value_column_index),
            *(vocab_size, delimiter, name),
        )


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from int64 to lines, or a column (`tf.contrib.lookup.TextFileStringTableInitializer`)."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            *(filename, dtypes.int64, key_column_index, dtypes.string, value_column_index),
            *(vocab_size, delimiter, name),
        )


class InitializableLookupTableBase(LookupInterface):
    """A table that an initializer fills once (`tf.contrib.lookup.InitializableLookupTableBase`)."""

    def __init__(self, default_value: Any, initializer: TableInitializerBase) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        if self._default_value.ndim not in (None, 0):
            raise ValueError(f"`default_value` must be a scalar, got shape {self._default_value.shape}")
        self._initializer = initializer
        self._take_handle(self._create())
        self._init_op = initializer.initialize(self)

    def _create(self) -> Tensor:
        raise NotImplementedError

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not in the table."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table; `tf.tables_initializer` runs those of all tables."""
        return self._init_op

    @property
    def init(self) -> Operation:
        """The older name of `initializer`."""
        return self._init_op

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The value of each key, in the shape of `keys`, with `default_value` for missing keys.

        For a SparseTensor or a RaggedTensor it is the values of its elements.

        Raises:
            TypeError: keys of another dtype than the table's.
        """
        if isinstance(keys, SparseTensor):
            return keys.with_values(self.lookup(keys.values, name))
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values, name))
        keys = self._check_keys(keys)
        values = [self.resource_handle, keys, self._default_value]
        with name_scope(name, f"{self.name}_Lookup", values):
            found = apply_one("LookupTableFindV2", *values)
        found.set_shape(keys.shape)
        return found


class StaticHashTable(InitializableLookupTableBase):
    """A table that does not change once it is initialized (`tf.lookup.StaticHashTable`).

    Args:
        initializer: the initializer that fills the table.
        default_value: the value of missing keys.
        name: the name of the table's handle.

    Example:
        >>> words = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], [7, 8])
        >>> table = tf.lookup.StaticHashTable(words, -1)
        >>> found = table.lookup(tf.constant(["lake", "palmer"]))
        >>> with tf.Session() as session:
        ...     session.run(tf.tables_initializer())
        ...     session.run(found)
        array([ 8, -1], dtype=int32)
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: Any, name: str | None = None
    ) -> None:
        self._own_name = name or "hash_table"
        self._shared = initializer._shared_name
        super().__init__(default_value, initializer)

    def _create(self) -> Tensor:
        return apply_one(
            "HashTableV2",
            shared_name=self._shared,
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            name=self._own_name,
        )

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values."""
        return self._export(name, f"{self.name}_Export")


class HashTable(StaticHashTable):
    """A `StaticHashTable` that sessions may share by a given name (`tf.contrib.lookup.HashTable`)."""

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self._own_name = name or "hash_table"
        self._shared = shared_name or initializer._shared_name
        InitializableLookupTableBase.__init__(self, default_value, initializer)
