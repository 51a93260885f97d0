"""Signatures of the ops of datasets of files, and of those that select, group and split elements."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar, with_rank_at_most

_TYPES = ("output_types: list(type) >= 1", "output_shapes: list(shape) >= 1")
_METADATA = 'metadata: string = ""'
_ARGUMENTS = "Targuments: list(type) >= 0"
_INPUT = "input_dataset: variant"
_CALL = f"{_INPUT}, other_arguments: list(Targuments)"


def _dataset(name: str, inputs: str, *attrs: str, stateful: bool = False, shape: Any = scalar) -> None:
    op(f"{name}({inputs}) -> (handle: variant)", *attrs, shape=shape, stateful=stateful)


def _elements(op: RuleNode) -> list[Dims]:
    return list(op.attrs["output_shapes"])


# Files


def _of_files(op: RuleNode) -> list[Dims]:
    with_rank_at_most(op.inputs[0].dims, 1)
    for tensor in op.inputs[1:]:
        with_rank_at_most(tensor.dims, 1)
    return [()]


_NAMES = "filenames: string"
_COMPRESSION = "compression_type: string"
_BUFFER = "buffer_size: int64"
for _name in ("TFRecordDataset", "TextLineDataset"):
    _dataset(_name, f"{_NAMES}, {_COMPRESSION}, {_BUFFER}", _METADATA, stateful=True, shape=_of_files)
_dataset(
    "TFRecordDatasetV2",
    f"{_NAMES}, {_COMPRESSION}, {_BUFFER}, byte_offsets: int64",
    _METADATA,
    stateful=True,
    shape=_of_files,
)
_SIZES = f"{_NAMES}, header_bytes: int64, record_bytes: int64, footer_bytes: int64, {_BUFFER}"
_dataset("FixedLengthRecordDataset", _SIZES, _METADATA, stateful=True, shape=_of_files)
_dataset("FixedLengthRecordDatasetV2", f"{_SIZES}, {_COMPRESSION}", _METADATA, stateful=True, shape=_of_files)
_CSV = (
    f"{_NAMES}, {_COMPRESSION}, {_BUFFER}, header: bool, field_delim: string, use_quote_delim: bool, "
    "na_value: string, select_cols: int64, record_defaults: list(output_types)"
)
_CSV_TYPES = (
    "output_types: list({float32, float64, int32, int64, string}) >= 1",
    "output_shapes: list(shape) >= 1",
)
for _name in ("CSVDataset", "ExperimentalCSVDataset"):
    _dataset(_name, _CSV, *_CSV_TYPES, stateful=True, shape=_of_files)
_dataset("CSVDatasetV2", f"{_CSV}, exclude_cols: int64", *_CSV_TYPES, stateful=True, shape=_of_files)
_dataset("MatchingFilesDataset", "patterns: string", stateful=True)

# Selecting, grouping and splitting elements

_dataset("UnbatchDataset", _INPUT, *_TYPES, _METADATA)
_dataset("UniqueDataset", _INPUT, *_TYPES, _METADATA)
for _name in ("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"):
    _dataset(_name, _INPUT, *_TYPES, "log_warning: bool = false")
_dataset("TakeWhileDataset", _CALL, "predicate: func", _ARGUMENTS, *_TYPES, _METADATA)
_dataset(
    "ScanDataset",
    f"{_INPUT}, initial_state: list(Tstate), other_arguments: list(Targuments)",
    "f: func",
    "Tstate: list(type) >= 1",
    _ARGUMENTS,
    *_TYPES,
    "preserve_cardinality: bool = false",
    "use_default_device: bool = true",
    _METADATA,
)
_dataset(
    "GroupByWindowDataset",
    f"{_INPUT}, key_func_other_arguments: list(Tkey_func_other_arguments), "
    "reduce_func_other_arguments: list(Treduce_func_other_arguments), "
    "window_size_func_other_arguments: list(Twindow_size_func_other_arguments)",
    *("key_func: func", "reduce_func: func", "window_size_func: func"),
    "Tkey_func_other_arguments: list(type) >= 0",
    "Treduce_func_other_arguments: list(type) >= 0",
    "Twindow_size_func_other_arguments: list(type) >= 0",
    *_TYPES,
    _METADATA,
)
_dataset(
    "GroupByReducerDataset",
    f"{_INPUT}, key_func_other_arguments: list(Tkey_func_other_arguments), "
    "init_func_other_arguments: list(Tinit_func_other_arguments), "
    "reduce_func_other_arguments: list(Treduce_func_other_arguments), "
    "finalize_func_other_arguments: list(Tfinalize_func_other_arguments)",
    *("key_func: func", "init_func: func", "reduce_func: func", "finalize_func: func"),
    "Tkey_func_other_arguments: list(type) >= 0",
    "Tinit_func_other_arguments: list(type) >= 0",
    "Treduce_func_other_arguments: list(type) >= 0",
    "Tfinalize_func_other_arguments: list(type) >= 0",
    *_TYPES,
    stateful=True,
)
_dataset(
    "WindowDataset",
    f"{_INPUT}, size: int64, shift: int64, stride: int64, drop_remainder: bool",
    *_TYPES,
    _METADATA,
)
_dataset("RebatchDatasetV2", f"{_INPUT}, batch_sizes: int64, drop_remainder: bool", *_TYPES)
_dataset(
    "SparseTensorSliceDataset",
    "indices: int64, values: Tvalues, dense_shape: int64",
    "Tvalues: type",
    stateful=True,
)
_dataset("DenseToSparseBatchDataset", f"{_INPUT}, batch_size: int64, row_shape: int64", *_TYPES)
_dataset(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N * variant",
    *_TYPES,
    "N: int >= 1",
    "stop_on_empty_dataset: bool = false",
)
_dataset(
    "ParallelInterleaveDataset",
    f"{_CALL}, cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, "
    "prefetch_input_elements: int64",
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    _METADATA,
)
_dataset("RandomDataset", "seed: int64, seed2: int64", *_TYPES, _METADATA, stateful=True)
_dataset("AssertCardinalityDataset", f"{_INPUT}, cardinality: int64", *_TYPES)

# Properties of a whole dataset

op(
    f"DatasetCardinality({_INPUT}) -> (cardinality: int64)",
    'cardinality_options: string = ""',
    shape=scalar,
)
op(
    "DatasetToSingleElement(dataset: variant) -> (components: list(output_types))",
    *_TYPES,
    _METADATA,
    shape=_elements,
    stateful=True,
)
op(
    "InitializeTableFromDataset(table_handle: resource, dataset: variant) -> ()",
    shape=nothing,
    stateful=True,
)
op(
    "DatasetToTFRecord(input_dataset: variant, filename: string, compression_type: string) -> ()",
    shape=nothing,
    stateful=True,
)
op(
    f"ReduceDataset({_INPUT}, initial_state: list(Tstate), other_arguments: list(Targuments)) -> "
    "(components: list(output_types))",
    "f: func",
    "Tstate: list(type) >= 1",
    _ARGUMENTS,
    *_TYPES,
    "use_inter_op_parallelism: bool = true",
    _METADATA,
    shape=_elements,
    stateful=True,
)

for _name in ("SqlDataset", "ExperimentalSqlDataset"):
    _dataset(_name, "driver_name: string, data_source_name: string, query: string", *_TYPES, stateful=True)
