"""Vectors as triangular matrices (`tf.contrib.distributions.fill_triangular`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape, shape


def triangle_size(count: int) -> int:
    """The size of the matrix whose triangle has so many elements.

    Raises:
        ValueError: there is none.
    """
    size = (math.isqrt(1 + 8 * count) - 1) // 2
    if size * (size + 1) // 2 != count:
        raise ValueError(f"{count} elements cannot be mapped to a triangular matrix.")
    return size


def _places(size: int, upper: bool) -> Any:
    """Which element of the vector each place of the matrix has, by a clockwise spiral; that of no use for the
    other triangle, too."""
    count = size * (size + 1) // 2
    order = np.arange(count)
    rest = order[size:]
    both = [order, rest[::-1]] if upper else [rest, order[::-1]]
    return np.concatenate(both).reshape(size, size)


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Tensor:
    """Triangular matrices, [..., n, n], of vectors, [..., n (n + 1) / 2]
    (`tf.contrib.distributions.fill_triangular`).

    Raises:
        ValueError: the last size is not known, or none of a triangle.

    Example:
        >>> tf.Session().run(tf.contrib.distributions.fill_triangular([1, 2, 3, 4, 5, 6])).tolist()
        [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
    """
    with name_scope(name, "fill_triangular", [x]):
        x = convert_to_tensor(x, name="x")
        count = x.shape.as_list()[-1]
        if count is None:
            raise ValueError("The last dimension of the vectors must be known.")
        size = triangle_size(count)
        mask = np.tri(size).T if upper else np.tri(size)
        places = constant(_places(size, upper).reshape(-1))
        filled = gather(x, places, axis=-1) * constant(mask.reshape(-1).astype(x.dtype.as_numpy_dtype))
        dims = [*x.shape.as_list()[:-1], size, size]
        if None in dims:
            found = reshape(filled, concat([shape(x)[:-1], [size, size]], 0))
            found.set_shape(dims)
            return found
        return reshape(filled, dims)


def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Tensor:
    """The vectors of which `fill_triangular` makes these matrices, [..., n, n]."""
    with name_scope(name, "fill_triangular_inverse", [x]):
        x = convert_to_tensor(x, name="x")
        size = x.shape.as_list()[-1]
        if size is None:
            raise ValueError("The size of the matrices must be known.")
        places, mask = _places(size, upper).reshape(-1), np.tri(size, dtype=bool)
        used = np.flatnonzero((mask.T if upper else mask).reshape(-1))
        order = used[np.argsort(places[used])]
        dims = [*x.shape.as_list()[:-2], size * size]
        flat = reshape(x, concat([shape(x)[:-2], [size * size]], 0)) if None in dims else reshape(x, dims)
        return gather(flat, constant(order), axis=-1)
