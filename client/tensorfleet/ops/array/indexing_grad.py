"""Gradients of `slicing`, `indexing`, `selection`, `partition` and of gathers from variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph import hints
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, rank_of, reshape_like, shape_of, size_of, summed_to, where

not_differentiable("OneHot", "Where", "InTopK", "InTopKV2")
no_rule("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff")
not_differentiable("Bucketize", "HistogramFixedWidth")
not_differentiable("ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv")
not_differentiable("ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate")
no_rule(
    "StridedSliceAssign",
    "ResourceStridedSliceAssign",
    "ScatterUpdate",
    "ScatterMin",
    "ScatterMax",
    "ScatterNdMin",
    "ScatterNdMax",
)
for _change in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
    not_differentiable(f"ResourceScatter{_change}")
for _change in ("Add", "Sub", "Min", "Max", "Update"):
    not_differentiable(f"ResourceScatterNd{_change}")

# Slices


@gradient("Slice")
def _slice(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, begin, _ = op.inputs
    shape, result, start = x.dims, op.outputs[0].dims, static_value(begin)
    if start is not None and shape is not None and result is not None and None not in shape + result:
        after = np.array(shape) - start - np.array(result)
        paddings = constant_node(np.stack([start, after], axis=1).astype(np.int32), "Const")
    else:
        dtype = begin.dtype.base.as_numpy_dtype
        after_in_run = shape_of(x, dtype) - begin - shape_of(op.outputs[0], dtype)
        paddings = apply_one("Pack", [begin, after_in_run], axis=1)
    return [apply_one("Pad", grad, paddings), None, None]


def _masks(op: Operation) -> dict[str, Any]:
    return {key: value for key, value in op.attrs.items() if key.endswith("_mask")}


@gradient("StridedSlice")
def _strided_slice(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, *bounds = op.inputs
    if bounds[0].dtype.base.name == "int16":
        bounds = [apply_one("Cast", bound, DstT=np.int32) for bound in bounds]
    shape = shape_of(x, bounds[0].dtype.base.as_numpy_dtype)
    return [apply_one("StridedSliceGrad", shape, *bounds, grad, **_masks(op)), None, None, None]


@gradient("StridedSliceGrad")
def _strided_slice_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, None, None, None, apply_one("StridedSlice", grad, *op.inputs[1:4], **_masks(op))]


@gradient("TensorStridedSliceUpdate")
def _strided_slice_update(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, *bounds, value = op.inputs
    kept = apply_one("TensorStridedSliceUpdate", grad, *bounds, zeros_like(value), **_masks(op))
    return [kept, None, None, None, apply_one("StridedSlice", grad, *bounds, **_masks(op))]


# Gathers and scatters


def _rows(grad: Tensor, indices: Tensor, shape: Tensor, row: tuple[int | None, ...] | None) -> IndexedSlices:
    """The gradient of a gather along the first axis of a tensor of that shape; `row` is what is known of
    the shape of its rows.
    """
    count = apply_one("ExpandDims", size_of(indices), 0)
    sizes: Any = shape
    values = apply_one("Reshape", grad, concat([count, sizes[1:]], 0))
    flat = apply_one("Reshape", indices, count)
    if indices.ndim == 1:
        for reshaped in (values, flat):
            hints.unchanged(reshaped)
    if row is not None:
        values.set_shape((None, *row))
    return IndexedSlices(values, flat, shape)


@gradient("Gather")
def _gather(op: Operation, grad: Tensor) -> list[Any]:
    params, indices = op.inputs
    return [_rows(grad, indices, shape_of(params), None if params.dims is None else params.dims[1:]), None]


@gradient("GatherV2")
def _gather_v2(op: Operation, grad: Tensor) -> list[Any]:
    params, indices, axis_tensor = op.inputs
    axis = static_value(axis_tensor)
    batch = op.attrs["batch_dims"]
    if axis is not None and int(axis) == 0 and not batch:
        row = None if params.dims is None else params.dims[1:]
        return [_rows(grad, indices, shape_of(params), row), None, None]
    if axis is None or params.ndim is None or indices.ndim is None:
        raise ValueError(
            f"The gradient of {op.name} (GatherV2) along another axis than the first needs the axis as a "
            "constant, and known ranks."
        )
    place = int(axis) % params.ndim
    if batch < 0:
        batch += indices.ndim
    # Batches first, then what the indices chose, then the rest.
    inner = indices.ndim - batch
    grad_rank = grad.ndim if grad.ndim is not None else params.ndim - 1 + inner
    chosen = list(range(place, place + inner))
    others = [*range(batch, place), *range(place + inner, grad_rank)]
    turned = apply_one("Transpose", grad, ints([*range(batch), *chosen, *others]))
    order = [*range(batch), place, *range(batch, place), *range(place + 1, params.ndim)]
    shape = apply_one("GatherV2", shape_of(params), ints(order), 0)
    batch_shape = apply_one("Slice", shape, ints([0]), ints([batch]))
    rest_shape = apply_one("Slice", shape, ints([batch + 1]), ints([-1]))
    size = apply_one("GatherV2", shape, batch, 0)
    batches = apply_one("Prod", batch_shape, ints([0]))
    count = size_of(indices)
    values = apply_one(
        "Reshape", turned, apply_one("ConcatV2", [apply_one("ExpandDims", count, 0), rest_shape], 0)
    )
    ids = apply_one("Cast", indices, DstT=np.int32)
    if batch:
        # Each batch has rows of its own.
        per_batch = apply_one("Reshape", ids, apply_one("Pack", [batches, -1], axis=0))
        offsets = apply_one("Range", 0, batches, 1) * size
        ids = per_batch + apply_one("ExpandDims", offsets, 1)
    ids = apply_one("Reshape", ids, ints([-1]))
    total = apply_one("Reshape", apply_one("UnsortedSegmentSum", values, ids, batches * size), shape)
    return [apply_one("Transpose", total, ints(np.argsort(order))), None, None]


def _variable_shape(handle: Tensor, dtype: Any = np.int32) -> tuple[Tensor, tuple[int | None, ...] | None]:
    """The shape of the variable behind a handle, and what is known of it."""
    dims = handle.op.attrs.get("shape")
    if dims is not None and None not in dims:
        return constant_node(np.array(dims, dtype), "Const"), dims
    return apply_one("VariableShape", handle, out_type=dtype), dims


@gradient("ResourceGather")
def _resource_gather(op: Operation, grad: Tensor) -> list[Any]:
    shape, dims = _variable_shape(op.inputs[0])
    return [_rows(grad, op.inputs[1], shape, None if dims is None else dims[1:]), None]


def _scattered(grad: Tensor, indices: Tensor, shape: Tensor) -> Tensor | IndexedSlices:
    if indices.ndim == 2 and indices.dims is not None and indices.dims[-1] == 1:
        return IndexedSlices(grad, apply_one("Squeeze", indices, squeeze_dims=[-1]), shape)
    return apply_one("ScatterNd", indices, grad, shape)


@gradient("GatherNd")
def _gather_nd(op: Operation, grad: Tensor) -> list[Any]:
    params, indices = op.inputs
    return [_scattered(grad, indices, shape_of(params, indices.dtype.base.as_numpy_dtype)), None]


@gradient("ResourceGatherNd")
def _resource_gather_nd(op: Operation, grad: Tensor) -> list[Any]:
    handle, indices = op.inputs
    shape, _ = _variable_shape(handle, indices.dtype.base.as_numpy_dtype)
    return [_scattered(grad, indices, shape), None]


@gradient("ScatterNd")
def _scatter_nd(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("GatherNd", grad, op.inputs[0]), None]


@gradient("TensorScatterUpdate")
def _tensor_scatter_update(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, indices, updates = op.inputs
    kept = apply_one("TensorScatterUpdate", grad, indices, zeros_like(updates))
    return [kept, None, apply_one("GatherNd", grad, indices)]


@gradient("TensorScatterAdd")
def _tensor_scatter_add(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [grad, None, apply_one("GatherNd", grad, op.inputs[1])]


@gradient("TensorScatterSub")
def _tensor_scatter_sub(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [grad, None, -apply_one("GatherNd", grad, op.inputs[1])]


@gradient("TensorScatterMin", "TensorScatterMax")
def _tensor_scatter_extremum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # Equal extremes share the gradient.
    x, indices, updates = op.inputs
    result = op.outputs[0]
    dtype = x.dtype.base
    x_chosen = apply_one("Cast", apply_one("Equal", x, result), DstT=dtype)
    updates_equal = apply_one("Equal", updates, apply_one("GatherNd", result, indices))
    updates_chosen = apply_one("Cast", updates_equal, DstT=dtype)
    shape = shape_of(x, indices.dtype.base.as_numpy_dtype)
    share = grad / (x_chosen + apply_one("ScatterNd", indices, updates_chosen, shape))
    return [share * x_chosen, None, apply_one("GatherNd", share, indices) * updates_chosen]


@gradient("SparseToDense")
def _sparse_to_dense(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices = op.inputs[0]
    rank = indices.ndim
    if rank is None:
        raise ValueError(f"The gradient of {op.name} (SparseToDense) needs the rank of its indices.")
    # One index is a point of its own; a vector of indices names points along the only axis.
    points = apply_one("Reshape", indices, ints([-1, 1])) if rank < 2 else indices
    values = apply_one("GatherNd", grad, points)
    total = apply_one("Sum", grad, apply_one("Range", 0, rank_of(grad), 1))
    default = total - apply_one("Sum", values, ints([0]))
    return [None, None, reshape_like(values, op.inputs[2]), default]


# Choices


@gradient("Select")
def _select(op: Operation, grad: Tensor) -> list[Tensor | None]:
    condition, x, _ = op.inputs
    zero = zeros_like(x)
    return [None, apply_one("Select", condition, grad, zero), apply_one("Select", condition, zero, grad)]


@gradient("SelectV2")
def _select_v2(op: Operation, grad: Tensor) -> list[Tensor | None]:
    condition, x, y = op.inputs
    zero = zeros([], grad.dtype.base)
    chosen = where(condition, grad, zero), where(condition, zero, grad)
    return [None, *(summed_to(g, op.outputs[0], t) for g, t in zip(chosen, (x, y), strict=True))]


def _last_size(tensor: Tensor) -> Tensor:
    return apply_one("GatherV2", shape_of(tensor), rank_of(tensor) - ints(1), 0)


@gradient("TopK", "TopKV2")
def _top_k(op: Operation, grad: Tensor, _: Any) -> list[Tensor | None]:
    x, indices = op.inputs[0], op.outputs[1]
    places = apply_one("Cast", indices, DstT=np.int32)
    width, chosen = (_last_size(t) for t in (x, indices))
    # Numbered through all rows.
    rows = apply_one("Reshape", places, apply_one("Pack", [-1, chosen], axis=0))
    starts = apply_one("Range", 0, apply_one("GatherV2", apply_one("Shape", rows), 0, 0), 1) * width
    ids = apply_one("Reshape", rows + apply_one("ExpandDims", starts, 1), ints([-1]))
    flat = apply_one("UnsortedSegmentSum", apply_one("Reshape", grad, ints([-1])), ids, size_of(x))
    return [reshape_like(flat, x)] + [None] * (len(op.inputs) - 1)


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
