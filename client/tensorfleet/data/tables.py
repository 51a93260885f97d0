"""Lookup tables that datasets fill: `tf.data.experimental.table_from_dataset`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.type_specs import TensorSpec
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.transformations import assert_cardinality
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.framework import add_to_collection, name_scope
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.lookup.tables import LookupInterface, StaticHashTable, TableInitializerBase
from tensorfleet.lookup.vocabularies import FastHashSpec, HasherSpec, IdTableWithHashBuckets
from tensorfleet.ops.array.casting import cast


def _check_pairs(spec: Any) -> None:
    """Raises ValueError or TypeError unless elements are pairs of scalars."""
    if not isinstance(spec, tuple):
        raise TypeError(f"A table takes a dataset of pairs of key and value; its elements are {spec}.")
    if len(spec) != 2:
        raise ValueError(f"A table takes a dataset of pairs of key and value; its elements are {spec}.")
    if not all(isinstance(part, TensorSpec) for part in spec):
        raise TypeError(f"A table takes a dataset of pairs of tensors; its elements are {spec}.")
    for part in spec:
        if part.shape.rank not in (None, 0):
            raise ValueError(f"A table takes a dataset of pairs of scalars; its elements are {spec}.")


class DatasetInitializer(TableInitializerBase):
    """Fills a table with the pairs of key and value that a dataset has
    (`tf.data.experimental.DatasetInitializer`).

    Args:
        dataset: a dataset of pairs of scalars.

    Raises:
        ValueError, TypeError: the elements are not pairs of scalars.
    """

    def __init__(self, dataset: Dataset) -> None:
        _check_pairs(dataset.element_spec)
        self.dataset = dataset
        super().__init__(*(spec.dtype for spec in dataset.element_spec))

    def initialize(self, table: LookupInterface) -> Operation:
        """The operation that fills a table.

        Raises:
            TypeError: the table has other dtypes.
        """
        self._check(table)
        made: Operation = apply_op(
            "InitializeTableFromDataset", table.resource_handle, self.dataset._variant_tensor
        )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: Any = None,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """A table with the pairs of key and value of a dataset (`tf.data.experimental.table_from_dataset`).

    Args:
        dataset: a dataset of pairs of scalars.
        num_oov_buckets: the number of buckets for other keys; 0 if these get `default_value`.
        vocab_size: the number of pairs that the dataset has at least, and of which the table gets the first.
        default_value: the value of other keys, -1 by default.
        key_dtype: the dtype of the keys that are looked up.

    Raises:
        ValueError, TypeError: the elements are not pairs of scalars, or an argument cannot be.
    """
    _check_pairs(dataset.element_spec)
    value_dtype = dataset.element_spec[1].dtype
    if default_value is None:
        default_value = -1
        if not (value_dtype.is_integer or value_dtype.is_floating):
            raise ValueError(
                "`default_value` must be specified when creating a table from a dataset that produces values "
                f"of type {value_dtype}."
            )
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater than or equal to 0, got {num_oov_buckets}.")
    if vocab_size is not None and not isinstance(vocab_size, Tensor) and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    key_dtype = dtypes.as_dtype(key_dtype)
    if not key_dtype.is_integer and key_dtype.base is not dtypes.string:
        raise TypeError(f"`key_dtype` must be either an integer or string type, but got {key_dtype}")
    if vocab_size is not None:
        if isinstance(vocab_size, Tensor):
            vocab_size = cast(vocab_size, dtypes.int64)
        dataset = dataset.take(vocab_size).apply(assert_cardinality(vocab_size))
    with name_scope(name, "string_to_index"):
        initializer = DatasetInitializer(dataset)
        with name_scope(None, "hash_table"):
            table = StaticHashTable(initializer, default_value)
            if not num_oov_buckets:
                return table
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype)


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """A table from each element of a dataset to its index (`tf.data.experimental.index_table_from_dataset`).

    The arguments are those of `table_from_dataset`; the dataset has scalars.
    """
    pairs = dataset.enumerate().map(lambda index, key: (key, index))
    return table_from_dataset(pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name)
