"""Kernels of `tensorfleet.ops.math.reduction`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet_service.devices import native as compiled
from tensorfleet_service.devices.blocks import in_parallel, shares, thread_count
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    ints,
    invalid,
)

LARGE = 1 << 20
"""Number of elements from which several threads reduce: 0.1 ms of work."""

ROW = 1 << 12
"""Number of elements of a part that compiled code reduces, where all elements become one."""

PART = 1 << 18
"""Number of elements of a part that a thread reduces, where all elements become one."""


_COMPILED = {"add": 0, "maximum": 1, "multiply": 2}
"""The kinds of reductions that the compiled kernels have, by the names of NumPy's functions."""


def reduced_axes(indices: Any, rank: int) -> tuple[int, ...] | None:
    """The axes that an array of axes names, as a tuple for NumPy; None if these are all axes.

    Raises:
        InvalidArgumentError: an axis is out of range or named twice.
    """
    named = ints(indices)
    if indices.ndim > 1:
        named = indices.ravel().tolist()
    axes = set()
    for axis in named:
        if not -rank <= axis < rank:
            raise invalid(f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)")
        if axis % rank in axes:
            raise invalid(f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % rank}")
        axes.add(axis % rank)
    return None if len(axes) == rank else tuple(axes)


def _reduction(node: KernelNode, reduce: Callable[..., Any]) -> Kernel:
    """A kernel out of `reduce(array, axis, keepdims)`."""
    keep = node.attrs["keep_dims"]
    is_identity = node.op != "EuclideanNorm"  # of single elements
    # The indices are nearly always a constant. No array to which a reference is kept changes in place.
    last: tuple[Any, int, tuple[int, ...] | None] = (None, 0, None)

    def kernel(x: Any, indices: Any) -> Any:
        nonlocal last
        rank = x.ndim
        known, known_rank, axes = last
        if known is not indices or known_rank != rank:
            axes = reduced_axes(indices, rank)
            last = (indices, rank, axes)
        if axes == ():
            return x if is_identity else reduce(x.reshape(*x.shape, 1), rank, False)
        return reduce(x, axes, keep)

    return kernel


def _reducer(xp: ModuleType, ufunc: str, method: str) -> Callable[..., Any]:
    """`reduce(array, axis, dtype, keepdims)`: a ufunc's method in NumPy; not all of CuPy's have it."""
    if xp is np:
        at_once = getattr(np, ufunc).reduce

        def reduce(x: Any, axis: Any, dtype: Any, keep: bool) -> Any:
            if ufunc in _COMPILED and dtype == np.float32 and compiled.takes(x):
                found = _reduce_compiled(ufunc, x, axis, keep)
                if found is not None:
                    return found
            if x.size < LARGE:
                return at_once(x, axis, dtype, None, keep)
            return _reduce_large(at_once, x, axis, dtype, keep)

        return reduce
    if method in ("sum", "prod"):
        return lambda x, axis, dtype, keep: getattr(x, method)(axis=axis, dtype=dtype, keepdims=keep)
    return lambda x, axis, dtype, keep: getattr(x, method)(axis=axis, keepdims=keep)


