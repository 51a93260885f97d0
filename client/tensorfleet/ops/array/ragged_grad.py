"""Gradient rules of ragged tensors: a value's gradient comes from the place that it went to."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one

not_differentiable("RaggedRange")
no_rule(
    *("RaggedBincount", "SparseBincount", "RaggedFillEmptyRowsGrad"),
    *("DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput"),
)


def _numbers(values: Tensor) -> Tensor:
    """The numbers of the rows of a tensor."""
    return apply_one("Range", 0, apply_one("Shape", values)[0], 1)


@gradient("RaggedGather")
def _gather(op: Operation, *grads: Tensor) -> list[Any]:
    *splits, values, indices = op.inputs
    places = apply_op(
        *("RaggedGather", splits, _numbers(values), indices),
        OUTPUT_RAGGED_RANK=op.attrs["OUTPUT_RAGGED_RANK"],
    )[-1]
    slices = IndexedSlices(grads[-1], places, apply_one("Shape", values))
    return [*[None] * len(splits), slices, None]


no_rule("RaggedTensorToVariantGradient")


@gradient("RaggedTensorToVariant")
def _to_variant(op: Operation, grad: Tensor) -> list[Any]:
    *splits, values = op.inputs
    first = splits[0] if op.attrs["batched_input"] and splits else zeros([0], op.attrs["Tsplits"])
    shape = apply_one("Shape", values, out_type=dtypes.int32)
    dense = apply_one("RaggedTensorToVariantGradient", grad, first, shape, Tvalues=values.dtype)
    return [*[None] * len(splits), dense]


@gradient("RaggedTensorFromVariant")
def _from_variant(op: Operation, *grads: Tensor) -> list[Any]:
    if op.attrs["input_ragged_rank"] > 0 or op.inputs[0].shape.rank not in (0, 1):
        return [None]  # the values' own rows are not known here
    splits = list(op.outputs[:-1])
    is_batch = op.inputs[0].shape.rank == 1
    return [apply_one("RaggedTensorToVariant", splits, grads[-1], batched_input=is_batch)]


@gradient("RaggedTensorToSparse")
def _to_sparse(op: Operation, indices: Any, grad: Tensor, shape: Any) -> list[Any]:
    *splits, values = op.inputs
    return [*[None] * len(splits), apply_one("Reshape", grad, apply_one("Shape", values))]


@gradient("RaggedTensorToTensor")
def _to_tensor(op: Operation, grad: Tensor) -> list[Any]:
    _, values, default, *partitions = op.inputs
    kinds = op.attrs["row_partition_types"]
    outer = 1 + sum(kind != b"FIRST_DIM_SIZE" for kind in kinds)
    shape = apply_one("Shape", grad)
    # The number of the value that is at each place of the result, -1 where the default is.
    numbers = apply_one(
        *("RaggedTensorToTensor", shape[:outer], _numbers(values), -1, partitions), row_partition_types=kinds
    )
    flat = apply_one("Reshape", numbers, [-1])
    rows = apply_one("Reshape", grad, apply_one("ConcatV2", [[-1], shape[outer:]], 0))
    count = apply_one("Shape", values)[0]
    of_values = apply_one("UnsortedSegmentSum", rows, flat, count)
    # In turn, where the default is: all other rows go to numbers that are left out.
    at_default = apply_one("Cast", apply_one("Less", flat, 0), DstT=dtypes.int32) - 1
    of_default = apply_one("UnsortedSegmentSum", rows, at_default, 1)[0]
    wanted = apply_one("Shape", default)
    axes, _ = apply_op("BroadcastGradientArgs", wanted, shape[outer:])
    summed = apply_one("Reshape", apply_one("Sum", of_default, axes), wanted)
    return [
        None,
        apply_one("Reshape", of_values, apply_one("Shape", values)),
        summed,
        *[None] * len(partitions),
    ]


@gradient("RaggedFillEmptyRows")
def _filled(op: Operation, rows: Any, grad: Tensor, empty: Any, reverse: Any) -> list[Any]:
    of_values, of_default = apply_op("RaggedFillEmptyRowsGrad", op.outputs[3], grad)
    return [None, of_values, None, of_default]
