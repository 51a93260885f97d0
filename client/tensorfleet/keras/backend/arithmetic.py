"""Functions of Keras's backend that compute: elementwise, reductions, products, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.keras import ops
from tensorfleet.keras.backend.arrays import is_sparse, ndim
from tensorfleet.keras.backend.state import floatx, variable


def _floats(x: Any) -> Any:
    return ops.cast(x, floatx()) if x.dtype.base is dtypes.bool else x


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum of the elements along `axis`, of all by default."""
    return ops.reduce_sum(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of the elements; of truth values, how many are true."""
    return ops.reduce_mean(_floats(x), axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product of the elements."""
    return ops.reduce_prod(x, axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element."""
    return ops.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The least element."""
    return ops.reduce_min(x, axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance of the elements."""
    return ops.reduce_variance(_floats(x), axis=axis, keepdims=keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation of the elements."""
    return ops.reduce_std(_floats(x), axis=axis, keepdims=keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element is not zero."""
    return ops.reduce_any(ops.cast(x, dtypes.bool), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are not zero."""
    return ops.reduce_all(ops.cast(x, dtypes.bool), axis, keepdims)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials."""
    return ops.reduce_logsumexp(x, axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    """The place of the greatest element."""
    return ops.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    """The place of the least element."""
    return ops.argmin(x, axis)


def cumsum(x: Any, axis: int = 0) -> Any:
    """The running sum."""
    return ops.cumsum(x, axis=axis)


def cumprod(x: Any, axis: int = 0) -> Any:
    """The running product."""
    return ops.cumprod(x, axis=axis)


def abs(x: Any) -> Any:
    """The absolute values."""
    return ops.abs(x)


def square(x: Any) -> Any:
    """The squares."""
    return ops.square(x)


def sqrt(x: Any) -> Any:
    """The square roots, of negative numbers 0."""
    return ops.sqrt(ops.maximum(x, ops.cast(0.0, x.dtype.base)))


def exp(x: Any) -> Any:
    """The exponentials."""
    return ops.exp(x)


def log(x: Any) -> Any:
    """The natural logarithms."""
    return ops.log(x)


def round(x: Any) -> Any:
    """The nearest integers, in the middle the even one."""
    return ops.round(x)


def sign(x: Any) -> Any:
    """-1, 0 or 1."""
    return ops.sign(x)


def pow(x: Any, a: Any) -> Any:
    """The powers with exponent `a`."""
    return ops.pow(x, a)


def sin(x: Any) -> Any:
    """The sines."""
    return ops.sin(x)


def cos(x: Any) -> Any:
    """The cosines."""
    return ops.cos(x)


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """The values, at least `min_value` and at most `max_value`; None is no bound."""
    if isinstance(min_value, (int, float)) and isinstance(max_value, (int, float)) and max_value < min_value:
        max_value = min_value
    low = -np.inf if min_value is None else min_value
    high = np.inf if max_value is None else max_value
    return ops.clip_by_value(x, low, high)


def equal(x: Any, y: Any) -> Any:
    """Whether elements are equal."""
    return ops.equal(x, y)


def not_equal(x: Any, y: Any) -> Any:
    """Whether elements differ."""
    return ops.not_equal(x, y)


def greater(x: Any, y: Any) -> Any:
    """Whether x > y."""
    return ops.greater(x, y)


def greater_equal(x: Any, y: Any) -> Any:
    """Whether x >= y."""
    return ops.greater_equal(x, y)


def less(x: Any, y: Any) -> Any:
    """Whether x < y."""
    return ops.less(x, y)


def less_equal(x: Any, y: Any) -> Any:
    """Whether x <= y."""
    return ops.less_equal(x, y)


def maximum(x: Any, y: Any) -> Any:
    """The greater of two elements."""
    return ops.maximum(x, y)


def minimum(x: Any, y: Any) -> Any:
    """The lesser of two elements."""
    return ops.minimum(x, y)


def dot(x: Any, y: Any) -> Any:
    """The product of matrices; of more dimensions, the last of x with the last but one of y."""
    if is_sparse(x):
        return ops.sparse_tensor_dense_matmul(x, y)
    x_rank, y_rank = ndim(x) or 0, ndim(y) or 0
    if x_rank == 2 and y_rank == 2:
        return ops.matmul(x, y)
    if y_rank == 1:
        return ops.tensordot(x, y, [[x_rank - 1], [0]])
    return ops.tensordot(x, y, [[x_rank - 1], [y_rank - 2]])


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """The product of each element of a batch with its partner, along one dimension of both.

    Args:
        axes: the dimension, or one of each; by default the last of x and the last but one of y.
    """
    x_rank, y_rank = ndim(x) or 0, ndim(y) or 0
    if axes is None:
        axes = [x_rank - 1, y_rank - 1 if y_rank == 2 else y_rank - 2]
    pair = [axes, axes] if isinstance(axes, int) else list(axes)
    first, second = (axis % rank for axis, rank in zip(pair, (x_rank, y_rank), strict=True))
    if 0 in (first, second):
        raise ValueError("Cannot perform batch_dot over axis 0. Use K.dot on x and y instead.")
    # The summed dimension becomes the last of x and the first behind the batch of y.
    x = ops.transpose(x, [*(a for a in range(x_rank) if a != first), first])
    y = ops.transpose(y, [0, second, *(a for a in range(1, y_rank) if a != second)])
    x_shape, y_shape = ops.shape(x), ops.shape(y)
    x_dims, y_dims = x.shape.as_list(), y.shape.as_list()
    rows = ops.reshape(x, ops.stack([x_shape[0], -1, x_shape[x_rank - 1]]))
    columns = ops.reshape(y, ops.stack([y_shape[0], y_shape[1], -1]))
    product = ops.matmul(rows, columns)
    result = ops.reshape(product, ops.concat([x_shape[:-1], y_shape[2:]], 0))
    result.set_shape([*x_dims[:-1], *y_dims[2:]])
    return ops.expand_dims(result, 1) if len(result.shape.as_list()) == 1 else result


def l2_normalize(x: Any, axis: Any = None) -> Any:
    """The values divided by their norm along `axis`."""
    return ops.l2_normalize(x, axis)


def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """Whether the targets are among the k greatest predictions."""
    return ops.in_top_k(predictions, targets, k)


def _seed(seed: int | None) -> int:
    return int(np.random.randint(10_000_000)) if seed is None else seed


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Normally distributed numbers."""
    return ops.random_normal(
        shape, mean=mean, stddev=stddev, dtype=dtypes.as_dtype(dtype or floatx()), seed=_seed(seed)
    )


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Uniformly distributed numbers from `minval` to below `maxval`."""
    return ops.random_uniform(
        shape, minval=minval, maxval=maxval, dtype=dtypes.as_dtype(dtype or floatx()), seed=_seed(seed)
    )


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Normally distributed numbers within two standard deviations."""
    return ops.truncated_normal(
        shape, mean, stddev, dtype=dtypes.as_dtype(dtype or floatx()), seed=_seed(seed)
    )


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    """Ones with probability p, else zeros."""
    wanted = dtypes.as_dtype(dtype or floatx())
    drawn = ops.random_uniform(shape, dtype=wanted, seed=_seed(seed))
    return ops.where(drawn <= p, ops.ones(shape, wanted), ops.zeros(shape, wanted))


def random_uniform_variable(
    shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: int | None = None
) -> Any:
    """A variable with uniformly distributed numbers."""
    return variable(lambda: random_uniform(shape, low, high, dtype, seed), dtype=dtype, name=name)


def random_normal_variable(
    shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: int | None = None
) -> Any:
    """A variable with normally distributed numbers."""
    return variable(lambda: random_normal(shape, mean, scale, dtype, seed), dtype=dtype, name=name)
