"""Scatter: writing slices of an array at positions that a tensor of indices names."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet_service.devices.native import add_rows
from tensorfleet_service.threads import unlocked

Scatter = Callable[[Any, Any, Any], None]
"""A function of (array to change, indices, updates)."""


def scatter_function(op_type: str, xp: ModuleType) -> Scatter:
    """The function of a Scatter op type on an array: by `ScatterAdd`, `ResourceScatterNdUpdate`, …"""
    is_resource = op_type.startswith("Resource")
    kind = op_type.removeprefix("Resource").removeprefix("Scatter")
    is_nd = kind.startswith("Nd")
    combine = _combine(kind.removeprefix("Nd"), xp)
    if is_nd:

        def scatter_nd(array: Any, indices: Any, updates: Any) -> None:
            _check_nd_shapes(array.shape, indices.shape, updates.shape)
            check_nd_indices(indices, array.shape, "does not index into shape {shape}")
            combine(array, nd_index(indices), updates)

        return scatter_nd

    def scatter(array: Any, indices: Any, updates: Any) -> None:
        if not array.ndim:
            raise errors.InvalidArgumentError(None, None, "params must be at least 1-D, got shape []")
        if updates.ndim and updates.shape != indices.shape + array.shape[1:]:
            raise _wrong_shapes(array, indices, updates, is_resource)
        check_indices(indices, array.shape[0])
        combine(array, indices, updates)

    return scatter


def _combine(kind: str, xp: ModuleType) -> Scatter:
    """The function that joins updates to what is there; several to one position count in their order."""
    if kind == "Update":
        return _set
    if kind == "Div":
        return _divide
    if kind == "Sub":
        return lambda array, index, updates: _apply_at(_difference(array, xp), array, index, updates)
    ufunc = {
        "Add": xp.add,
        "Mul": xp.multiply,
        "Min": xp.minimum,
        "Max": xp.maximum,
    }[kind]
    return lambda array, index, updates: _apply_at(ufunc, array, index, updates)


def _apply_at(ufunc: Any, array: Any, index: Any, updates: Any) -> None:
    """Like `ufunc.at`, but rows whose index comes for the first time go in one call: a tenth of the time."""
    on_host = isinstance(array, np.ndarray) and isinstance(index, np.ndarray)
    if not (on_host and array.ndim > 1 and index.size > 1 and updates.ndim == index.ndim + array.ndim - 1):
        unlocked.at(ufunc, array, index, updates)
        return
    index = index.reshape(-1)
    updates = updates.reshape(index.size, *array.shape[1:])
    if ufunc in (np.add, np.subtract) and add_rows(array, index, updates, ufunc is np.subtract):
        return
    order = np.argsort(index, kind="stable")
    again = order[1:][index[order[1:]] == index[order[:-1]]]
    if again.size == 0:
        array[index] = ufunc(array[index], updates)
        return
    first = np.ones(index.size, bool)
    first[again] = False
    once = index[first]
    array[once] = ufunc(array[once], updates[first])
    # The repeated ones follow in their order: rows do not depend on each other, so the result is the same.
    unlocked.at(ufunc, array, index[~first], updates[~first])


def _difference(array: Any, xp: ModuleType) -> Any:
    """The ufunc of a difference. The difference of booleans is, as in C, whether they differ."""
    return xp.not_equal if array.dtype == np.bool_ else xp.subtract


def _set(array: Any, index: Any, updates: Any) -> None:
    array[index] = updates


def _divide(array: Any, index: Any, updates: Any) -> None:
    if array.dtype.kind not in "iu":
        unlocked.at(np.true_divide, array, index, updates)
        return
    # Integers are divided as in C, toward zero, and NumPy has no ufunc that does.
    columns = [np.ravel(i) for i in (index if isinstance(index, tuple) else (index,))]
    positions = list(zip(*columns, strict=True))
    spread = (
        np.broadcast_to(updates, (len(positions), *array.shape[len(columns) :]))
        if not updates.ndim
        else (updates.reshape(len(positions), *array.shape[len(columns) :]))
    )
    for position, update in zip(positions, spread, strict=True):
        current = array[position]
        quotient = np.abs(current) // np.abs(update)
        array[position] = np.where((current < 0) != (update < 0), -quotient, quotient)


def nd_index(indices: Any) -> tuple[Any, ...]:
    """The index tuple of a tensor whose last dimension spells positions."""
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def check_indices(indices: Any, size: int) -> None:
    """Raises InvalidArgumentError for an index outside of [0, size), in TensorFlow's words."""
    if not indices.size or (indices.min() >= 0 and indices.max() < size):
        return
    bad = (indices < 0) | (indices >= size)
    where = np.unravel_index(int(bad.argmax()), indices.shape) if indices.ndim else ()
    raise errors.InvalidArgumentError(
        None, None, f"indices{_position(where)} = {int(indices[where])} is not in [0, {size})"
    )


