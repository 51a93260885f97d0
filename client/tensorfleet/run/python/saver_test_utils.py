"""`tensorflow.python.training.saver_test_utils`: a table that savers save by an object of its own."""

from __future__ import annotations

from typing import Any

import tensorfleet as tf
from tensorfleet.run.python import generated_ops as gen
from tensorfleet.train.saveables import SaveableObject, SaveSpec


class CheckpointedOp:
    """A mutable table from strings to float32, saved as two tensors, its keys and its values."""

    class CustomSaveable(SaveableObject):
        """What a saver saves and restores of the table."""

        def __init__(self, table: CheckpointedOp, name: str) -> None:
            exported = zip(table._export(), ("keys", "values"), strict=True)
            specs = [SaveSpec(part, "", f"{name}-{of}") for part, of in exported]
            super().__init__(table, specs, name)

        def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
            """The operation that replaces the table's contents."""
            return gen.lookup_table_import_v2(self.op.table_ref, *restored_tensors)

    def __init__(self, name: str, table_ref: Any = None) -> None:
        if table_ref is None:
            table_ref = gen.mutable_hash_table_v2(key_dtype=tf.string, value_dtype=tf.float32, name=name)
        self.table_ref = table_ref
        self.name = name
        self.saveable = self.CustomSaveable(self, name)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, self.saveable)

    def insert(self, keys: Any, values: Any) -> Any:
        """The operation that sets values."""
        return gen.lookup_table_insert_v2(self.table_ref, keys, values)

    def lookup(self, keys: Any, default: Any) -> Any:
        """The values of keys, `default` for those that are not there."""
        return gen.lookup_table_find_v2(self.table_ref, keys, default)

    def keys(self) -> Any:
        """All keys."""
        return self._export()[0]

    def values(self) -> Any:
        """The values, in the order of `keys`."""
        return self._export()[1]

    def _export(self) -> Any:
        return gen.lookup_table_export_v2(self.table_ref, tf.string, tf.float32)
