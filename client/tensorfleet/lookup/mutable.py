"""Mutable lookup tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import add_to_collection, colocate_with, name_scope
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.lookup.tables import LookupInterface
from tensorfleet.train.saveables import SaveableObject, SaveSpec


class MutableHashTable(LookupInterface):
    """A mutable table (`tf.contrib.lookup.MutableHashTable`).

    Args:
        key_dtype, value_dtype: the dtypes of keys and of values.
        default_value: the value of missing keys; its shape is that of all values.
        shared_name: the name under which sessions share the table; by default that of its node.
        checkpoint: whether a Saver of all variables also saves the table.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._take_handle(self._create(shared_name, name))
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _TableSaveable(self, name))

    def _create(self, shared_name: str | None, name: str) -> Tensor:
        options: dict[str, Any] = {"shared_name": shared_name or "", "use_node_name_sharing": not shared_name}
        op_type = "MutableHashTableV2"
        if self._default_value.ndim != 0:
            op_type = "MutableHashTableOfTensorsV2"
            options["value_shape"] = self._default_value.shape
        return apply_one(
            op_type, key_dtype=self._key_dtype, value_dtype=self._value_dtype, name=name, **options
        )

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Tensor:
        """The value of each key: keys.shape + the shape of a value.

        Args:
            keys: a tensor of any shape.
            dynamic_default_values: a default for each key, instead of `default_value`.

        Raises:
            TypeError: keys of another dtype than the table's.
        """
        keys = self._check_keys(keys)
        default = self._default_value if dynamic_default_values is None else dynamic_default_values
        values = [self.resource_handle, keys, default]
        with (
            name_scope(name, f"{self.name}_lookup_table_find", values),
            colocate_with(self.resource_handle),
        ):
            return apply_one("LookupTableFindV2", *values)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Sets the values of keys, new or existing ones."""
        keys = self._check_keys(keys)
        with (
            name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle, keys, values]),
            colocate_with(self.resource_handle),
        ):
            values = convert_to_tensor(values, self._value_dtype, name="values")
            made: Operation = apply_op("LookupTableInsertV2", self.resource_handle, keys, values)
            return made

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Removes keys; missing ones are ignored."""
        keys = self._check_keys(keys)
        with (
            name_scope(name, f"{self.name}_lookup_table_remove", [self.resource_handle, keys]),
            colocate_with(self.resource_handle),
        ):
            made: Operation = apply_op("LookupTableRemoveV2", self.resource_handle, keys)
            return made

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values."""
        return self._export(name, f"{self.name}_lookup_table_export_values")


class DenseHashTable(MutableHashTable):
    """A `MutableHashTable` whose keys may be vectors, with two reserved keys
    (`tf.lookup.experimental.DenseHashTable`, `tf.contrib.lookup.MutableDenseHashTable`).

    Args:
        empty_key, deleted_key: two different keys, which may not be used.
        initial_num_buckets: a power of two; otherwise ignored.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        shared_name: str | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        self._reserved = empty_key, deleted_key
        self._buckets = initial_num_buckets
        super().__init__(
            key_dtype,
            value_dtype,
            convert_to_tensor(default_value, dtypes.as_dtype(value_dtype), name="default_value"),
            shared_name,
            name,
            checkpoint,
        )

    def _create(self, shared_name: str | None, name: str) -> Tensor:
        empty, deleted = (
            convert_to_tensor(key, dtype=self._key_dtype, name=what)
            for key, what in zip(self._reserved, ("empty_key", "deleted_key"), strict=True)
        )
        return apply_one(
            "MutableDenseHashTableV2",
            empty,
            deleted,
            shared_name=shared_name or "",
            use_node_name_sharing=not shared_name,
            value_dtype=self._value_dtype,
            value_shape=self._default_value.shape,
            initial_num_buckets=131072 if self._buckets is None else self._buckets,
            name=name,
        )

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """`insert`."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Operation:
        """`remove`."""
        return self.remove(keys, name)


class _TableSaveable(SaveableObject):
    """The keys and the values of a table in a checkpoint."""

    def __init__(self, table: MutableHashTable, name: str) -> None:
        self._table = table
        keys, values = table.export()
        specs = [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")]
        super().__init__(table, specs, name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        handle = self._table.resource_handle
        with name_scope(f"{self.name}_table_restore"), colocate_with(handle):
            return apply_op("LookupTableImportV2", handle, *restored_tensors)
