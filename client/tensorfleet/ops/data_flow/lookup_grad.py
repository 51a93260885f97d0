"""The op types of `lookup_ops` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable(
    "HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2"
)
not_differentiable("InitializeTableV2", "InitializeTableFromTextFileV2")
not_differentiable("LookupTableFindV2", "LookupTableInsertV2", "LookupTableSizeV2")
no_rule("LookupTableExportV2", "LookupTableImportV2", "LookupTableRemoveV2")
