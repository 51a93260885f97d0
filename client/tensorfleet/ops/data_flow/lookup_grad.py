"""The op types of `lookup_ops` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

for _suffix in ("V2", ""):
    for _name in ("HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"):
        not_differentiable(f"{_name}{_suffix}")
    not_differentiable(f"InitializeTable{_suffix}", f"InitializeTableFromTextFile{_suffix}")
    not_differentiable(
        f"LookupTableFind{_suffix}", f"LookupTableInsert{_suffix}", f"LookupTableSize{_suffix}"
    )
    no_rule(f"LookupTableExport{_suffix}", f"LookupTableImport{_suffix}")
no_rule("LookupTableRemoveV2")
