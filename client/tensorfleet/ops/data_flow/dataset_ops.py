"""Signatures of the ops of datasets: TensorSliceDataset, MapDataset, BatchDatasetV2, …, and of iterators."""

from __future__ import annotations

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar, with_rank

_TYPES = ("output_types: list(type) >= 1", "output_shapes: list(shape) >= 1")
_METADATA = 'metadata: string = ""'
_ARGUMENTS = "Targuments: list(type) >= 0"


def _of_numbers(op: RuleNode) -> list[Dims]:
    """Shape rule: a dataset made of scalars, and perhaps of another dataset."""
    for tensor in op.inputs:
        if tensor.dtype is not dtypes.variant:
            with_rank(tensor.dims, 0)
    return [()]


def _dataset(name: str, inputs: str, *attrs: str, stateful: bool = False, numbers: bool = False) -> None:
    """Declares the op of a dataset, whose last attributes are the types and shapes of its elements.

    Args:
        numbers: whether all inputs but datasets must be scalars.
    """
    shape = _of_numbers if numbers else scalar
    op(f"{name}({inputs}) -> (handle: variant)", *attrs, shape=shape, stateful=stateful)


def _elements(op: RuleNode) -> list[Dims]:
    """Shape rule: the shapes of an element in the attribute `output_shapes`."""
    return list(op.attrs["output_shapes"])


# Sources

_dataset(
    "TensorDataset",
    "components: list(Toutput_types)",
    "Toutput_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
    _METADATA,
    stateful=True,
)
_dataset(
    "TensorSliceDataset",
    "components: list(Toutput_types)",
    "Toutput_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
    "is_files: bool = false",
    _METADATA,
    "replicate_on_split: bool = false",
    stateful=True,
)
_dataset(
    "RangeDataset",
    "start: int64, stop: int64, step: int64",
    *_TYPES,
    _METADATA,
    "replicate_on_split: bool = false",
    stateful=True,
    numbers=True,
)
_dataset(
    "GeneratorDataset",
    "init_func_other_args: list(Tinit_func_args), next_func_other_args: list(Tnext_func_args), "
    "finalize_func_other_args: list(Tfinalize_func_args)",
    "init_func: func",
    "next_func: func",
    "finalize_func: func",
    "Tinit_func_args: list(type) >= 0",
    "Tnext_func_args: list(type) >= 0",
    "Tfinalize_func_args: list(type) >= 0",
    *_TYPES,
    _METADATA,
    stateful=True,
)

# Sequences

_INPUT = "input_dataset: variant"
_dataset("RepeatDataset", f"{_INPUT}, count: int64", *_TYPES, _METADATA, numbers=True)
_dataset("TakeDataset", f"{_INPUT}, count: int64", *_TYPES, _METADATA, numbers=True)
_dataset("SkipDataset", f"{_INPUT}, count: int64", *_TYPES, _METADATA, numbers=True)
_dataset(
    "ShardDataset",
    f"{_INPUT}, num_shards: int64, index: int64",
    "require_non_empty: bool = false",
    *_TYPES,
    _METADATA,
    numbers=True,
)
_dataset("ZipDataset", "input_datasets: N * variant", *_TYPES, "N: int >= 1", _METADATA)
_dataset("ConcatenateDataset", f"{_INPUT}, another_dataset: variant", *_TYPES, _METADATA)
_dataset("CacheDataset", f"{_INPUT}, filename: string", *_TYPES, _METADATA)
_dataset(
    "ShuffleDataset",
    f"{_INPUT}, buffer_size: int64, seed: int64, seed2: int64",
    "reshuffle_each_iteration: bool = true",
    *_TYPES,
    _METADATA,
    numbers=True,
)
_dataset(
    "ShuffleAndRepeatDataset",
    f"{_INPUT}, buffer_size: int64, seed: int64, seed2: int64, count: int64",
    *_TYPES,
    "reshuffle_each_iteration: bool = true",
    _METADATA,
    numbers=True,
)
_dataset(
    "PrefetchDataset",
    f"{_INPUT}, buffer_size: int64",
    *_TYPES,
    "slack_period: int = 0",
    "legacy_autotune: bool = true",
    "buffer_size_min: int = 0",
    _METADATA,
    numbers=True,
)
_dataset("OptionsDataset", _INPUT, "serialized_options: string", *_TYPES, _METADATA)
_dataset(
    "ModelDataset",
    _INPUT,
    "algorithm: int = 0",
    "cpu_budget: int = 0",
    "ram_budget: int = 0",
    *_TYPES,
)
_dataset(
    "OptimizeDataset",
    f"{_INPUT}, optimizations: string",
    *_TYPES,
    "optimization_configs: list(string) = []",
)

