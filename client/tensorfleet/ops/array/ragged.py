"""Ragged tensors by their parts: where rows begin and end, and the values of all rows in one tensor."""

from __future__ import annotations

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.ops.shape_rules import with_rank, with_rank_at_least

_SPLITS = "Tsplits: {int32, int64} = int64"
_COUNTS = "T: {int32, int64, float32, float64}"
_COUNTED = (
    "minlength: int >= -1 = -1",
    "maxlength: int >= -1 = -1",
    "binary_output: bool",
    "output_type: {int32, int64, float32, float64}",
)
_SPARSE = "(output_indices: int64, output_values: output_type, output_dense_shape: int64)"


def _range(op: RuleNode) -> list[Dims]:
    count: int | None = None
    for tensor in op.inputs:
        if tensor.dims is not None and len(tensor.dims) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(tensor.dims)}")
    vectors = [tensor.dims[0] for tensor in op.inputs if tensor.dims]
    if all(tensor.dims == () for tensor in op.inputs):
        return [(2,), (None,)]
    for size in vectors:
        if size is not None:
            if count is not None and count != size:
                raise ValueError(f"Dimensions must be equal, but are {count} and {size}")
            count = size
    return [(None if count is None else count + 1,), (None,)]


def _gathered(op: RuleNode) -> list[Dims]:
    values = with_rank_at_least(op.inputs[-2].dims, 1)
    indices = with_rank_at_least(op.inputs[-1].dims, 0)
    for tensor in op.inputs[: op.attrs["PARAMS_RAGGED_RANK"]]:
        with_rank(tensor.dims, 1)
    if indices is not None:
        expected = len(indices) + op.attrs["PARAMS_RAGGED_RANK"] - 1
        if op.attrs["OUTPUT_RAGGED_RANK"] != expected:
            raise ValueError(f"OUTPUT_RAGGED_RANK must be {expected}, got {op.attrs['OUTPUT_RAGGED_RANK']}")
    splits: list[Dims] = [(None,)] * op.attrs["OUTPUT_RAGGED_RANK"]
    return [*splits, None if values is None else (None, *values[1:])]


def _to_sparse(op: RuleNode) -> list[Dims]:
    *splits, values = op.inputs
    for tensor in splits:
        with_rank(tensor.dims, 1)
    dims = with_rank_at_least(values.dims, 1)
    rank = None if dims is None else len(splits) + len(dims)
    count = dims_module.num_elements(dims)
    return [(count, rank), (count,), (rank,)]


def _to_tensor(op: RuleNode) -> list[Dims]:
    shape, values = op.inputs[0], with_rank_at_least(op.inputs[1].dims, 1)
    kinds = op.attrs["row_partition_types"]
    ragged_rank = sum(kind != b"FIRST_DIM_SIZE" for kind in kinds)
    asked: Dims = None if shape.dims == () else static_dims(shape)
    made: Dims = None
    if values is not None:
        made = (None, *(None,) * ragged_rank, *values[1:])
    if asked is None or made is None:
        return [made if asked is None else asked]
    if len(asked) != len(made):
        raise ValueError(f"Shapes must be equal rank, but are {len(asked)} and {len(made)}")
    return [tuple(b if a is None else a for a, b in zip(asked, made, strict=True))]


def _filled(op: RuleNode) -> list[Dims]:
    rows, values = with_rank(op.inputs[0].dims, 1), with_rank(op.inputs[1].dims, 1)
    dims_module.merge(rows, values)
    with_rank(op.inputs[2].dims, 0)
    with_rank(op.inputs[3].dims, 0)
    return [(None,), (None,), (None,), rows]


def _filled_grad(op: RuleNode) -> list[Dims]:
    return [with_rank(op.inputs[0].dims, 1), ()]


def _bincount(op: RuleNode) -> list[Dims]:
    size = static_value(op.inputs[2 if op.type == "RaggedBincount" else 3])
    width = None if size is None else int(size)
    if size is not None and size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    if op.type == "RaggedBincount":
        return [None]
    rank = op.inputs[2].dims
    if rank is None or rank[0] is None:
        return [None]
    if rank[0] == 1:
        return [(width,)]
    shape = static_dims(op.inputs[2])
    return [(None if shape is None else shape[0], width)]


