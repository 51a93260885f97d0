"""Gradients of `partition`: dynamic partition and stitch, and SparseToDense."""

from __future__ import annotations

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, rank_of, reshape_like, shape_of, size_of

no_rule("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff")
not_differentiable("Bucketize", "HistogramFixedWidth")


@gradient("SparseToDense")
def _sparse_to_dense(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices = op.inputs[0]
    rank = indices.ndim
    if rank is None:
        raise ValueError(f"The gradient of {op.name} (SparseToDense) needs the rank of its indices.")
    # A scalar is a single index; a vector holds indices into the only axis.
    points = apply_one("Reshape", indices, ints([-1, 1])) if rank < 2 else indices
    values = apply_one("GatherNd", grad, points)
    total = apply_one("Sum", grad, apply_one("Range", 0, rank_of(grad), 1))
    default = total - apply_one("Sum", values, ints([0]))
    return [None, None, reshape_like(values, op.inputs[2]), default]


@gradient("DynamicPartition")
def _dynamic_partition(op: Operation, *grads: Tensor) -> list[Tensor | None]:
    data, partitions = op.inputs
    order = apply_one("Reshape", apply_one("Range", 0, size_of(partitions), 1), shape_of(partitions))
    places = apply_op("DynamicPartition", order, partitions, num_partitions=op.attrs["num_partitions"])
    return [reshape_like(apply_one("DynamicStitch", places, list(grads)), data), None]


@gradient("DynamicStitch", "ParallelDynamicStitch")
def _dynamic_stitch(op: Operation, grad: Tensor) -> list[Tensor | None]:
    count = op.attrs["N"]
    return [None] * count + [apply_one("GatherV2", grad, indices, 0) for indices in op.inputs[:count]]
