"""Reductions over axes, and running sums and products."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.convert import constant_node, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range as array_range, zeros
from tensorfleet.ops.array.shaping import rank as rank_of
from tensorfleet.ops.common import ORDERED, QUANTIZED, apply_one


def _reduction_shape(operation: RuleNode) -> list[Dims]:
    data, indices = operation.inputs
    keep = operation.attrs["keep_dims"]
    if indices.dims is not None and len(indices.dims) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(indices.dims)}")
    if data.dims is None:
        return [None]
    rank = len(data.dims)
    axes = static_value(indices)
    if axes is None:
        return [(None,) * rank if keep else None]
    reduced = set()
    for axis in axes.ravel().tolist():
        if not -rank <= axis < rank:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
        reduced.add(axis % rank)
    if keep:
        return [tuple(1 if i in reduced else size for i, size in enumerate(data.dims))]
    return [tuple(size for i, size in enumerate(data.dims) if i not in reduced)]


_INDEX = "Tidx: {int32, int64} = int32"

for _name in ("Sum", "Prod", "Mean", "EuclideanNorm", "Max", "Min"):
    _types = "number" if _name not in ("Max", "Min") else f"{ORDERED}, {QUANTIZED}"
    op(
        f"{_name}(input: T, reduction_indices: Tidx) -> (output: T)",
        "keep_dims: bool = false",
        f"T: {{{_types}}}",
        _INDEX,
        shape=_reduction_shape,
    )
for _name in ("All", "Any"):
    op(
        f"{_name}(input: bool, reduction_indices: Tidx) -> (output: bool)",
        "keep_dims: bool = false",
        _INDEX,
        shape=_reduction_shape,
    )


def reduced_axes(x: Any, axis: Any) -> Any:
    """The axes to reduce; all of them for None, as a constant if the tensor's rank is known."""
    if axis is not None:
        return axis
    if isinstance(x, Tensor) and x.ndim is not None:
        return constant_node(np.arange(x.ndim, dtype=np.int32), "Const")
    return array_range(0, rank_of(x))


def _renamed(new: str, value: Any, old: str, old_value: Any) -> Any:
    """The value of an argument that may still be given by its old name.

    Raises:
        ValueError: both were given.
    """
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    warnings.warn(f"{old} is deprecated, use {new} instead", DeprecationWarning, stacklevel=4)
    return old_value


