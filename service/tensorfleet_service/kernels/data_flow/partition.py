"""Sets, groups and histograms: Unique, ListDiff, DynamicPartition, SparseToDense, Bucketize."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes, string_arrays
from tensorfleet_service.devices import native
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.sparse import is_in, numbered, row_numbers
from tensorfleet_service.kernels.values import (
    array_kernel,
    each_string,
    host_array,
    ints,
    invalid,
    results,
    shape_text,
)
from tensorfleet_service.threads import unlocked


@array_kernel("Unique", "UniqueWithCounts")
def unique(node: KernelNode) -> Kernel:
    found = _unique(node)

    def run(x: Any) -> Any:
        if x.ndim != 1:
            raise invalid("unique expects a 1D vector.")
        return found(x, None)

    return run


@array_kernel("UniqueV2", "UniqueWithCountsV2")
def unique_v2(node: KernelNode) -> Kernel:
    found = _unique(node)

    def run(x: Any, axis: Any) -> Any:
        if axis.ndim > 1:
            raise invalid("axis expects a 1D vector.")
        axes = ints(axis)
        if len(axes) > 1:
            raise invalid("axis does not support input tensors larger than 1 elements")
        if not axes:
            if x.ndim != 1:
                raise invalid("unique expects a 1D vector.")
            return found(x, None)
        if not -x.ndim <= axes[0] < x.ndim:
            raise invalid(f"axis has to be between [0, {x.ndim})")
        return found(x, axes[0] % x.ndim)

    return run


def _unique(node: KernelNode) -> Kernel:
    """(values, idx, count) in the order of first appearance; the last only where the op has it."""
    xp, dtype, count = node.xp, node.output_types[1].np, len(node.output_types)

    def run(x: Any, axis: int | None) -> Any:
        if axis is None and native.takes_integers(x):
            values, (inverse, sizes) = np.empty_like(x), np.empty((2, x.size), np.int64)
            made = native.native.unique(x, values, inverse, sizes, x.size)
            return (values[:made].copy(), inverse.astype(dtype), sizes[:made].astype(dtype))[:count]
        # Strings are replaced by numbers, the only slices that NumPy compares.
        keys = numbered(x)[0] if x.dtype.hasobject else x
        if xp is np:
            numbers = keys if axis is None else row_numbers(np.moveaxis(keys, axis, 0))
            _, first, inverse, counts = unlocked.unique(numbers)
        else:
            _, first, inverse, counts = xp.unique(
                keys, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
            )
        order = xp.argsort(first)
        places = xp.empty_like(order)
        places[order] = xp.arange(order.size)
        values = x.take(first[order], 0 if axis is None else axis)
        return (values, places[inverse.reshape(-1)].astype(dtype), counts[order].astype(dtype))[:count]

    return run


@array_kernel("ListDiff")
def list_diff(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[1].np
    strings = node.input_types[0] is dtypes.string

    def run(x: Any, y: Any) -> Any:
        for name, value in (("x", x), ("y", y)):
            if value.ndim != 1:
                raise invalid(f"{name} should be a 1D vector.")
        if strings:
            known = set(each_string(y))
            kept = np.fromiter((item not in known for item in each_string(x)), np.bool_, x.size)
        else:
            kept = ~(is_in if xp is np else xp.isin)(x, y)
        return x[kept], xp.nonzero(kept)[0].astype(dtype)

    return run


@array_kernel("DynamicPartition", moves=True)
def dynamic_partition(node: KernelNode) -> Kernel:
    xp, count = node.xp, node.attrs["num_partitions"]

    def run(data: Any, partitions: Any) -> Any:
        rank = partitions.ndim
        if data.shape[:rank] != partitions.shape:
            raise invalid(
                f"data.shape must start with partitions.shape, got data.shape = {shape_text(data.shape)}, "
                f"partitions.shape = {shape_text(partitions.shape)}"
            )
        groups = partitions.reshape(-1)
        if groups.size and (groups.min() < 0 or groups.max() >= count):
            bad = int(((groups < 0) | (groups >= count)).argmax())
            place = ",".join(map(str, np.unravel_index(bad, partitions.shape)))
            where = f"partitions[{place}]" if rank else "partitions"
            raise invalid(f"{where} = {int(groups[bad])} is not in [0, {count})")
        rows = data.reshape(groups.size, *data.shape[rank:])
        sorted_rows = rows[xp.argsort(groups, kind="stable")]
        sizes = unlocked.bincount(groups, count) if xp is np else xp.bincount(groups, minlength=count)
        ends = sizes.cumsum().tolist()
        return results([sorted_rows[i:j] for i, j in zip([0, *ends], ends, strict=False)])

    return run


@array_kernel("DynamicStitch", "ParallelDynamicStitch", moves=True)
def dynamic_stitch(node: KernelNode) -> Kernel:
    xp, count = node.xp, node.attrs["N"]

    def run(*inputs: Any) -> Any:
        indices, data = inputs[:count], inputs[count:]
        rest = data[0].shape[indices[0].ndim :]
        for i, (places, rows) in enumerate(zip(indices, data, strict=True)):
            if rows.shape[: places.ndim] != places.shape:
                raise invalid(
                    f"data[{i}].shape = {shape_text(rows.shape)} does not start with indices[{i}].shape = "
                    f"{shape_text(places.shape)}"
                )
            if rows.shape[places.ndim :] != rest:
                raise invalid(
                    f"Need data[0].shape[{indices[0].ndim}:] = "
                    f"data[{i}].shape[{places.ndim}:], got data[0].shape = "
                    f"{shape_text(data[0].shape)}, data[{i}].shape = {shape_text(rows.shape)}, "
                    f"indices[0].shape = "
                    f"{shape_text(indices[0].shape)}, indices[{i}].shape = {shape_text(places.shape)}"
                )
        size = max((int(places.max()) + 1 for places in indices if places.size), default=0)
        kind = data[0].dtype
        if kind.hasobject:
            merged = string_arrays.filled((size, *rest), b"")
        else:
            merged = xp.zeros((size, *rest), kind)
        for i, (places, rows) in enumerate(zip(indices, data, strict=True)):
            if places.size and places.min() < 0:
                raise invalid(f"indices[{i}] is out of range")
            merged[places.reshape(-1)] = rows.reshape(places.size, *rest)
        return merged

    return run


@array_kernel("SparseToDense")
def sparse_to_dense(node: KernelNode) -> Kernel:
    xp, dtype, validate = node.xp, node.output_types[0].np, node.attrs["validate_indices"]

    def run(indices: Any, shape: Any, values: Any, default: Any) -> Any:
        dims = ints(shape)
        if indices.ndim > 2:
            raise invalid(
                f"sparse_indices should be a scalar, vector, or matrix, got shape {shape_text(indices.shape)}"
            )
        if shape.ndim != 1:
            raise invalid(f"output_shape must be rank 1, got shape {shape_text(shape.shape)}")
        places = indices.reshape(-1, 1) if indices.ndim < 2 else indices
        if places.shape[1] != len(dims):
            raise invalid(
                f"output_shape has incorrect number of elements: {len(dims)} should be: {places.shape[1]}"
            )
        if values.ndim and values.shape != places.shape[:1]:
            raise invalid(
                f"sparse_values has incorrect shape {shape_text(values.shape)}, should be [] "
                f"or [{places.shape[0]}]"
            )
        if default.ndim:
            raise invalid("default_value should be a scalar.")
        if validate:
            _check_order(host_array(places), dims)
        result = xp.full(dims, default, dtype)
        result[tuple(places.T)] = values
        return result

    return run


def _check_order(places: Any, dims: list[int]) -> None:
    """Raises InvalidArgumentError for the first row that is outside, or not after the one before it."""
    outside = ((places < 0) | (places >= np.array(dims))).any(1)
    # The first number that differs from the row before says which of them comes first.
    steps = np.diff(places, axis=0)
    first = (steps != 0).argmax(1) if places.shape[1] else np.zeros(len(steps), int)
    ahead = np.take_along_axis(steps, first[:, None], 1)[:, 0] if places.shape[1] else first
    wrong = outside.copy()
    wrong[1:] |= ahead <= 0
    if not wrong.any():
        return
    i = int(wrong.argmax())
    spelled = f"indices[{i}] = [{','.join(map(str, places[i].tolist()))}]"
    if outside[i]:
        raise invalid(f"{spelled} is out of bounds: need 0 <= index < [{','.join(map(str, dims))}]")
    if not ahead[i - 1]:
        raise invalid(f"{spelled} is repeated")
    raise invalid(
        f"{spelled} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` "
        "to create a correctly ordered copy.\n\n"
    )


@kernel("Bucketize")
def bucketize(node: KernelNode) -> Kernel:
    xp = node.xp
    boundaries = xp.asarray(node.attrs["boundaries"], np.float32)
    if list(node.attrs["boundaries"]) != sorted(node.attrs["boundaries"]):
        raise invalid("Expected sorted boundaries")
    return lambda x: xp.asarray(xp.searchsorted(boundaries, x, side="right")).astype(np.int32)


@kernel("HistogramFixedWidth")
def histogram_fixed_width(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np

    def run(values: Any, value_range: Any, nbins: Any) -> Any:
        if value_range.shape != (2,):
            raise invalid(
                f"value_range should be a vector of 2 elements. Its shape is {shape_text(value_range.shape)}"
            )
        low, high = value_range.tolist()
        if nbins.ndim:
            raise invalid(f"nbins should be a scalar. Its shape is {shape_text(nbins.shape)}")
        count = int(nbins)
        if not low < high:
            raise invalid(
                f"value_range should satisfy value_range[0] < value_range[1], but got '[{low:g}, {high:g}]'"
            )
        if count <= 0:
            raise invalid(f"nbins should be a positive number, but got '{count}'")
        if values.dtype.kind == "f" and bool(xp.isnan(values).any()):
            raise invalid("Histogram values must not contain NaN")
        step = (high - low) / count
        bins = xp.floor((values.reshape(-1).astype(np.float64) - low) / step).clip(0, count - 1)
        bins = bins.astype(np.int64)
        return (unlocked.bincount(bins, count) if xp is np else xp.bincount(bins, minlength=count)).astype(
            dtype
        )

    return run
