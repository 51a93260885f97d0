"""Gradients of `indexing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph import hints
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, shape_of, size_of

not_differentiable("OneHot")


def rows_gradient(
    grad: Tensor, indices: Tensor, shape: Tensor, row: tuple[int | None, ...] | None
) -> IndexedSlices:
    """The gradient of a gather along the first axis of a tensor of the given shape; `row` is the static shape
    of a row, None if unknown.
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
    return [
        rows_gradient(grad, indices, shape_of(params), None if params.dims is None else params.dims[1:]),
        None,
    ]


@gradient("GatherV2")
def _gather_v2(op: Operation, grad: Tensor) -> list[Any]:
    params, indices, axis_tensor = op.inputs
    axis = static_value(axis_tensor)
    batch = op.attrs["batch_dims"]
    if axis is not None and int(axis) == 0 and not batch:
        row = None if params.dims is None else params.dims[1:]
        return [rows_gradient(grad, indices, shape_of(params), row), None, None]
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


def scattered(grad: Tensor, indices: Tensor, shape: Tensor) -> Tensor | IndexedSlices:
    """The gradient of a gather_nd from a tensor of the given shape."""
    if indices.ndim == 2 and indices.dims is not None and indices.dims[-1] == 1:
        return IndexedSlices(grad, apply_one("Squeeze", indices, squeeze_dims=[-1]), shape)
    return apply_one("ScatterNd", indices, grad, shape)


@gradient("GatherNd")
def _gather_nd(op: Operation, grad: Tensor) -> list[Any]:
    params, indices = op.inputs
    return [scattered(grad, indices, shape_of(params, indices.dtype.base.as_numpy_dtype)), None]


@gradient("ScatterNd")
def _scatter_nd(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, apply_one("GatherNd", grad, op.inputs[0]), None]


@gradient("TensorScatterUpdate")
def _tensor_scatter_update(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, indices, updates = op.inputs
    kept = apply_one("TensorScatterUpdate", grad, indices, zeros_like(updates))
    return [kept, None, apply_one("GatherNd", grad, indices)]


@gradient("TensorScatterAdd", "ScatterNdNonAliasingAdd")
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