def _counted(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims if op.type.startswith("Dense") else (None, None)
    if op.type.startswith("Sparse"):
        shape = op.inputs[2].dims
        rank = None if shape is None else shape[0]
    elif op.type.startswith("Dense"):
        rank = None if dims is None else len(dims)
    else:
        rank = 2
    return [(None, rank), (None,), (rank,)]


def _to_variant(op: RuleNode) -> list[Dims]:
    if not op.attrs["batched_input"]:
        return [()]
    first = op.inputs[0].dims
    if first is None:
        return [(None,)]
    size = first[0]
    return [(size if size is None or op.attrs["RAGGED_RANK"] == 0 else size - 1,)]


def _from_variant(op: RuleNode) -> list[Dims]:
    return [*[(None,)] * op.attrs["output_ragged_rank"], None]


op(
    "RaggedRange(starts: T, limits: T, deltas: T) -> (rt_nested_splits: Tsplits, rt_dense_values: T)",
    "T: {bfloat16, float32, float64, int32, int64} = int32",
    _SPLITS,
    shape=_range,
)
op(
    "RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues, "
    "indices: Tindices) -> (output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, "
    "output_dense_values: Tvalues)",
    "Tvalues: type",
    "Tindices: {int32, int64}",
    _SPLITS,
    "PARAMS_RAGGED_RANK: int >= 1",
    "OUTPUT_RAGGED_RANK: int >= 0",
    shape=_gathered,
)
op(
    "RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: T) -> "
    "(sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64)",
    "RAGGED_RANK: int >= 1",
    "T: type",
    _SPLITS,
    shape=_to_sparse,
)
op(
    "RaggedTensorToTensor(shape: Tshape, values: T, default_value: T, "
    "row_partition_tensors: num_row_partition_tensors * Tindex) -> (result: T)",
    "T: type",
    "Tindex: {int64, int32}",
    "Tshape: {int64, int32}",
    "num_row_partition_tensors: int >= 1",
    "row_partition_types: list(string)",
    shape=_to_tensor,
)
op(
    "RaggedFillEmptyRows(value_rowids: int64, values: T, nrows: int64, default_value: T) -> "
    "(output_value_rowids: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    "T: type",
    shape=_filled,
)
op(
    "RaggedFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)",
    "T: type",
    shape=_filled_grad,
)
op(
    "RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: Tvalues) -> "
    "(encoded_ragged: variant)",
    "RAGGED_RANK: int >= 0",
    "Tvalues: type",
    _SPLITS,
    "batched_input: bool",
    shape=_to_variant,
)
op(
    "RaggedTensorFromVariant(encoded_ragged: variant) -> "
    "(output_nested_splits: output_ragged_rank * Tsplits, output_dense_values: Tvalues)",
    "input_ragged_rank: int >= -1",
    "output_ragged_rank: int >= 0",
    "Tvalues: type",
    _SPLITS,
    shape=_from_variant,
)
op(
    "RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits, "
    "dense_values_shape: int32) -> (dense_values_grad: Tvalues)",
    "Tvalues: type",
    _SPLITS,
    shape=lambda op: [static_dims(op.inputs[2])],
)
op(
    "RaggedBincount(splits: int64, values: Tidx, size: Tidx, weights: T) -> (output: T)",
    "Tidx: {int32, int64}",
    _COUNTS,
    "binary_output: bool = false",
    shape=_bincount,
)
op(
    "SparseBincount(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T) -> (output: T)",
    "Tidx: {int32, int64}",
    _COUNTS,
    "binary_output: bool = false",
    shape=_bincount,
)
for _name, _inputs in (
    ("Dense", "values: T"),
    ("Sparse", "indices: int64, values: T, dense_shape: int64"),
    ("Ragged", "splits: int64, values: T"),
):
    op(
        f"{_name}CountSparseOutput({_inputs}, weights: output_type) -> {_SPARSE}",
        "T: {int32, int64}",
        *_COUNTED,
        shape=_counted,
    )