def _reduce_compiled(ufunc: str, x: Any, axis: Any, keep: bool) -> Any:
    """Reductions by the compiled kernels; None for axes that they do not reduce."""
    axes = sorted(range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))
    kept = [a for a in range(x.ndim) if a not in axes]
    result: Any
    if not kept:
        # First parts, whose number does not depend on the number of threads, then their results.
        flat = x.reshape(-1)
        count = flat.size // ROW
        parts = np.empty(count + 1, np.float32)
        compiled.native.row_reduce(
            flat[: count * ROW], parts[:count], count, ROW, _COMPILED[ufunc], thread_count()
        )
        rest = flat[count * ROW :]
        at_once = getattr(np, ufunc).reduce
        parts[count] = at_once(rest) if rest.size else parts[0]
        result = at_once(parts if rest.size else parts[:count]).reshape((1,) * x.ndim if keep else ())
        return result[()]
    shape = [x.shape[a] for a in kept]
    result = np.empty(shape, np.float32)
    if not result.size:
        return None
    others = x.size // result.size
    if kept == list(range(len(kept))):
        compiled.native.row_reduce(x, result, result.size, others, _COMPILED[ufunc], thread_count())
    elif ufunc == "add" and axes == list(range(len(axes))):
        compiled.native.column_sums(x, result, others, result.size, thread_count())
    elif ufunc == "add" and axes == list(range(axes[0], axes[-1] + 1)):
        outer = prod(x.shape[: axes[0]])
        compiled.native.middle_sums(x, result, outer, others, result.size // outer, thread_count())
    else:
        return None
    return result.reshape([1 if a in axes else size for a, size in enumerate(x.shape)]) if keep else result


def _reduce_large(at_once: Callable[..., Any], x: Any, axis: Any, dtype: Any, keep: bool) -> Any:
    """`at_once` on several threads, with a result that does not depend on how many there are."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    kept = [a for a in range(x.ndim) if a not in axes]
    if kept and kept[0] == 0 and x.shape[0] >= thread_count():
        # One thread computes each element of the result, and which one it is makes no difference.
        result = np.empty([1 if a in axes else size for a, size in enumerate(x.shape)], dtype)

        def run(part: tuple[int, int]) -> None:
            at_once(x[slice(*part)], tuple(axes), dtype, result[slice(*part)], True)

        in_parallel(run, shares(x.shape[0]))
        return result if keep else result.reshape([x.shape[a] for a in kept])
    if kept or not x.flags.c_contiguous:
        return at_once(x, axis, dtype, None, keep)
    flat = x.reshape(-1)
    starts = range(0, flat.size, PART)
    parts = np.empty(len(starts), dtype)

    def run_parts(part: tuple[int, int]) -> None:
        for i in range(*part):
            parts[i] = at_once(flat[starts[i] : starts[i] + PART], None, dtype)

    in_parallel(run_parts, shares(len(starts)))
    return at_once(parts, None, dtype).reshape((1,) * x.ndim if keep else ())[()]


_UFUNCS = {
    "Sum": ("add", "sum"),
    "Prod": ("multiply", "prod"),
    "Max": ("maximum", "max"),
    "Min": ("minimum", "min"),
    "All": ("logical_and", "all"),
    "Any": ("logical_or", "any"),
}


@kernel("Sum", "Prod", "Max", "Min", "All", "Any")
def _reduce(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    target = dtype.np
    reducer = _reducer(node.xp, *_UFUNCS[node.op])
    if node.op in ("Sum", "Prod") and dtype in SMALL_FLOATS:
        return _reduction(node, lambda x, axis, keep: reducer(x, axis, np.float32, keep).astype(target))
    if node.op not in ("Max", "Min"):
        return _reduction(node, lambda x, axis, keep: reducer(x, axis, target, keep))
    identity = _least(dtype) if node.op == "Max" else _greatest(dtype)
    # In host memory NaNs are passed over, as in TensorFlow, where more than one element is reduced.
    may_be_nan = dtype.is_floating and node.xp is np

    def extreme(x: Any, axis: Any, keep: bool) -> Any:
        if not x.size:  # the reduced axes may be the empty ones
            axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
            padding = [(0, int(not size and i in axes)) for i, size in enumerate(x.shape)]
            x = node.xp.pad(x, padding, constant_values=identity)
        found = reducer(x, axis, target, keep)
        if may_be_nan and x.size > found.size and (found != found).any():
            return reducer(np.where(np.isnan(x), identity, x), axis, target, keep)
        return found

    return _reduction(node, extreme)


def _least(dtype: dtypes.DType) -> Any:
    return dtype.as_numpy_dtype(-np.inf) if dtype.is_floating else dtype.min


def _greatest(dtype: dtypes.DType) -> Any:
    return dtype.as_numpy_dtype(np.inf) if dtype.is_floating else dtype.max


@kernel("Mean", "EuclideanNorm")
def _mean(node: KernelNode) -> Kernel:
    xp = node.xp
    dtype = node.output_types[0]
    target = dtype.np
    assert target is not None
    wide = np.dtype(np.float32) if dtype in SMALL_FLOATS else target
    total_type = np.dtype(np.uint64 if dtype.is_unsigned else np.int64)
    sum_of = _reducer(xp, "add", "sum")

    def mean(x: Any, axis: Any, keep: bool) -> Any:
        total = sum_of(x, axis, wide, keep)
        if dtype.is_complex and not x.size:
            return total  # TensorFlow divides complex numbers by at least 1
        result = total / wide.type(x.size // max(total.size, 1))
        return result if wide is target else result.astype(target)

    def integer_mean(x: Any, axis: Any, keep: bool) -> Any:
        total = sum_of(x, axis, total_type, keep)
        count = total_type.type(x.size // max(total.size, 1))
        if not count:
            return total.astype(target)
        return ((total - xp.fmod(total, count)) // count).astype(target)

    def euclidean_norm(x: Any, axis: Any, keep: bool) -> Any:
        x = x.astype(wide, copy=False)
        squares = (x * x.conj()) if dtype.is_complex else x * x
        return xp.sqrt(sum_of(squares, axis, wide, keep)).astype(target, copy=False)

    if node.op == "EuclideanNorm":
        return _reduction(node, euclidean_norm)
    return _reduction(node, integer_mean if dtype.is_integer else mean)
