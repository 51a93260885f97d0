"""Crosses of SparseTensors: all combinations of the elements of each row, as texts or as hashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors, string_arrays
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import Array, check
from tensorfleet_service.kernels.text.hashing import farmhash, hash_strings
from tensorfleet_service.kernels.values import (
    STRINGS_PART,
    array_kernel,
    each_string,
    invalid,
    shape_text,
    string_vector,
)
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

MAX_CROSSES = 1 << 26
"""Limit on the combinations of one step."""

_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_47 = np.uint64(47)


def _columns(node: KernelNode, inputs: Any) -> list[tuple[Array, Array]]:
    """The ends of the rows of each input, and its elements in order; SparseTensors first.

    Raises:
        InvalidArgumentError: they are not matrices with the same number of rows.
    """
    return _columns_of(inputs, node.attrs["N"])


def _columns_of(inputs: Any, n: int, batch: int | None = None) -> list[tuple[Array, Array]]:
    indices, values, shapes, dense = inputs[:n], inputs[n : 2 * n], inputs[2 * n : 3 * n], inputs[3 * n :]
    rows = [int(shape[0]) for shape in shapes if shape.ndim == 1 and len(shape)]
    rows += [len(x) for x in dense if x.ndim]
    if batch is not None:
        rows.insert(0, batch)
    result = []
    for places, found, shape in zip(indices, values, shapes, strict=True):
        check(places, found, shape)
        if len(shape) != 2:
            raise invalid(f"shape should imply a 2D tensor, but got {shape_text(shape)}")
        first = places[:, 0]
        if len(first) and (first[0] < 0 or first[-1] >= rows[0] or (first[1:] < first[:-1]).any()):
            raise invalid("The rows of the indices must be in order, and inside of the shape")
        result.append((np.searchsorted(first, np.arange(rows[0]), side="right"), found))
    for x in dense:
        if x.ndim != 2:
            raise invalid(f"Dense inputs should be a matrix but received shape {shape_text(x.shape)}")
        result.append((np.arange(1, len(x) + 1) * x.shape[1], x.reshape(-1)))
    if len(set(rows)) > 1:
        raise invalid(f"Expected batch size {rows[0]} of all inputs, got {rows}")
    return result


def _crossed(
    columns: list[tuple[Array, Array]],
    first: Callable[[int], Array],
    join: Callable[[Array, Array, int], Array],
    dtype: Any,
) -> Any:
    """The parts of the SparseTensor of all combinations, those of the last input next to each other.

    Args:
        first: the function from a number of combinations to their beginnings.
        join: the function from combinations, the elements to append and the input's index to longer ones.
    """
    rows = len(columns[0][0]) if columns else 0
    starts = [np.concatenate([[0], ends]) for ends, _ in columns]
    lengths = [np.diff(begins) for begins in starts]
    size = float(np.prod(np.array(lengths, np.float64), 0).sum()) if columns else 0.0
    if size > MAX_CROSSES:
        text = f"{size:.0f} combinations are more than the {MAX_CROSSES} that a step may make"
        raise errors.ResourceExhaustedError(None, None, text)
    counts = np.prod(np.array(lengths, np.int64), 0) if columns else np.zeros(0, np.int64)
    total = int(counts.sum())
    row = unlocked.repeat(np.arange(rows), counts)
    number = np.arange(total) - unlocked.repeat(np.cumsum(counts) - counts, counts)
    made = first(total)
    # Each element of an input stands in as many combinations in a row as the inputs behind it have.
    behind = counts.copy()
    for i, (_, values) in enumerate(columns):
        length = np.maximum(lengths[i], 1)
        behind //= length
        inner = np.maximum(behind, 1)[row]
        at = starts[i][row] + number // inner % length[row]
        made = join(made, values[at], i)
    places = np.stack([row, number], 1).astype(np.int64)
    widest = int(counts.max()) if rows else 0
    return places, made.astype(dtype, copy=False), np.array([rows, widest], np.int64)


def _texts(values: Array) -> Array:
    """The elements as strings."""
    if values.dtype == object:
        return values
    return string_vector([str(value).encode() for value in each_string(values)])


@array_kernel("SparseCrossV2")
def sparse_cross(node: KernelNode) -> Kernel:
    def run(*inputs: Any) -> Any:
        *parts, separator = inputs
        between = separator.item()
        return _joined(_columns(node, parts), between)

    return run


def _mixed(value: Any) -> Any:
    return value ^ (value >> _47)


def _fingerprints(values: Array) -> Array:
    return hash_strings(values, farmhash) if values.dtype == object else values.astype(np.uint64)


@array_kernel("SparseCross")
def sparse_cross_hashed(node: KernelNode) -> Kernel:
    if not node.attrs["hashed_output"]:
        raise errors.UnimplementedError(
            None, None, "SparseCross makes hashes only: use SparseCrossV2 for strings"
        )
    key = np.uint64(node.attrs["hash_key"] & (1 << 64) - 1)
    limit = np.uint64(node.attrs["num_buckets"] or (1 << 63) - 1)

    def run(*inputs: Any) -> Any:
        places, made, shape = _hashes(_columns(node, inputs), key)
        return places, (made % limit).astype(np.int64), shape

    return run


def _hashes(columns: list[tuple[Array, Array]], key: Any) -> Any:
    """As `_crossed`, with a hash of each combination that begins with `key`."""

    def join(made: Array, values: Array, number: int) -> Array:
        made = made ^ _MULTIPLIER ^ (_mixed(values * _MULTIPLIER) * _MULTIPLIER)
        hashes: Array = _mixed(_mixed(made * _MULTIPLIER) * _MULTIPLIER)
        return hashes

    found = [(ends, _fingerprints(values)) for ends, values in columns]
    return _crossed(found, lambda count: np.full(count, key), join, np.uint64)


def _joined(columns: list[tuple[Array, Array]], between: bytes) -> Any:
    """As `_crossed`, with the texts of each combination."""

    def join(made: Array, values: Array, number: int) -> Array:
        if not number:
            return values
        for begin in range(0, made.size, STRINGS_PART):
            check_step()
            part = slice(begin, begin + STRINGS_PART)
            made[part] = made[part] + between + values[part]
        return made

    found = [(ends, _texts(values)) for ends, values in columns]
    return _crossed(found, string_arrays.empty, join, object)


@array_kernel("RaggedCross")
def ragged_cross(node: KernelNode) -> Kernel:
    attrs = node.attrs
    order, n = attrs["input_order"].decode(), attrs["Nsparse"]
    count, dense = order.count("R"), order.count("D")
    if (order.count("S"), len(order)) != (n, count + n + dense) or (
        (count, dense) != (len(attrs["ragged_values_types"]), len(attrs["dense_types"]))
    ):
        raise invalid(f"input_order {order!r} does not say what the {n + count + dense} inputs are")
    key = np.uint64(attrs["hash_key"] & (1 << 64) - 1)
    limit = np.uint64(attrs["num_buckets"] or (1 << 63) - 1)
    splits_type, hashed = attrs["out_row_splits_type"].np, attrs["hashed_output"]

    def run(*inputs: Any) -> Any:
        ragged = []
        for values, splits in zip(inputs[:count], inputs[count : 2 * count], strict=True):
            if splits.ndim != 1 or not splits.size or splits[0] != 0 or (splits[1:] < splits[:-1]).any():
                raise invalid("Invalid value for ragged splits: they must begin with 0 and ascend")
            if values.ndim != 1 or splits[-1] != len(values):
                raise invalid("tensor values must be 1D, and the last of the splits their number")
            ragged.append((splits[1:].astype(np.int64), values))
        batches = {len(ends) for ends, _ in ragged}
        if len(batches) > 1:
            raise invalid("inputs must all have the same batch dimension size.")
        rest = _columns_of(inputs[2 * count :], n, batches.pop() if batches else None)
        parts = {"R": iter(ragged), "S": iter(rest[:n]), "D": iter(rest[n:])}
        columns = [next(parts[kind]) for kind in order]
        if hashed:
            places, made, shape = _hashes(columns, key)
            made = (made % limit).astype(np.int64)
        else:
            places, made, shape = _joined(columns, b"_X_")
        return made, np.searchsorted(places[:, 0], np.arange(shape[0] + 1)).astype(splits_type)

    return run
