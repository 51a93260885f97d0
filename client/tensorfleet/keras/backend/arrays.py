"""Functions of Keras's backend that make, join and rearrange tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope as _name_scope
from tensorfleet.keras import ops
from tensorfleet.keras.backend.state import (
    floatx,
    image_data_format,
    int_shape,
    learning_phase,
    variable,
)


def _dtype(dtype: Any) -> Any:
    return dtypes.as_dtype(dtype or floatx())


def name_scope(name: str) -> Any:
    """A `with` block whose operations have names that begin with this one."""
    return _name_scope(name)


def is_sparse(tensor: Any) -> bool:
    """Whether a tensor is a SparseTensor."""
    return isinstance(tensor, ops.SparseTensor)


def to_dense(tensor: Any) -> Any:
    """A SparseTensor as a tensor; another tensor as it is."""
    return ops.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def shape(x: Any) -> Any:
    """The shape of a tensor, a tensor."""
    return ops.shape(x)


def ndim(x: Any) -> int | None:
    """The rank, None if it is unknown."""
    known: int | None = convert_to_tensor(x).shape.ndims if not is_sparse(x) else x.shape.ndims
    return known


def dtype(x: Any) -> str:
    """The name of the dtype."""
    name: str = x.dtype.base.name
    return name


def count_params(x: Any) -> int:
    """The number of elements, from the static shape."""
    return int(np.prod(x.shape.as_list()))


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """A constant tensor."""
    return ops.constant(value, dtype=_dtype(dtype), shape=shape, name=name or "Const")


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros; a tensor, if the shape is only known in a step."""
    made = ops.zeros(shape, _dtype(dtype))
    return variable(made, dtype=_dtype(dtype), name=name) if made.shape.is_fully_defined() else made


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones; a tensor, if the shape is only known in a step."""
    made = ops.ones(shape, _dtype(dtype))
    return variable(made, dtype=_dtype(dtype), name=name) if made.shape.is_fully_defined() else made


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """A variable with the identity matrix."""
    return variable(ops.eye(size, dtype=_dtype(dtype)), dtype=_dtype(dtype), name=name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Zeros of the shape of x."""
    return ops.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Ones of the shape of x."""
    return ops.ones_like(x, dtype=dtype, name=name)


def identity(x: Any, name: str | None = None) -> Any:
    """The same values, another tensor."""
    return ops.identity(x, name=name)


def cast(x: Any, dtype: Any) -> Any:
    """The values in another dtype."""
    return ops.cast(x, dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Any:
    """The numbers from `start` to below `stop`; from 0 to below `start`, if that is all."""
    if stop is None and start < 0:
        start = 0
    result = ops.range(start, limit=stop, delta=step)
    return result if dtype == "int32" else ops.cast(result, dtype)


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """The tensors joined along a dimension."""
    if axis < 0:
        rank = ndim(tensors[0])
        axis = axis % rank if rank else 0
    if all(is_sparse(x) for x in tensors):
        return ops.sparse_concat(axis, tensors)
    return ops.concat([to_dense(x) for x in tensors], axis)


def stack(x: Any, axis: int = 0) -> Any:
    """The tensors along a new dimension."""
    return ops.stack(x, axis=axis)


def reshape(x: Any, shape: Any) -> Any:
    """The elements in another shape."""
    return ops.reshape(x, shape)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    """The dimensions in another order."""
    return ops.transpose(x, perm=pattern)


def transpose(x: Any) -> Any:
    """The dimensions in opposite order."""
    return ops.transpose(x)


def expand_dims(x: Any, axis: int = -1) -> Any:
    """A new dimension of size 1 at `axis`."""
    return ops.expand_dims(x, axis)


def squeeze(x: Any, axis: int) -> Any:
    """Without the dimension `axis`, which has size 1."""
    return ops.squeeze(x, [axis])


def flatten(x: Any) -> Any:
    """All elements in one dimension."""
    return ops.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """A matrix with a row for each element of the batch."""
    return ops.reshape(x, ops.stack([-1, ops.reduce_prod(ops.shape(x)[1:])]))


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Each slice along a dimension `rep` times, one after the other."""
    repeated = ops.repeat(x, rep, axis=axis)
    sizes = list(int_shape(x) or ())
    if sizes and sizes[axis] is not None:
        sizes[axis] = sizes[axis] * rep  # type: ignore[operator]
    repeated.set_shape(sizes)
    return repeated


