"""`tf.contrib.lookup`: tables from keys to values."""

import typing as _typing

from tensorfleet.lookup.mutable import (
    DenseHashTable as MutableDenseHashTable,
    MutableHashTable as MutableHashTable,
)
from tensorfleet.lookup.tables import (
    HashTable as HashTable,
    InitializableLookupTableBase as InitializableLookupTableBase,
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    LookupInterface as LookupInterface,
    TableInitializerBase as TableInitializerBase,
    TextFileIdTableInitializer as TextFileIdTableInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
    TextFileStringTableInitializer as TextFileStringTableInitializer,
)
from tensorfleet.lookup.vocabularies import (
    FastHashSpec as FastHashSpec,
    HasherSpec as HasherSpec,
    IdTableWithHashBuckets as IdTableWithHashBuckets,
    StrongHashSpec as StrongHashSpec,
    index_table_from_file as index_table_from_file,
    index_table_from_file as string_to_index_table_from_file,
    index_table_from_tensor as index_table_from_tensor,
    index_table_from_tensor as string_to_index_table_from_tensor,
    index_to_string as index_to_string,
    index_to_string_table_from_file as index_to_string_table_from_file,
    index_to_string_table_from_tensor as index_to_string_table_from_tensor,
    string_to_index as string_to_index,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "InitializableLookupTableBase",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TableInitializerBase",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]
