"""Kernels of `tensorfleet.ops.array.ragged`. Row splits are in host memory, as shapes depend on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import string_arrays
from tensorfleet_service.kernels.array.row_splits import checked_splits
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import array_kernel, host_array, invalid, no_strings, shape_text
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

MAX_VALUES = 1 << 31
"""Limit on the values of a range."""


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
        starts, limits, deltas = (np.broadcast_to(part, count) for part in parts)
        if (deltas == 0).any():
            raise invalid("Requires delta != 0")
        lengths = _range_sizes(starts, limits, deltas)
        most = min(MAX_VALUES, np.iinfo(splits_type).max)
        total = float(lengths.sum(dtype=np.float64))
        if not total <= most:
            raise invalid("Requires ((limit - start) / delta) to be at most the splits' greatest number")
        splits = np.zeros(count + 1, splits_type)
        np.cumsum(lengths.astype(splits_type), out=splits[1:])
        return splits, _ranges(starts.astype(dtype), deltas.astype(dtype), splits.astype(np.int64))

    return run


def _range_sizes(starts: Any, limits: Any, deltas: Any) -> Any:
    """How many numbers each range has; not finite where that is beyond all bounds."""
    empty = np.where(deltas > 0, limits < starts, limits > starts)
    if starts.dtype.kind != "i":
        with np.errstate(invalid="ignore", over="ignore"):
            sizes = np.ceil(np.abs((limits.astype(np.float64) - starts) / deltas))
        return np.where(empty, 0, sizes)
    # Differences of any two numbers fit into unsigned ones.
    first, last, step = (x.astype(np.int64).astype(np.uint64) for x in (starts, limits, deltas))
    rises = deltas > 0
    distance = np.where(rises, last - first, first - last)
    step = np.where(rises, step, np.uint64(0) - step)
    return np.where(empty, 0, distance // step + (distance % step != 0))


_LONG = 1 << 10
"""Length from which on a range is computed by itself; shorter ones together, number by number."""


def _ranges(starts: Any, deltas: Any, splits: Any) -> Any:
    """The numbers of all ranges. Each is the sum of the one before it and the step, as in TensorFlow."""
    result = np.empty(int(splits[-1]), starts.dtype)
    lengths = np.diff(splits)
    for i in np.flatnonzero(lengths > _LONG).tolist():
        check_step()
        steps = np.full(lengths[i], deltas[i])
        steps[0] = starts[i]
        np.add.accumulate(steps, out=result[splits[i] : splits[i + 1]])
    rows = np.flatnonzero((lengths > 0) & (lengths <= _LONG))
    number, place = starts[rows], 0
    while rows.size:
        check_step()
        result[splits[rows] + place] = number
        place += 1
        kept = lengths[rows] > place
        rows = rows[kept]
        number = number[kept] + deltas[rows]
    return result


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
        splits = [checked_splits(x, None) for x in nested]
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
    before = unlocked.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.arange(total) - before + unlocked.repeat(starts, lengths)


@array_kernel("RaggedTensorToSparse")
def to_sparse(node: KernelNode) -> Kernel:
    def run(*inputs: Any) -> Any:
        *nested, values = inputs
        if not values.ndim:
            raise invalid("values must be at least a vector")
        splits = []
        for level, array in enumerate(nested):
            count = None if level + 1 < len(nested) else len(values)
            splits.append(checked_splits(array, count))
            if level and splits[level - 1][-1] != len(splits[level]) - 1:
                raise invalid("Final value of a row split is not the number of rows of the next one")
        inner = values.shape[1:]
        columns: list[Any] = []
        for array in splits:
            lengths = np.diff(array)
            rows = unlocked.repeat(np.arange(len(lengths)), lengths)
            columns = [column[rows] for column in columns] if columns else [rows]
            columns.append(np.arange(int(array[-1])) - array[:-1][rows])
        width = math.prod(inner)
        columns = [unlocked.repeat(column, width) for column in columns]
        for axis in range(len(inner)):
            block = np.arange(width) // math.prod(inner[axis + 1 :]) % inner[axis]
            columns.append(np.broadcast_to(block, (len(values), width)).reshape(-1))
        sizes = [len(splits[0]) - 1, *(int(np.diff(a).max(initial=0)) for a in splits), *inner]
        indices = np.stack(columns, 1).astype(np.int64)
        return indices, values.reshape(-1), np.array(sizes, np.int64)

    return run


@array_kernel("RaggedTensorToTensor", moves=True)
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
        if values.dtype == object and not inner:
            result = string_arrays.filled(dims, broadcast[()], check_step)
        elif values.dtype == object:
            result = string_arrays.empty(dims)
            result[...] = broadcast
        else:
            result = xp.empty(dims, values.dtype)
            result[...] = xp.asarray(broadcast)
        # The index of each value along each outer dimension.
        places = [np.arange(len(lengths[0]))]
        for row in lengths:
            if len(row) != len(places[0]):
                raise invalid("Row partitions do not fit each other")
            rows = unlocked.repeat(np.arange(len(row)), row)
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
            splits = checked_splits(array, None)
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
        return unlocked.repeat(np.arange(total), sizes), made, empty, places

    return run


@kernel("RaggedFillEmptyRowsGrad")
def fill_empty_rows_grad(node: KernelNode) -> Kernel:
    no_strings(node)

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
