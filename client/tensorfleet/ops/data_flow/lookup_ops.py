"""The ops of lookup tables."""

from __future__ import annotations

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar

_PLACE = ('container: string = ""', 'shared_name: string = ""', "use_node_name_sharing: bool = false")
_TYPES = ("key_dtype: type", "value_dtype: type")


def _found(op: RuleNode) -> list[Dims]:
    # The table's values may be vectors, which only the default's shape tells.
    keys, default = op.inputs[1].dims, op.inputs[2].dims
    return [keys if default == () else None]


def _exported(op: RuleNode) -> list[Dims]:
    return [None, None]


def _imported(op: RuleNode) -> list[Dims]:
    keys, values = op.inputs[1].dims, op.inputs[2].dims
    if keys is not None and values is not None and keys and values:
        dims_module.merge(keys[:1], values[:1])
    return []


for _name in ("HashTable", "MutableHashTable"):
    op(f"{_name}V2() -> (table_handle: resource)", *_PLACE, *_TYPES, shape=scalar, stateful=True)
op(
    "MutableHashTableOfTensorsV2() -> (table_handle: resource)",
    *_PLACE,
    *_TYPES,
    "value_shape: shape = []",
    shape=scalar,
    stateful=True,
)
op(
    "MutableDenseHashTableV2(empty_key: key_dtype, deleted_key: key_dtype) -> (table_handle: resource)",
    *_PLACE,
    *_TYPES,
    "value_shape: shape = []",
    "initial_num_buckets: int = 131072",
    "max_load_factor: float = 0.8",
    shape=scalar,
    stateful=True,
)
op(
    "LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
    "Tin: type",
    "Tout: type",
    shape=_found,
    stateful=True,
)
op(
    "LookupTableInsertV2(table_handle: resource, keys: Tin, values: Tout) -> ()",
    "Tin: type",
    "Tout: type",
    shape=nothing,
    stateful=True,
)
op(
    "LookupTableRemoveV2(table_handle: resource, keys: Tin) -> ()",
    "Tin: type",
    shape=nothing,
    stateful=True,
)
op(
    "LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout) -> ()",
    "Tin: type",
    "Tout: type",
    shape=_imported,
    stateful=True,
)
op("LookupTableSizeV2(table_handle: resource) -> (size: int64)", shape=scalar, stateful=True)
op(
    "LookupTableExportV2(table_handle: resource) -> (keys: Tkeys, values: Tvalues)",
    "Tkeys: type",
    "Tvalues: type",
    shape=_exported,
    stateful=True,
)
op(
    "InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval) -> ()",
    "Tkey: type",
    "Tval: type",
    shape=_imported,
    stateful=True,
)
op(
    "InitializeTableFromTextFileV2(table_handle: resource, filename: string) -> ()",
    "key_index: int >= -2",
    "value_index: int >= -2",
    "vocab_size: int >= -1 = -1",
    'delimiter: string = "\t"',
    "offset: int = 0",
    shape=nothing,
    stateful=True,
)
