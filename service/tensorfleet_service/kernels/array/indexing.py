"""Picking and placing by indices: Gather, GatherNd, ScatterNd, TensorScatter…, OneHot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, string_arrays
from tensorfleet_service.devices.native import add_rows
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import (
    array_kernel,
    array_module,
    ints,
    invalid,
    shape_text,
)
from tensorfleet_service.threads import unlocked


@array_kernel("Gather")
def gather(node: KernelNode) -> Kernel:
    def run(params: Any, indices: Any) -> Any:
        if params.ndim == 0:
            raise invalid("params must be at least 1 dimensional")
        return taken(node.xp, params, indices, 0)

    return run


@array_kernel("GatherV2")
def gather_v2(node: KernelNode) -> Kernel:
    xp, batch_dims = node.xp, node.attrs["batch_dims"]

    def run(params: Any, indices: Any, axis: Any) -> Any:
        at = _checked_axis(params, axis)
        return taken(xp, params, indices, at)

    def batched(params: Any, indices: Any, axis: Any) -> Any:
        at = _checked_axis(params, axis)
        count = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
        if not 0 <= count <= indices.ndim:
            raise invalid(
                f"Expected batch_dims in the range [{-indices.ndim}, {indices.ndim}], but got {batch_dims}"
            )
        if count > at:
            raise invalid(f"batch_dims ({count}) must be less than or equal to axis ({at}).")
        for i in range(count):
            if params.shape[i] != indices.shape[i]:
                raise invalid(
                    f"params.shape[{i}]: {params.shape[i]} should be equal to indices.shape[{i}]: "
                    f"{indices.shape[i]}"
                )
        safe = indices
        if xp is np:
            check_range(indices, params.shape[at])
        else:
            inside = (indices >= 0) & (indices < params.shape[at])
            safe = xp.where(inside, indices, 0)
        # As [batch, before, size, after] and [batch, places], with all places of a batch at once.
        batch, before = math.prod(params.shape[:count]), math.prod(params.shape[count:at])
        after, places = math.prod(params.shape[at + 1 :]), math.prod(indices.shape[count:])
        table = params.reshape(batch, before, params.shape[at], after)
        found = table[xp.arange(batch)[:, None], :, safe.reshape(batch, places)]
        if xp is not np:
            found = xp.where(inside.reshape(batch, places, 1, 1), found, params.dtype.type(0))
        dims = (*params.shape[:at], *indices.shape[count:], *params.shape[at + 1 :])
        return found.transpose(0, 2, 1, 3).reshape(dims)

    return batched if batch_dims else run


def _checked_axis(params: Any, axis: Any) -> int:
    if axis.ndim:
        raise invalid("axis must be scalar")
    at, rank = int(axis), int(params.ndim)
    if not rank:
        raise invalid("params must be at least 1 dimensional")
    if not -rank <= at < rank:
        raise invalid(f"Expected axis in the range [{-rank}, {rank}), but got {at}")
    return at % rank


def taken(xp: Any, params: Any, indices: Any, axis: int) -> Any:
    """The slices of `params` at indices of an axis.

    An index out of range is refused on the CPU. A GPU, which the host would have to wait for, gives zeros, as
    in TensorFlow.
    """
    size = params.shape[axis]
    if array_module(xp, params) is np:
        check_range(indices, size)
        if params.dtype == object and indices.size * params.size >= string_arrays.LARGE * max(size, 1):
            return string_arrays.moved(lambda numbers: numbers.take(indices, axis), (params,))
        return params.take(indices, axis)
    if not size:
        return xp.zeros((*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]), params.dtype)
    inside = (indices >= 0) & (indices < size)
    found = params.take(xp.where(inside, indices, 0), axis)
    inside = inside.reshape(*indices.shape, *(1,) * (params.ndim - axis - 1))
    return xp.where(inside, found, params.dtype.type(0))


def check_range(indices: Any, limit: int) -> None:
    """Raises InvalidArgumentError where an index is not in [0, limit)."""
    if indices.size and not (indices.min() >= 0 and indices.max() < limit):
        bad = np.argwhere((indices < 0) | (indices >= limit))[0].tolist()
        place = ",".join(map(str, bad))
        where = f"indices[{place}]" if bad else "indices"
        raise invalid(f"{where} = {int(indices[tuple(bad)])} is not in [0, {limit})")


@array_kernel("GatherNd", moves=True)
def gather_nd(node: KernelNode) -> Kernel:
    xp, ignore = node.xp, node.attrs["bad_indices_policy"] == b"IGNORE"

    def run(params: Any, indices: Any) -> Any:
        if params.ndim == 0:
            raise invalid("params must be at least a vector")
        if indices.ndim == 0:
            raise invalid("indices must be at least a vector")
        depth = indices.shape[-1]
        if depth > params.ndim:
            raise invalid(
                f"index innermost dimension length must be <= params rank; saw: {depth} vs. {params.ndim}"
            )
        if not params.size and math.prod(indices.shape[:-1]):
            raise invalid(
                "Requested more than 0 entries, but params is empty.  Params shape: "
                f"{shape_text(params.shape)}"
            )
        columns, bad = _columns(indices, params.shape)
        if bad.any() and not ignore:
            raise invalid(
                f"{_bad_place(indices, bad)} does not index into param shape "
                f"{shape_text(params.shape)}, node "
                f"name: {node.name}"
            )
        if not depth:
            return xp.broadcast_to(params, (*indices.shape[:-1], *params.shape))
        found = params[columns]
        if bad.any():
            found = found.copy()
            found[bad] = b"" if params.dtype.hasobject else 0
        return found

    return run


def _columns(indices: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], Any]:
    """The coordinates as NumPy takes them, with 0 in place of bad ones, and a mask of the bad indices."""
    columns = [indices[..., i] for i in range(indices.shape[-1])]
    bad = np.zeros(indices.shape[:-1], np.bool_)
    for column, size in zip(columns, shape, strict=False):
        bad = bad | (column < 0) | (column >= size)
    if bad.any():
        columns = [c * ~bad for c in columns]
    return tuple(columns), bad


def _bad_place(indices: Any, bad: Any) -> str:
    place = np.argwhere(bad)[0].tolist()
    coordinates = ", ".join(map(str, np.atleast_1d(indices[tuple(place)]).tolist()))
    return (
        f"indices[{','.join(map(str, place))}] = [{coordinates}]" if place else f"indices = [{coordinates}]"
    )


@array_kernel("ScatterNd")
def scatter_nd(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    xp, ignore = node.xp, node.attrs["bad_indices_policy"] == b"IGNORE"

    def run(indices: Any, updates: Any, shape: Any) -> Any:
        if shape.ndim != 1:
            raise invalid("Shape must be a vector")
        dims = ints(shape)
        if min(dims, default=0) < 0:
            raise invalid(f"Dimension {min(dims)} must be >= 0")
        result = string_arrays.filled(dims, b"") if dtype is dtypes.string else xp.zeros(dims, dtype.np)
        return _scatter(xp, _add, result, indices, updates, ignore, _scatter_nd_error)  # strings are joined

    return run


def _update(xp: Any, table: Any, places: Any, updates: Any) -> None:
    table[places] = updates


def _add(xp: Any, table: Any, places: Any, updates: Any) -> None:
    if xp is np and table.dtype == np.float32 and table.size and table.flags.c_contiguous:
        rows = math.prod(table.shape[: len(places)])
        flat = np.ravel_multi_index(places, table.shape[: len(places)]).reshape(-1)
        if add_rows(table.reshape(rows, -1), flat, np.ascontiguousarray(updates)):
            return
    unlocked.at(xp.add, table, places, updates)


def _subtract(xp: Any, table: Any, places: Any, updates: Any) -> None:
    unlocked.at(xp.subtract, table, places, updates)


def _minimum(xp: Any, table: Any, places: Any, updates: Any) -> None:
    unlocked.at(xp.minimum, table, places, updates)


def _maximum(xp: Any, table: Any, places: Any, updates: Any) -> None:
    unlocked.at(xp.maximum, table, places, updates)


_TENSOR_SCATTER = {
    "TensorScatterUpdate": _update,
    "TensorScatterAdd": _add,
    "ScatterNdNonAliasingAdd": _add,
    "TensorScatterSub": _subtract,
    "TensorScatterMin": _minimum,
    "TensorScatterMax": _maximum,
}


@array_kernel("TensorScatterUpdate", moves=True)
@array_kernel(*(name for name in _TENSOR_SCATTER if name != "TensorScatterUpdate"))
def tensor_scatter(node: KernelNode) -> Kernel:
    xp, scatter = node.xp, _TENSOR_SCATTER[node.op]
    ignore = node.attrs["bad_indices_policy"] == b"IGNORE"

    def run(tensor: Any, indices: Any, updates: Any) -> Any:
        if tensor.ndim == 0:
            raise invalid("Output must be at least 1-D, got shape: []")
        return _scatter(xp, scatter, tensor.copy(), indices, updates, ignore, _tensor_scatter_error)

    return run


Mismatch = Callable[[Any, Any, Any], str]
"""What a family of ops says where indices, updates and the output do not fit."""


def _scatter_nd_error(output: Any, indices: Any, updates: Any) -> str:
    if not output.size and (indices.size or updates.size):
        return f"Indices and updates specified for empty output.  indices shape: {shape_text(indices.shape)}"
    outer, depth = indices.ndim - 1, indices.shape[-1]
    if updates.shape[:outer] != indices.shape[:-1]:
        return (
            f"Dimensions [0,{outer}) of indices[shape={shape_text(indices.shape)}] must match "
            f"dimensions [0,{outer}) of updates[shape={shape_text(updates.shape)}]"
        )
    return (
        f"Dimensions [{depth},{output.ndim}) of input[shape={shape_text(output.shape)}] must match "
        f"dimensions [{outer},{updates.ndim}) of updates[shape={shape_text(updates.shape)}]"
    )


def _tensor_scatter_error(output: Any, indices: Any, updates: Any) -> str:
    if not output.size and (indices.size or updates.size):
        return "Indices and updates specified for empty output shape"
    if updates.shape[: indices.ndim - 1] != indices.shape[:-1]:
        return (
            "Outer dimensions of indices and update must match. Indices shape: "
            f"{shape_text(indices.shape)}, updates shape:{shape_text(updates.shape)}"
        )
    inner, given = output.ndim - indices.shape[-1], updates.ndim - indices.ndim + 1
    if inner == given:
        return (
            f"The inner {inner} dimensions of output.shape={shape_text(output.shape)} must match the inner "
            f"{given} dimensions of updates.shape={shape_text(updates.shape)}"
        )
    return (
        "Inner dimensions of output shape must match inner dimensions of updates shape. Output: "
        f"{shape_text(output.shape)} updates: {shape_text(updates.shape)}"
    )


def _scatter(
    xp: Any, scatter: Any, result: Any, indices: Any, updates: Any, ignore: bool, mismatch: Mismatch
) -> Any:
    """`result`, after the updates."""
    shape = result.shape
    for name, value in (("Indices", indices), ("Updates", updates)):
        if value.ndim == 0:
            raise invalid(f"{name} shape must have rank at least one. Found:{shape_text(value.shape)}")
    depth, outer = indices.shape[-1], indices.shape[:-1]
    if depth > len(shape):
        raise invalid(
            f"Index innermost dimension length must be <= tensor rank; saw: {depth} vs. {len(shape)}"
        )
    fits = updates.shape[: len(outer)] == outer and updates.shape[len(outer) :] == shape[depth:]
    if not fits or (not result.size and (indices.size or updates.size)):
        raise invalid(mismatch(result, indices, updates))
    if not result.size:
        return result  # nothing fits but empty updates, however many rows of no coordinates there are
    columns, bad = _columns(indices, shape)
    if bad.any():
        if not ignore:
            raise invalid(f"{_bad_place(indices, bad)} does not index into shape {shape_text(shape)}")
        columns, updates = tuple(c[~bad] for c in columns), updates[~bad]
    if depth:
        scatter(xp, result, columns, updates)
    else:
        for update in updates.reshape(-1, *shape):
            scatter(xp, result, (), update)
    return result


def _hot_rows(indices: Any, size: int, on_value: Any, off_value: Any, dtype: Any) -> Any:
    """`one_hot` along the last axis: only the hot elements are looked for."""
    rows = np.zeros((indices.size, size), dtype)  # of pages that the system clears
    if rows.dtype.hasobject or any(off_value.tobytes()):  # -0.0 is another zero
        rows[...] = off_value
    flat = indices.reshape(-1)
    inside = (flat >= 0) & (flat < size)
    rows[np.flatnonzero(inside), flat[inside]] = on_value
    return rows.reshape(*indices.shape, size)


@array_kernel("OneHot")
def one_hot(node: KernelNode) -> Kernel:
    xp, axis, dtype = node.xp, node.attrs["axis"], node.output_types[0].np

    def run(indices: Any, depth: Any, on_value: Any, off_value: Any) -> Any:
        if not -1 <= axis <= indices.ndim:
            raise invalid(f"Expected axis to be -1 or between [0, {indices.ndim + 1}).  But received: {axis}")
        for name, value in (("depth", depth), ("on_value", on_value), ("off_value", off_value)):
            if value.ndim:
                raise invalid(f"{name} must be a scalar, but got: {shape_text(value.shape)}")
        size = int(depth)
        if size < 0:
            raise invalid(f"depth must be non-negative, got: {size}")
        place = indices.ndim if axis == -1 else axis
        if place == indices.ndim and size and type(indices) is np.ndarray:
            return _hot_rows(indices, size, on_value, off_value, dtype)
        steps = array_module(xp, indices).arange(size)
        steps = steps.reshape([size] + [1] * (indices.ndim - place))
        dims = (*indices.shape[:place], 1, *indices.shape[place:])
        return xp.where(indices.reshape(dims) == steps, on_value, off_value).astype(dtype, copy=False)

    return run
