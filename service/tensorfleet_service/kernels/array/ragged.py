"""Kernels of `tensorfleet.ops.array.ragged`. Row splits are in host memory, as shapes depend on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import array_kernel, boxed, host_array, invalid, shape_text
from tensorfleet_service.kernels.variant_messages import decoder
from tensorfleet_service.kernels.variants import Variant, unboxed

MAX_VALUES = 1 << 31
"""Limit on the values of a range."""


def _checked_splits(splits: Any, count: int | None) -> Any:
    """The positions where rows begin, and the end of the last one.

    Raises InvalidArgumentError if they are not row splits.
    """
    array = host_array(splits)
    if array.ndim != 1 or not array.size:
        raise invalid("Ragged splits must be a vector with at least one element: ragged splits is empty.")
    if array[0] != 0:
        raise invalid(f"The first element of ragged splits must be 0, got {array[0]}")
    if (array[1:] < array[:-1]).any():
        raise invalid("Ragged splits must be sorted in ascending order.")
    if count is not None and array[-1] != count:
        raise invalid(
            f"The last value of ragged splits must be the number of values, {count}, got {array[-1]}"
        )
    return array


class RaggedVariant(Variant):
    """A ragged tensor as one value: the splits of its ragged dimensions, and its flat values."""

    __slots__ = ("splits", "values")

    def __init__(self, splits: Sequence[Any], values: Any) -> None:
        self.splits = tuple(splits)
        self.values = values

    @property
    def rows(self) -> int:
        """The size of the first dimension."""
        return len(self.splits[0]) - 1 if self.splits else len(self.values)

    def zeros_like(self, xp: Any) -> RaggedVariant:
        return RaggedVariant(self.splits, np.zeros_like(self.values))

    def plus(self, other: Any) -> RaggedVariant:
        second = unboxed(other)
        same = isinstance(second, RaggedVariant) and len(self.splits) == len(second.splits)
        if not same or not all(map(np.array_equal, self.splits, second.splits)):
            raise invalid("Ragged tensors with other row splits cannot be added")
        if self.values.shape != second.values.shape:
            raise invalid("Ragged tensors with values of other shapes cannot be added")
        return RaggedVariant(self.splits, self.values + second.values)

    def parts(self) -> tuple[str, bytes, list[Any]]:
        return "RaggedTensorVariant", b"", [*self.splits, self.values]


@decoder("RaggedTensorVariant")
def _decode(metadata: bytes, tensors: list[Any]) -> RaggedVariant:
    *splits, values = map(np.asarray, tensors)
    return RaggedVariant([_checked_splits(one, None) for one in splits], values)


@kernel("RaggedTensorToVariant")
def ragged_to_variant(node: KernelNode) -> Kernel:
    batched = node.attrs["batched_input"]

    def run(*inputs: Any) -> Any:
        *given, values = inputs
        values = np.asarray(host_array(values))
        splits = []
        for i, one in enumerate(given):
            after = given[i + 1] if i + 1 < len(given) else None
            splits.append(_checked_splits(one, len(values) if after is None else len(after) - 1))
        if not batched:
            return RaggedVariant(splits, values)
        if not splits:
            if not values.ndim:
                raise invalid("A batch of ragged tensors has at least one dimension")
            return _vector([RaggedVariant((), row) for row in values])
        rows = []
        for begin, end in itertools.pairwise(splits[0].tolist()):
            inner = []
            for one in splits[1:]:
                part = one[begin : end + 1]
                inner.append(part - part[0])
                begin, end = int(part[0]), int(part[-1])
            rows.append(RaggedVariant(inner, values[begin:end]))
        return _vector(rows)

    return run


def _vector(items: list[Any]) -> Any:
    made = np.empty(len(items), object)
    for i, item in enumerate(items):
        made[i] = item
    return made


@kernel("RaggedTensorFromVariant")
def ragged_from_variant(node: KernelNode) -> Kernel:
    splits_type, dtype = node.attrs["Tsplits"].np, node.attrs["Tvalues"].np
    wanted, output = node.attrs["input_ragged_rank"], node.attrs["output_ragged_rank"]

    def run(encoded: Any) -> Any:
        array = boxed(encoded)
        rank = output - array.ndim if wanted == -1 else wanted
        if rank < 0:
            raise invalid(
                f"ragged_rank: {rank} is less than 0: {array.ndim} of {output} ragged dimensions are batches"
            )
        if output != array.ndim + rank:
            raise invalid(
                "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
                f"output_ragged_rank: {output}, input_ragged_rank: {rank}, dims: {array.ndim}"
            )
        items = [_of(item, rank, splits_type, dtype) for item in array.reshape(-1).tolist()]
        if not array.ndim:
            return (*items[0].splits, items[0].values) if rank else items[0].values
        outer = [
            np.arange(math.prod(array.shape[:i]) + 1, dtype=splits_type) * array.shape[i]
            for i in range(1, array.ndim)
        ]
        outer.append(_joined([np.array([0, item.rows]) for item in items], splits_type))
        inner = [_joined([item.splits[i] for item in items], splits_type) for i in range(rank)]
        if not items:
            return (*outer, *inner, np.zeros(0, dtype))
        shapes = {item.values.shape[1:] for item in items}
        if len(shapes) > 1:
            first, *_, other = sorted(shapes)
            raise invalid(
                f"All flat_values must have compatible shapes. Shape at index 0: {shape_text(first)}. "
                f"Shape at another one: {shape_text(other)}"
            )
        return (*outer, *inner, np.concatenate([item.values for item in items]))

    return run


def _joined(splits: list[Any], dtype: Any) -> Any:
    """The splits of rows one after the other."""
    lengths = [np.diff(one) for one in splits]
    return np.cumsum(np.concatenate([[0], *lengths]), dtype=dtype)


def _of(item: Any, rank: int, splits_type: Any, dtype: Any) -> RaggedVariant:
    value = unboxed(item)
    if not isinstance(value, RaggedVariant):
        raise invalid("Input Variant element at index 0 doesn't hold a RaggedTensorVariant")
    if len(value.splits) != rank:
        raise invalid(
            f"Encoded input RaggedTensorVariant has ragged_rank={len(value.splits)}. Expected: {rank}"
        )
    if value.values.dtype != dtype:
        raise invalid(f"Expected values Tensor dtype: {dtype}, found: {value.values.dtype}")
    if any(one.dtype != splits_type for one in value.splits):
        raise invalid(f"Expected row_splits Tensor dtype: {splits_type}, found another one")
    if value.values.ndim < 1 and rank:
        raise invalid("Ragged values must have rank >= 1; encoded scalar element")
    return value


@kernel("RaggedTensorToVariantGradient")
def ragged_to_variant_gradient(node: KernelNode) -> Kernel:
    dtype = node.attrs["Tvalues"].np

    def run(encoded: Any, row_splits: Any, shape: Any) -> Any:
        shape = tuple(host_array(shape).tolist())
        items = [unboxed(item) for item in boxed(encoded).reshape(-1).tolist()]
        if not all(isinstance(item, RaggedVariant) for item in items):
            raise invalid("The gradient of a ragged tensor is no ragged tensor")
        parts = [item.values.reshape(-1) for item in items]
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype)
        if flat.size != math.prod(shape) or flat.dtype != dtype:
            raise invalid(
                f"The gradient has {flat.size} values, but those of shape {shape_text(shape)} are wanted"
            )
        return flat.reshape(shape)

    return run


@kernel("RaggedRange")
def ragged_range(node: KernelNode) -> Kernel:
    splits_type, dtype = node.output_types[0].np, node.output_types[1].as_numpy_dtype

    def run(*inputs: Any) -> Any:
        parts = [host_array(x) for x in inputs]
        for name, part in zip(("starts", "limits", "deltas"), parts, strict=True):
            if part.ndim > 1:
                raise invalid(f"{name} must be a scalar or vector")
        sizes = {len(part) for part in parts if part.ndim}
        if len(sizes) > 1:
            raise invalid("starts, limits, and deltas must have the same shape")
        count = sizes.pop() if sizes else 1
        rows, total = [], 0
        for start, limit, delta in zip(*(np.broadcast_to(part, count) for part in parts), strict=True):
            if delta == 0:
                raise invalid("Requires delta != 0")
            size = _range_size(start, limit, delta)
            total += size
            if total > MAX_VALUES or total > np.iinfo(splits_type).max:
                raise invalid("Requires ((limit - start) / delta) to be at most the splits' greatest number")
            steps = np.full(size, delta, dtype)
            steps[:1] = start
            rows.append(np.add.accumulate(steps, dtype=dtype))
        splits = np.cumsum([0, *map(len, rows)])
        return splits.astype(splits_type), np.concatenate(rows) if rows else np.zeros(0, dtype)

    return run


def _range_size(start: Any, limit: Any, delta: Any) -> int:
    if (delta > 0 and limit < start) or (delta < 0 and limit > start):
        return 0
    if start.dtype.kind == "i":
        distance, step = abs(int(limit) - int(start)), abs(int(delta))
        return (distance + step - 1) // step
    size = math.ceil(abs((float(limit) - float(start)) / float(delta)))
    return size


@array_kernel("RaggedGather")
def gather(node: KernelNode) -> Kernel:
    rank, dtype = node.attrs["PARAMS_RAGGED_RANK"], node.attrs["Tsplits"].np
    xp, out_rank = node.xp, node.attrs["OUTPUT_RAGGED_RANK"]

    def run(*inputs: Any) -> Any:
        *nested, values, indices = inputs
        indices = host_array(indices)
        if indices.ndim + rank - 1 != out_rank:
            raise invalid(f"OUTPUT_RAGGED_RANK must be {indices.ndim + rank - 1}, got {out_rank}")
        if not values.ndim:
            raise invalid("params.rank must be nonzero")
        splits = [_checked_splits(x, None) for x in nested]
        for level, array in enumerate(splits):
            limit = len(splits[level + 1]) - 1 if level + 1 < rank else len(values)
            if array[-1] > limit:
                raise invalid("Ragged splits must not point past values")
        rows = len(splits[0]) - 1
        flat = indices.ravel()
        wrong = (flat < 0) | (flat >= rows)
        if wrong.any():
            at = int(wrong.argmax())
            raise invalid(f"indices[{at}] = {flat[at]} is not in [0, {rows})")
        made = []
        for level in range(1, indices.ndim):
            count = math.prod(indices.shape[:level])
            made.append((np.arange(count + 1) * indices.shape[level]).astype(dtype))
        chosen = flat.astype(np.int64)
        for array in splits:
            lengths = array[chosen + 1] - array[chosen]
            made.append(np.concatenate(([0], np.cumsum(lengths))).astype(dtype))
            chosen = _spans(array[chosen], lengths)
        taken = values[chosen] if values.dtype == object else values[xp.asarray(chosen)]
        if not indices.ndim:
            # One row is not ragged by itself: its own splits are one level less.
            made = made[1:]
        return (*made, taken)

    return lambda *inputs: _outputs(run(*inputs))


def _outputs(values: tuple[Any, ...]) -> Any:
    return values if len(values) > 1 else values[0]


def _spans(starts: Any, lengths: Any) -> Any:
    """The indices in spans that begin at `starts`, one after the other."""
    total = int(lengths.sum())
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.arange(total) - before + np.repeat(starts, lengths)


@array_kernel("RaggedTensorToSparse")
def to_sparse(node: KernelNode) -> Kernel:
    def run(*inputs: Any) -> Any:
        *nested, values = inputs
        if not values.ndim:
            raise invalid("values must be at least a vector")
        splits = []
        for level, array in enumerate(nested):
            count = None if level + 1 < len(nested) else len(values)
            splits.append(_checked_splits(array, count))
            if level and splits[level - 1][-1] != len(splits[level]) - 1:
                raise invalid("Final value of a row split is not the number of rows of the next one")
        inner = values.shape[1:]
        columns: list[Any] = []
        for array in splits:
            lengths = np.diff(array)
            rows = np.repeat(np.arange(len(lengths)), lengths)
            columns = [column[rows] for column in columns] if columns else [rows]
            columns.append(np.arange(int(array[-1])) - array[:-1][rows])
        width = math.prod(inner)
        columns = [np.repeat(column, width) for column in columns]
        for axis in range(len(inner)):
            block = np.arange(width) // math.prod(inner[axis + 1 :]) % inner[axis]
            columns.append(np.tile(block, len(values)))
        sizes = [len(splits[0]) - 1, *(int(np.diff(a).max(initial=0)) for a in splits), *inner]
        indices = np.stack(columns, 1).astype(np.int64)
        return indices, values.reshape(-1), np.array(sizes, np.int64)

    return run


@array_kernel("RaggedTensorToTensor")
def to_tensor(node: KernelNode) -> Kernel:
    xp = node.xp
    kinds = [kind.decode() for kind in node.attrs["row_partition_types"]]
    for kind in kinds:
        if kind not in ("FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"):
            raise invalid(f"Unknown string for partition info type: {kind}")
    if len(kinds) != node.attrs["num_row_partition_tensors"]:
        raise invalid("row_partition_types must be one for each row partition tensor")
    if "FIRST_DIM_SIZE" in kinds[1:] or (kinds[0] == "VALUE_ROWIDS"):
        raise invalid("The first row partition must be FIRST_DIM_SIZE or ROW_SPLITS, and no other one")

    def run(shape: Any, values: Any, default: Any, *partitions: Any) -> Any:
        if not values.ndim:
            raise invalid("Can't take slices of a scalar")
        lengths = _row_lengths(kinds, partitions)
        inner = values.shape[1:]
        made = [len(lengths[0]), *(int(row.max(initial=0)) for row in lengths), *inner]
        dims = _asked(shape, made)
        if dims[len(lengths) + 1 :] != list(inner):
            raise invalid(f"The inner dimensions of shape {dims} and those of values {list(inner)} differ")
        try:
            broadcast = np.broadcast_to(host_array(default), inner)
        except ValueError:
            raise invalid(
                f"default_value of shape {shape_text(default.shape)} cannot be broadcast to {list(inner)}"
            ) from None
        outer = dims[: len(lengths) + 1]
        result = np.empty(dims, values.dtype) if values.dtype == object else xp.empty(dims, values.dtype)
        result[...] = broadcast if result.dtype == object else xp.asarray(broadcast)
        # The index of each value along each outer dimension.
        places = [np.arange(len(lengths[0]))]
        for row in lengths:
            if len(row) != len(places[0]):
                raise invalid("Row partitions do not fit each other")
            rows = np.repeat(np.arange(len(row)), row)
            starts = np.cumsum(row) - row
            places = [place[rows] for place in places]
            places.append(np.arange(len(rows)) - starts[rows])
        if len(places[0]) > len(values):
            raise invalid(f"{len(places[0])} values are asked for, but there are {len(values)}")
        keeps = np.ones(len(places[0]), bool)
        for place, size in zip(places, outer, strict=True):
            keeps &= place < size
        chosen = np.flatnonzero(keeps)
        result[tuple(place[chosen] for place in places)] = values[chosen]
        return result

    return run


def _row_lengths(kinds: list[str], partitions: tuple[Any, ...]) -> list[Any]:
    """The number of rows or values of each row, level by level."""
    lengths: list[Any] = []
    count: int | None = None
    for kind, partition in zip(kinds, partitions, strict=True):
        array = host_array(partition)
        if kind == "FIRST_DIM_SIZE":
            count = int(array)
            if count < 0:
                raise invalid(f"FIRST_DIM_SIZE must be at least 0, got {count}")
            continue
        if kind == "ROW_SPLITS":
            splits = _checked_splits(array, None)
            row = np.diff(splits)
        else:
            rows = 0 if count is None else count
            if array.ndim != 1 or (array.size and (array.min() < 0 or array.max() >= rows)):
                raise invalid(f"value_rowids must be a vector of numbers in [0, {rows})")
            if (array[1:] < array[:-1]).any():
                raise invalid("value_rowids must not decrease")
            row = np.bincount(array, minlength=rows)
        if count is not None and len(row) != count:
            raise invalid(f"A row partition has {len(row)} rows, expected {count}")
        lengths.append(row.astype(np.int64))
        count = int(row.sum())
    return lengths


def _asked(shape: Any, made: list[int]) -> list[int]:
    sizes = host_array(shape)
    if not sizes.ndim:
        if sizes != -1:
            raise invalid("The only valid scalar shape tensor is the fully unknown shape specified as -1.")
        return made
    if sizes.ndim != 1:
        raise invalid(f"shape must be a vector, got shape {shape_text(sizes.shape)}")
    if len(sizes) != len(made):
        raise invalid(f"shape has {len(sizes)} dimensions, but the ragged tensor has {len(made)}")
    if (sizes < -1).any():
        raise invalid(f"Dimension {sizes.min()} must be >= -1")
    return [own if size < 0 else size for size, own in zip(sizes.tolist(), made, strict=True)]


@array_kernel("RaggedFillEmptyRows")
def fill_empty_rows(node: KernelNode) -> Kernel:
    def run(row_ids: Any, values: Any, count: Any, default: Any) -> Any:
        rows = host_array(row_ids)
        if rows.ndim != 1 or values.ndim != 1 or len(rows) != len(values):
            raise invalid("value_rowids and values must be vectors of one length")
        if np.ndim(count) or np.ndim(default):
            raise invalid("nrows and default_value must be scalars")
        total = int(count)
        if total < 0 or (rows.size and (rows.min() < 0 or rows.max() >= total)):
            at = int(((rows < 0) | (rows >= total)).argmax()) if rows.size else 0
            raise invalid(f"rowid({at}) is not in [0, {total})")
        lengths = np.bincount(rows, minlength=total)
        empty = lengths == 0
        sizes = np.maximum(lengths, 1)
        starts = np.cumsum(sizes) - sizes
        order = np.argsort(rows, kind="stable")
        within = np.empty(len(rows), np.int64)
        within[order] = np.arange(len(rows)) - (np.cumsum(lengths) - lengths)[rows[order]]
        places = starts[rows] + within
        result = np.empty(int(sizes.sum()), values.dtype)
        result[...] = host_array(default)[()]
        result[places] = host_array(values)
        made = result if result.dtype == object else node.xp.asarray(result)
        return np.repeat(np.arange(total), sizes), made, empty, places

    return run


@kernel("RaggedFillEmptyRowsGrad")
def fill_empty_rows_grad(node: KernelNode) -> Kernel:
    def run(reverse: Any, grad: Any) -> Any:
        places = host_array(reverse)
        if places.ndim != 1 or grad.ndim != 1:
            raise invalid("reverse_index_map and grad_values must be vectors")
        if places.size and (places.min() < 0 or places.max() >= len(grad)):
            raise invalid(f"Elements in reverse index must be in [0, {len(grad)})")
        rest = np.ones(len(grad), bool)
        rest[places] = False
        return grad[places], grad[rest].sum(dtype=grad.dtype)

    return run


@kernel("RaggedBincount", "SparseBincount")
def bincount(node: KernelNode) -> Kernel:
    binary, dtype, is_ragged = (
        node.attrs["binary_output"],
        node.output_types[0].np,
        node.op.startswith("Ragged"),
    )

    def run(*inputs: Any) -> Any:
        shape: tuple[int, ...]
        weights, size = host_array(inputs[-1]), host_array(inputs[-2])
        values = host_array(inputs[1])
        if size.ndim:
            raise invalid(f"Shape must be rank 0 but is rank {size.ndim}")
        width = int(size)
        if width < 0:
            raise invalid(f"size ({width}) must be non-negative")
        if weights.size and weights.shape != values.shape:
            raise invalid(
                f"`weights` must be the same shape as `values` or a length-0 `Tensor`, in which case it acts "
                f"as all weights equal to 1. Received {shape_text(weights.shape)}"
            )
        flat = values.ravel()
        if is_ragged:
            splits = _checked_count_splits(inputs[0], len(flat))
            rows, shape = np.repeat(np.arange(len(splits) - 1), np.diff(splits)), (len(splits) - 1, width)
        else:
            indices, dense = host_array(inputs[0]), host_array(inputs[2])
            _check_sparse(indices, flat, dense)
            if dense.size == 1:
                rows, shape = np.zeros(len(flat), int), (width,)
            else:
                rows, shape = indices[:, 0], (int(dense[0]), width)
        if flat.size and flat.min() < 0:
            raise invalid("Input must be non-negative")
        result = np.zeros((shape[0] if len(shape) > 1 else 1, width), dtype)
        inside = flat < width
        if binary:
            result[rows[inside], flat[inside]] = 1
        else:
            given = weights.ravel()[inside] if weights.size else np.ones(int(inside.sum()), dtype)
            np.add.at(result, (rows[inside], flat[inside]), given)
        return node.xp.asarray(result.reshape(shape))

    return run


@kernel("DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput")
def count_sparse(node: KernelNode) -> Kernel:
    attrs, dtype = node.attrs, node.output_types[1].np
    least, most, binary = attrs["minlength"], attrs["maxlength"], attrs["binary_output"]
    kind = node.op.removesuffix("CountSparseOutput")

    def run(*inputs: Any) -> Any:
        weights = host_array(inputs[-1])
        values = host_array(inputs[0 if kind == "Dense" else 1])
        if weights.size and weights.shape != values.shape:
            raise invalid(
                f"Weights and values must have the same shape. Weight shape: {shape_text(weights.shape)}; "
                f"values shape: {shape_text(values.shape)}"
            )
        rows, count, is_vector = _rows_of(kind, inputs, values)
        flat = values.ravel()
        if flat.size and flat.min() < 0:
            raise invalid("Input values must all be non-negative")
        counts: list[dict[int, Any]] = [{} for _ in range(count)]
        given = weights.ravel().tolist() if weights.size else [1] * flat.size
        for row, value, weight in zip(rows.tolist(), flat.tolist(), given, strict=True):
            if most < 0 or value < most:
                counts[row][value] = 1 if binary else counts[row].get(value, 0) + weight
        top = int(flat.max(initial=-1)) + 1
        width = max(top, least) if least > 0 else top
        width = most if most > 0 and width > most else width
        indices = [
            ([] if is_vector else [row]) + [value]
            for row, found in enumerate(counts)
            for value in sorted(found)
        ]
        made = [found[value] for found in counts for value in sorted(found)]
        return (
            np.array(indices, np.int64).reshape(-1, 1 if is_vector else 2),
            np.array(made, dtype),
            np.array([width] if is_vector else [count, width], np.int64),
        )

    return run


def _checked_count_splits(splits: Any, count: int) -> Any:
    array = host_array(splits)
    if not array.size:
        raise invalid("Splits must be non-empty")
    if array.ndim == 1 and array[0]:
        raise invalid(f"Splits must start with 0, not with {array[0]}")
    if array.ndim == 1 and array[-1] != count:
        raise invalid(f"Splits must end with the number of values, got {array[-1]} instead of {count}")
    return _checked_splits(splits, count)


def _check_sparse(indices: Any, values: Any, shape: Any) -> None:
    """Raises InvalidArgumentError where indices, values and the dense shape make no SparseTensor."""
    if indices.ndim != 2:
        raise invalid(f"indices must be a matrix, got shape {shape_text(indices.shape)}")
    if len(indices) != len(values):
        raise invalid(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not match"
        )
    if indices.shape[1] != shape.size:
        raise invalid(f"Index rank ({indices.shape[1]}) and shape rank ({shape.size}) do not match")
    outside = ((indices < 0) | (indices >= shape)).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        listed = ", ".join(map(str, indices[row].tolist()))
        raise invalid(f"Sparse index tuple indices[{row}, :] = [{listed}] is out of bounds")


def _rows_of(kind: str, inputs: tuple[Any, ...], values: Any) -> tuple[Any, int, bool]:
    """The row of each value, the number of rows, and whether the input is a vector."""
    if kind == "Dense":
        if values.ndim not in (1, 2):
            raise invalid(f"Input must be a 1 or 2-dimensional tensor. Got: {shape_text(values.shape)}")
        if values.ndim == 1:
            return np.zeros(values.size, int), 1, True
        return np.repeat(np.arange(len(values)), values.shape[1]), len(values), False
    if kind == "Ragged":
        splits = _checked_splits(inputs[0], values.size)
        return np.repeat(np.arange(len(splits) - 1), np.diff(splits)), len(splits) - 1, False
    indices, shape = host_array(inputs[0]), host_array(inputs[2])
    if indices.ndim != 2 or values.ndim != 1 or len(indices) != len(values) or shape.ndim != 1:
        raise invalid("indices, values and dense_shape make no sparse tensor")
    if indices.shape[1] != shape.size or shape.size not in (1, 2):
        raise invalid(f"Sparse tensor must be a vector or a matrix, got {shape.size} dimensions")
    if (shape < 0).any() or (indices < 0).any() or (indices >= shape).any():
        raise invalid("An index of a sparse tensor is out of its shape")
    if shape.size == 1:
        return np.zeros(values.size, int), 1, True
    return indices[:, 0], int(shape[0]), False
