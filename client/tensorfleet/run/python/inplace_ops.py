"""`tensorflow.python.ops.inplace_ops`: arrays with rows changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorfleet as tf
from tensorfleet.api.raw_ops import raw_ops
from tensorfleet.core import dtypes
from tensorfleet.graph.tensor import Tensor


def _rows(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def changed(x: Any, i: Any, v: Any) -> Tensor:
        """The array with rows changed at the indices; without indices all of it, with a number one row."""
        x, v = tf.convert_to_tensor(x), tf.convert_to_tensor(v)
        if i is None:
            return tf.reshape(
                function(x=tf.reshape(x, [1, -1]), i=[0], v=tf.reshape(v, [1, -1])), tf.shape(x)
            )
        i = tf.cast(i, dtypes.int32)
        if i.shape.ndims == 0:
            return function(x=x, i=tf.reshape(i, [1]), v=tf.expand_dims(v, 0))
        return function(x=x, i=i, v=v)

    return changed


alias_inplace_update = inplace_update = _rows(raw_ops.InplaceUpdate)
alias_inplace_add = inplace_add = _rows(raw_ops.InplaceAdd)
alias_inplace_sub = inplace_sub = _rows(raw_ops.InplaceSub)


def empty(shape: Any, dtype: Any, init: bool = False, name: str | None = None) -> Tensor:
    """An array of a shape; its values are zeros if `init`."""
    result: Tensor = raw_ops.Empty(shape=shape, dtype=dtype, init=init, name=name)
    return result


def empty_like(x: Any, init: bool | None = None) -> Tensor:
    """An array like another; its values are zeros if `init`."""
    x = tf.convert_to_tensor(x)
    return empty(tf.shape(x), x.dtype.base, bool(init))