def repeat(x: Any, n: int) -> Any:
    """A matrix repeated n times: from (batch, size) to (batch, n, size)."""
    return ops.tile(ops.expand_dims(x, 1), ops.stack([1, n, 1]))


def tile(x: Any, n: Any) -> Any:
    """The tensor repeated n times, by dimension."""
    return ops.tile(x, [n] if isinstance(n, int) else n)


def gather(reference: Any, indices: Any) -> Any:
    """The rows at these indices."""
    return ops.gather(reference, indices)


def reverse(x: Any, axes: Any) -> Any:
    """The elements in opposite order along these dimensions."""
    return ops.reverse(x, [axes] if isinstance(axes, int) else axes)


def one_hot(indices: Any, num_classes: int) -> Any:
    """A row for each index, with a one at that place."""
    return ops.one_hot(indices, depth=num_classes, axis=-1)


def temporal_padding(x: Any, padding: Any = (1, 1)) -> Any:
    """Zeros before and after the middle dimension of a tensor of rank 3."""
    return ops.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Any:
    """Zeros around images."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around volumes."""
    return _padded(x, padding, data_format)


def _padded(x: Any, padding: Any, data_format: str | None) -> Any:
    inner = [list(pair) for pair in padding]
    if (data_format or image_data_format()) == "channels_first":
        return ops.pad(x, [[0, 0], [0, 0], *inner])
    return ops.pad(x, [[0, 0], *inner, [0, 0]])


def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Images whose height and width are multiplied by these factors."""
    first = data_format == "channels_first"
    if first:
        x = ops.transpose(x, [0, 2, 3, 1])
    known = int_shape(x) or (None,) * 4
    size = ops.shape(x)[1:3] * np.array([height_factor, width_factor], np.int32)
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f"interpolation should be one of nearest and bilinear, not {interpolation!r}.")
    method = ops.resize_nearest_neighbor if interpolation == "nearest" else ops.resize_bilinear
    if interpolation == "nearest":
        x = method(x, size)
    else:
        x = method(x, size, half_pixel_centers=True)
    factors = (height_factor, width_factor)
    x.set_shape(
        [
            known[0],
            *(None if s is None else s * f for s, f in zip(known[1:3], factors, strict=True)),
            known[3],
        ]
    )
    return ops.transpose(x, [0, 3, 1, 2]) if first else x


def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Any:
    """Volumes whose elements are repeated along three dimensions."""
    begin = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), begin):
        x = repeat_elements(x, factor, axis)
    return x


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two tensors, or of the results of two functions: as a whole, or by elements."""
    condition = ops.cast(condition, dtypes.bool)
    if condition.shape.ndims == 0:
        then, otherwise = (
            value if callable(value) else (lambda value=value: ops.identity(value))
            for value in (then_expression, else_expression)
        )
        return ops.cond(condition, then, otherwise)
    then_value = then_expression() if callable(then_expression) else then_expression
    else_value = else_expression() if callable(else_expression) else else_expression
    missing = (ndim(then_value) or 0) - (ndim(condition) or 0)
    for _ in range(missing):
        condition = ops.expand_dims(condition, -1)
    if missing:
        condition = ops.logical_and(condition, ops.ones_like(then_value, dtype=dtypes.bool))
    return ops.where(condition, then_value, else_value)


def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`x` in training, else `alt`; either may be a function."""
    if training is None:
        training = learning_phase()
    known = ops.known_predicate(training)
    if known is not None:
        chosen = x if known else alt
        return chosen() if callable(chosen) else chosen
    then, otherwise = (
        value if callable(value) else (lambda value=value: ops.identity(value)) for value in (x, alt)
    )
    return ops.cond(ops.cast(training, dtypes.bool), then, otherwise)


def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`x` in inference, else `alt`; either may be a function."""
    return in_train_phase(alt, x, training=training)


def map_fn(fn: Any, elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """The results of a function for each slice of the elements."""
    return ops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """The slices reduced to one by a function, from the first to the last."""
    return ops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """The slices reduced to one by a function, from the last to the first."""
    return ops.foldr(fn, elems, initializer=initializer, name=name)