def _reduce(
    op_type: str,
    input_tensor: Any,
    axis: Any,
    keepdims: Any,
    name: str | None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    axis = _renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = _renamed("keepdims", keepdims, "keep_dims", keep_dims)
    axes = reduced_axes(input_tensor, axis)
    result = apply_one(op_type, input_tensor, axes, name=name, keep_dims=bool(keepdims))
    if axis is None and not keepdims:
        result.set_shape(())
    return result


@takes_composites
def reduce_sum(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum over the axes (`tf.reduce_sum`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> x = tf.constant([[1, 2], [3, 4]])
        >>> tf.Session().run([tf.reduce_sum(x), tf.reduce_sum(x, axis=0)])
        [np.int32(10), array([4, 6], dtype=int32)]
    """
    return _reduce("Sum", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@takes_composites
def reduce_mean(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The mean over the axes, rounded towards zero for integers (`tf.reduce_mean`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> tf.Session().run(tf.reduce_mean(x, axis=1))
        array([1.5, 3.5], dtype=float32)
    """
    return _reduce("Mean", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@takes_composites
def reduce_prod(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The product over the axes (`tf.reduce_prod`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> tf.Session().run(tf.reduce_prod([[1, 2], [3, 4]], axis=0))
        array([3, 8], dtype=int32)
    """
    return _reduce("Prod", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@takes_composites
def reduce_max(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The greatest element over the axes (`tf.reduce_max`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> tf.Session().run(tf.reduce_max([[1, 2], [3, 4]], axis=0))
        array([3, 4], dtype=int32)
    """
    return _reduce("Max", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@takes_composites
def reduce_min(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The least element over the axes (`tf.reduce_min`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> tf.Session().run(tf.reduce_min([[1, 2], [3, 4]], axis=1))
        array([1, 3], dtype=int32)
    """
    return _reduce("Min", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@takes_composites
def reduce_all(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Whether all elements are true, over the axes (`tf.reduce_all`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> tf.Session().run(tf.reduce_all([[True, False], [True, True]], axis=1))
        array([False,  True])
    """
    return _reduce("All", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@takes_composites
def reduce_any(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Whether any element is true, over the axes (`tf.reduce_any`).

    Args:
        axis: one axis or several, negative ones count from the end; None for all. `reduction_indices` is its
            old name.
        keepdims: keep the reduced axes, with size 1. `keep_dims` is its old name.

    Example:
        >>> tf.Session().run(tf.reduce_any([[True, False], [False, False]], axis=1))
        array([ True, False])
    """
    return _reduce("Any", input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squared magnitudes (`tf.math.reduce_euclidean_norm`)."""
    return _reduce("EuclideanNorm", input_tensor, axis, keepdims, name)


@takes_composites
def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The variance over the axes, in the real dtype of complex numbers (`tf.math.reduce_variance`).

    Raises:
        TypeError: `input_tensor` has an integer dtype.
    """
    with get_default_graph().name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        if x.dtype.base.is_integer or x.dtype.base.is_bool:
            raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype.base!r}.")
        difference = apply_one("Sub", x, reduce_mean(x, axis, keepdims=True), name="sub")
        if x.dtype.base.is_complex:
            difference = apply_one("ComplexAbs", difference, Tout=x.dtype.base.real_dtype)
        return reduce_mean(apply_one("Square", difference), axis, keepdims=keepdims)


@takes_composites
def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the variance (`tf.math.reduce_std`)."""
    with get_default_graph().name_scope(name or "reduce_std"):
        return apply_one("Sqrt", reduce_variance(input_tensor, axis, keepdims))


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(sum(exp(x))) over the axes, without overflow (`tf.reduce_logsumexp`).

    Example:
        >>> tf.Session().run(tf.reduce_logsumexp([0.0, 0.0])).round(3)
        np.float32(0.693)
    """
    axis = _renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = _renamed("keepdims", keepdims, "keep_dims", keep_dims)
    with get_default_graph().name_scope(name or "ReduceLogSumExp") as scope:
        x = convert_to_tensor(input_tensor)
        greatest = reduce_max(x, axis, keepdims=True)
        # An infinite maximum is not subtracted, as inf - inf would be NaN.
        offset = apply_one("SelectV2", apply_one("IsFinite", greatest), greatest, 0)
        offset = apply_one("StopGradient", offset)
        total = reduce_sum(apply_one("Exp", apply_one("Sub", x, offset)), axis, keepdims=keepdims)
        result = apply_one("Log", total)
        if not keepdims:
            offset = apply_one("Reshape", offset, apply_one("Shape", result))
        return apply_one("AddV2", result, offset, name=scope)


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """The number of elements that are not zero, or not the empty string (`tf.count_nonzero`).

    Args:
        input_tensor: a tensor of any dtype; `input` is its newer name.
        dtype: the dtype of the result.
    """
    value = input_tensor if input is None else input
    axis = _renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = _renamed("keepdims", keepdims, "keep_dims", keep_dims)
    with get_default_graph().name_scope(name or "count_nonzero"):
        x = convert_to_tensor(value, name="input")
        zero = zeros([], x.dtype.base)
        nonzero = apply_one("Cast", apply_one("NotEqual", x, zero), DstT=dtypes.int64)
        total = reduce_sum(nonzero, axis, keepdims=keepdims)
        if dtypes.as_dtype(dtype) is dtypes.int64:
            return total
        return apply_one("Cast", total, DstT=dtype)
