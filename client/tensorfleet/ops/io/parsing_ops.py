"""The ops that parse strings: Examples, lines of CSV, serialized tensors, compressed data."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import scalar, unchanged, with_rank, with_rank_at_least

_TYPES = "{float32, int64, string}"


def _sparse(rank: int, count: int) -> list[Dims]:
    """The static shapes of the indices, values and dense shapes of `count` SparseTensors."""
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


def _dense(prefix: tuple[int | None, ...], shapes: list[Dims]) -> list[Dims]:
    return [None if dims is None else (*prefix, *dims) for dims in shapes]


def _parse_example(op: RuleNode) -> list[Dims]:
    serialized = with_rank(op.inputs[0].dims, 1)
    return [
        *_sparse(2, op.attrs["Nsparse"]),
        *_dense(serialized, op.attrs["dense_shapes"]),
    ]


def _parse_example_v2(op: RuleNode) -> list[Dims]:
    attrs = op.attrs
    serialized = op.inputs[0].dims
    count = attrs["num_sparse"]
    ragged = [(None,)] * (len(attrs["ragged_value_types"]) + len(attrs["ragged_split_types"]))
    if serialized is None:
        unknown: list[Dims] = [(None, None)] * count + [(None,)] * (2 * count)
        return unknown + [None] * len(attrs["dense_shapes"]) + ragged
    if len(serialized) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(serialized)}")
    return [
        *_sparse(1 + len(serialized), count),
        *_dense(serialized, attrs["dense_shapes"]),
        *ragged,
    ]


def _parse_single_example(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [*_sparse(1, op.attrs["num_sparse"]), *_dense((), op.attrs["dense_shapes"])]


op(
    "ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, "
    "dense_keys: Ndense * string, dense_defaults: list(Tdense)) -> "
    "(sparse_indices: Nsparse * int64, sparse_values: list(sparse_types), sparse_shapes: Nsparse * int64, "
    "dense_values: list(Tdense))",
    "Nsparse: int >= 0",
    "Ndense: int >= 0",
    f"sparse_types: list({_TYPES}) >= 0",
    f"Tdense: list({_TYPES}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_parse_example,
)
op(
    "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
    "ragged_keys: string, dense_defaults: list(Tdense)) -> "
    "(sparse_indices: num_sparse * int64, sparse_values: list(sparse_types), "
    "sparse_shapes: num_sparse * int64, dense_values: list(Tdense), "
    "ragged_values: list(ragged_value_types), ragged_row_splits: list(ragged_split_types))",
    f"Tdense: list({_TYPES}) >= 0",
    "num_sparse: int >= 0",
    f"sparse_types: list({_TYPES}) >= 0",
    f"ragged_value_types: list({_TYPES}) >= 0",
    "ragged_split_types: list({int32, int64}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_parse_example_v2,
)
op(
    "ParseSingleExample(serialized: string, dense_defaults: list(Tdense)) -> "
    "(sparse_indices: num_sparse * int64, sparse_values: list(sparse_types), "
    "sparse_shapes: num_sparse * int64, dense_values: list(Tdense))",
    "num_sparse: int >= 0",
    "sparse_keys: list(string) >= 0",
    "dense_keys: list(string) >= 0",
    f"sparse_types: list({_TYPES}) >= 0",
    f"Tdense: list({_TYPES}) >= 0",
    "dense_shapes: list(shape) >= 0",
    shape=_parse_single_example,
)

# Sequences


def _sequence_shapes(op: RuleNode, prefix: tuple[int | None, ...], lengths: bool) -> list[Dims]:
    attrs = op.attrs
    rank = len(prefix)
    steps = (*prefix, None)
    context = _sparse(1 + rank, attrs["Ncontext_sparse"]) + _dense(prefix, attrs["context_dense_shapes"])
    ragged = 2 * len(attrs.get("context_ragged_value_types", ()))
    lists = _sparse(2 + rank, attrs["Nfeature_list_sparse"]) + _dense(
        steps, attrs["feature_list_dense_shapes"]
    )
    counts = [prefix] * len(attrs["feature_list_dense_types"]) * lengths
    list_ragged = 3 * len(attrs.get("feature_list_ragged_value_types", ()))
    return [*context, *[(None,)] * ragged, *lists, *counts, *[(None,)] * list_ragged]


def _parse_sequence_example(op: RuleNode) -> list[Dims]:
    return _sequence_shapes(op, with_rank(op.inputs[0].dims, 1), True)


def _parse_sequence_example_v2(op: RuleNode) -> list[Dims]:
    serialized = op.inputs[0].dims
    if serialized is None:
        return [None] * len(op.outputs)
    return _sequence_shapes(op, serialized, True)


def _parse_single_sequence_example(op: RuleNode) -> list[Dims]:
    return _sequence_shapes(op, with_rank(op.inputs[0].dims, 0), False)


_CONTEXT_OUTPUTS = (
    "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: list(context_sparse_types), "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: list(Tcontext_dense)"
)
_LIST_OUTPUTS = (
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: list(feature_list_sparse_types), "
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: list(feature_list_dense_types)"
)
_LENGTHS = "feature_list_dense_lengths: Nfeature_list_dense * int64"


def _types(*names: str, kinds: str = _TYPES) -> list[str]:
    return [f"{name}: list({kinds}) >= 0 = []" for name in names]


op(
    "ParseSequenceExample(serialized: string, debug_name: string, "
    f"context_dense_defaults: list(Tcontext_dense)) -> ({_CONTEXT_OUTPUTS}, {_LIST_OUTPUTS}, {_LENGTHS})",
    "feature_list_dense_missing_assumed_empty: list(string) >= 0",
    "context_sparse_keys: list(string) >= 0",
    "context_dense_keys: list(string) >= 0",
    "feature_list_sparse_keys: list(string) >= 0",
    "feature_list_dense_keys: list(string) >= 0",
    "Ncontext_sparse: int >= 0 = 0",
    "Ncontext_dense: int >= 0 = 0",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    *_types("context_sparse_types", "Tcontext_dense", "feature_list_dense_types"),
    "context_dense_shapes: list(shape) >= 0 = []",
    *_types("feature_list_sparse_types"),
    "feature_list_dense_shapes: list(shape) >= 0 = []",
    shape=_parse_sequence_example,
)
op(
    "ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string, "
    "context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, "
    "feature_list_dense_keys: string, feature_list_ragged_keys: string, "
    "feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: list(Tcontext_dense)) -> "
    f"({_CONTEXT_OUTPUTS}, context_ragged_values: list(context_ragged_value_types), "
    f"context_ragged_row_splits: list(context_ragged_split_types), {_LIST_OUTPUTS}, {_LENGTHS}, "
    "feature_list_ragged_values: list(feature_list_ragged_value_types), "
    "feature_list_ragged_outer_splits: list(feature_list_ragged_split_types), "
    "feature_list_ragged_inner_splits: list(feature_list_ragged_split_types))",
    "Ncontext_sparse: int >= 0 = 0",
    *_types("Tcontext_dense", "context_sparse_types", "context_ragged_value_types"),
    *_types("context_ragged_split_types", kinds="{int32, int64}"),
    "context_dense_shapes: list(shape) >= 0 = []",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    *_types("feature_list_dense_types", "feature_list_sparse_types", "feature_list_ragged_value_types"),
    *_types("feature_list_ragged_split_types", kinds="{int32, int64}"),
    "feature_list_dense_shapes: list(shape) >= 0 = []",
    shape=_parse_sequence_example_v2,
)
op(
    "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse * string, context_dense_keys: Ncontext_dense * string, "
    "feature_list_sparse_keys: Nfeature_list_sparse * string, "
    "feature_list_dense_keys: Nfeature_list_dense * string, context_dense_defaults: list(Tcontext_dense), "
    f"debug_name: string) -> ({_CONTEXT_OUTPUTS}, {_LIST_OUTPUTS})",
    "Ncontext_sparse: int >= 0 = 0",
    "Ncontext_dense: int >= 0 = 0",
    "Nfeature_list_sparse: int >= 0 = 0",
    "Nfeature_list_dense: int >= 0 = 0",
    *_types("context_sparse_types", "Tcontext_dense", "feature_list_dense_types"),
    "context_dense_shapes: list(shape) >= 0 = []",
    *_types("feature_list_sparse_types"),
    "feature_list_dense_shapes: list(shape) >= 0 = []",
    shape=_parse_single_sequence_example,
)

# Lines, tensors, compressed data


def _decode_csv(op: RuleNode) -> list[Dims]:
    for default in op.inputs[1:]:
        dims = default.dims
        if dims is not None and len(dims) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(dims)}")
        if dims is not None and dims and dims[0] is not None and dims[0] > 1:
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return [op.inputs[0].dims] * len(op.outputs)


def _decode_padded_raw(op: RuleNode) -> list[Dims]:
    from tensorfleet.graph.static_value import static_value

    dims = with_rank_at_least(op.inputs[0].dims, 1)
    known = static_value(op.inputs[1])
    dtype: Any = op.attrs["out_type"]
    width = None if known is None else int(known) // dtype.size
    return [None if dims is None else (*dims, width)]


def _parse_tensor(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [None]


op(
    "DecodeCSV(records: string, record_defaults: list(OUT_TYPE)) -> (output: list(OUT_TYPE))",
    "OUT_TYPE: list({float32, float64, int32, int64, string}) >= 1",
    'field_delim: string = ","',
    "use_quote_delim: bool = true",
    'na_value: string = ""',
    "select_cols: list(int) = []",
    shape=_decode_csv,
)
op(
    "DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> (output: out_type)",
    "out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, bfloat16}",
    "little_endian: bool = true",
    shape=_decode_padded_raw,
)
op("ParseTensor(serialized: string) -> (output: out_type)", "out_type: type", shape=_parse_tensor)
op("SerializeTensor(tensor: T) -> (serialized: string)", "T: type", shape=scalar)
op("DecodeJSONExample(json_examples: string) -> (binary_examples: string)", shape=unchanged)
op(
    "DecodeCompressed(bytes: string) -> (output: string)",
    'compression_type: string = ""',
    shape=unchanged,
)
