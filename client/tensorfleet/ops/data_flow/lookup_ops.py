"""The ops of lookup tables, by resource and, in their older forms, by reference."""

from __future__ import annotations

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar

_PLACE = ('container: string = ""', 'shared_name: string = ""', "use_node_name_sharing: bool = false")
_TYPES = ("key_dtype: type", "value_dtype: type")


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


def _found(op: RuleNode) -> list[Dims]:
    if op.inputs[0].dtype.is_ref:
        return [None]
    # The table's values may be vectors, which only the default's shape tells.
    keys, default = op.inputs[1].dims, op.inputs[2].dims
    return [keys if default == () else None]


def _exported(op: RuleNode) -> list[Dims]:
    return [(None,) if op.inputs[0].dtype.is_ref else None, None]


def _imported(op: RuleNode) -> list[Dims]:
    keys, values = op.inputs[1].dims, op.inputs[2].dims
    if keys is not None and values is not None and keys and values:
        dims_module.merge(keys[:1], values[:1])
    return []


_KEYS = ("Tin: type", "Tout: type")

for _suffix, _handle, _rule in (("V2", "resource", scalar), ("", "Ref(string)", _pair)):
    for _name in ("HashTable", "MutableHashTable"):
        op(f"{_name}{_suffix}() -> (table_handle: {_handle})", *_PLACE, *_TYPES, shape=_rule, stateful=True)
    op(
        f"MutableHashTableOfTensors{_suffix}() -> (table_handle: {_handle})",
        *_PLACE,
        *_TYPES,
        "value_shape: shape = []",
        shape=_rule,
        stateful=True,
    )
    _deleted = ", deleted_key: key_dtype" if _suffix else ""
    op(
        f"MutableDenseHashTable{_suffix}(empty_key: key_dtype{_deleted}) -> (table_handle: {_handle})",
        *_PLACE,
        *_TYPES,
        "value_shape: shape = []",
        "initial_num_buckets: int = 131072",
        "max_load_factor: float = 0.8",
        shape=_rule,
        stateful=True,
    )
    # The older forms are not declared stateful, as they take a reference.
    _stateful = _suffix == "V2"
    op(
        f"LookupTableFind{_suffix}(table_handle: {_handle}, keys: Tin, default_value: Tout) -> "
        "(values: Tout)",
        *_KEYS,
        shape=_found,
        stateful=_stateful,
    )
    op(
        f"LookupTableInsert{_suffix}(table_handle: {_handle}, keys: Tin, values: Tout) -> ()",
        *_KEYS,
        shape=nothing,
        stateful=_stateful,
    )
    op(
        f"LookupTableImport{_suffix}(table_handle: {_handle}, keys: Tin, values: Tout) -> ()",
        *_KEYS,
        shape=_imported,
        stateful=_stateful,
    )
    op(
        f"LookupTableSize{_suffix}(table_handle: {_handle}) -> (size: int64)",
        shape=scalar,
        stateful=_stateful,
    )
    op(
        f"LookupTableExport{_suffix}(table_handle: {_handle}) -> (keys: Tkeys, values: Tvalues)",
        "Tkeys: type",
        "Tvalues: type",
        shape=_exported,
        stateful=_stateful,
    )
    op(
        f"InitializeTable{_suffix}(table_handle: {_handle}, keys: Tkey, values: Tval) -> ()",
        "Tkey: type",
        "Tval: type",
        shape=_imported,
        stateful=_stateful,
    )
    op(
        f"InitializeTableFromTextFile{_suffix}(table_handle: {_handle}, filename: string) -> ()",
        "key_index: int >= -2",
        "value_index: int >= -2",
        "vocab_size: int >= -1 = -1",
        'delimiter: string = "\t"',
        "offset: int = 0",
        shape=nothing,
        stateful=_stateful,
    )
op(
    "LookupTableRemoveV2(table_handle: resource, keys: Tin) -> ()",
    "Tin: type",
    shape=nothing,
    stateful=True,
)