# Batches

_dataset("BatchDataset", f"{_INPUT}, batch_size: int64", *_TYPES, _METADATA, numbers=True)
_dataset(
    "BatchDatasetV2",
    f"{_INPUT}, batch_size: int64, drop_remainder: bool",
    "parallel_copy: bool = false",
    *_TYPES,
    _METADATA,
    numbers=True,
)
_PADDING = "padded_shapes: N * int64, padding_values: list(Toutput_types)"
_PADDED = ("Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "N: int >= 1", _METADATA)
_dataset("PaddedBatchDataset", f"{_INPUT}, batch_size: int64, {_PADDING}", *_PADDED)
_dataset(
    "PaddedBatchDatasetV2",
    f"{_INPUT}, batch_size: int64, {_PADDING}, drop_remainder: bool",
    "parallel_copy: bool = false",
    *_PADDED,
)

# By functions

_CALL = f"{_INPUT}, other_arguments: list(Targuments)"
_dataset(
    "MapDataset",
    _CALL,
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    "use_inter_op_parallelism: bool = true",
    "preserve_cardinality: bool = false",
    "force_synchronous: bool = false",
    _METADATA,
)
_dataset(
    "ParallelMapDataset",
    f"{_CALL}, num_parallel_calls: int32",
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    "use_inter_op_parallelism: bool = true",
    "sloppy: bool = false",
    "preserve_cardinality: bool = false",
    _METADATA,
)
_dataset(
    "ParallelMapDatasetV2",
    f"{_CALL}, num_parallel_calls: int64",
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    "use_inter_op_parallelism: bool = true",
    'deterministic: string = "default"',
    "preserve_cardinality: bool = false",
    "use_unbounded_threadpool: bool = false",
    _METADATA,
)
_dataset(
    "MapAndBatchDataset",
    f"{_CALL}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    "preserve_cardinality: bool = false",
    _METADATA,
)
_dataset("FilterDataset", _CALL, "predicate: func", _ARGUMENTS, *_TYPES, _METADATA)
_dataset("FlatMapDataset", _CALL, "f: func", _ARGUMENTS, *_TYPES, _METADATA)
_dataset(
    "InterleaveDataset",
    f"{_CALL}, cycle_length: int64, block_length: int64",
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    _METADATA,
)
_dataset(
    "ParallelInterleaveDatasetV2",
    f"{_CALL}, cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    "f: func",
    _ARGUMENTS,
    *_TYPES,
    "sloppy: bool = false",
    _METADATA,
)
_dataset(
    "ParallelInterleaveDatasetV4",
    f"{_CALL}, cycle_length: int64, block_length: int64, buffer_output_elements: int64, "
    "prefetch_input_elements: int64, num_parallel_calls: int64",
    "f: func",
    'deterministic: string = "default"',
    _ARGUMENTS,
    *_TYPES,
    _METADATA,
)

# Iterators

_NAMES = ("shared_name: string", "container: string")
for _name in ("Iterator", "IteratorV2"):
    op(f"{_name}() -> (handle: resource)", *_NAMES, *_TYPES, shape=scalar, stateful=True)
op(
    "OneShotIterator() -> (handle: resource)",
    "dataset_factory: func",
    *_TYPES,
    'container: string = ""',
    'shared_name: string = ""',
    shape=scalar,
    stateful=True,
)
op("MakeIterator(dataset: variant, iterator: resource) -> ()", shape=nothing, stateful=True)
for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    op(
        f"{_name}(iterator: resource) -> (components: list(output_types))",
        *_TYPES,
        shape=_elements,
        stateful=True,
    )
op(
    "IteratorToStringHandle(resource_handle: resource) -> (string_handle: string)",
    shape=scalar,
    stateful=True,
)
op(
    "SerializeIterator(resource_handle: resource) -> (serialized: variant)",
    "external_state_policy: int = 0",
    shape=lambda _: [None],
    stateful=True,
)
op(
    "DeserializeIterator(resource_handle: resource, serialized: variant) -> ()",
    shape=nothing,
    stateful=True,
)
for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    op(
        f"{_name}(string_handle: string) -> (resource_handle: resource)",
        "output_types: list(type) >= 0 = []",
        "output_shapes: list(shape) >= 0 = []",
        shape=scalar,
        stateful=True,
    )