def check_nd_indices(indices: Any, dims: tuple[int, ...], text: str) -> None:
    """Like `check_indices` for positions; `text` says the rest of the message, with the array's `{shape}`."""
    if not indices.ndim or indices.shape[-1] > len(dims):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"indices must be at least a vector, whose innermost dimension is at most {len(dims)}, got shape "
            f"{format_dims(indices.shape)}",
        )
    if not indices.size:
        return
    flat = indices.reshape(-1, indices.shape[-1])
    bad = None
    for axis in range(flat.shape[1]):
        column = flat[:, axis]
        outside = (column < 0) | (column >= dims[axis])
        bad = outside if bad is None else bad | outside
    if bad is None or not bad.any():
        return
    row = int(bad.argmax())
    where = np.unravel_index(row, indices.shape[:-1])
    position = ",".join(str(int(i)) for i in flat[row])
    raise errors.InvalidArgumentError(
        None, None, f"indices{_position(where)} = [{position}] {text.format(shape=format_dims(dims))}"
    )


def _position(where: Any) -> str:
    return f"[{','.join(str(int(i)) for i in where)}]" if len(where) else ""


def _wrong_shapes(array: Any, indices: Any, updates: Any, is_resource: bool) -> errors.OpError:
    if is_resource and updates.shape[: indices.ndim] != indices.shape:
        text = (
            f"The shape of indices ({format_dims(indices.shape)}) must be a prefix of the shape of updates "
            f"({format_dims(updates.shape)})"
        )
    else:
        text = (
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
            f"updates.shape {format_dims(updates.shape)}, indices.shape {format_dims(indices.shape)}, "
            "params.shape "
            f"{format_dims(array.shape)}"
        )
    return errors.InvalidArgumentError(None, None, text)


def _check_nd_shapes(params: tuple[int, ...], indices: tuple[int, ...], updates: tuple[int, ...]) -> None:
    """Raises InvalidArgumentError unless updates have one slice of `params` for each position."""
    if not indices:
        raise errors.InvalidArgumentError(None, None, "indices must be at least a vector, got shape []")
    depth, lead = indices[-1], len(indices) - 1
    if depth <= len(params) and updates == indices[:-1] + params[depth:]:
        return
    if updates[:lead] != indices[:-1]:
        axis = next((i for i, (a, b) in enumerate(zip(indices[:-1], updates, strict=False)) if a != b), 0)
        sizes = [f" = {dims[axis]}" if axis < len(dims) else "" for dims in (indices, updates)]
        text = (
            f"Dimensions [{axis},{axis + 1}) of indices[shape={format_dims(indices)}]{sizes[0]} must match "
            f"dimensions [{axis},{axis + 1}) of updates[shape={format_dims(updates)}]{sizes[1]}"
        )
    else:
        text = (
            f"Dimensions [{depth},{len(params)}) of input[shape={format_dims(params)}] must match dimensions "
            f"[{lead},{len(updates)}) of updates[shape={format_dims(updates)}]"
        )
    raise errors.InvalidArgumentError(None, None, text)
