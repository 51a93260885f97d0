"""Images warped by flows, and splines: `tf.contrib.image.dense_image_warp`, `sparse_image_warp`,
`interpolate_spline`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import eye, ones_like, range as range_of, zeros
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat, stack, unstack
from tensorfleet.ops.array.rearranging import meshgrid, transpose
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.debugging.checks import assert_greater_equal
from tensorfleet.ops.linalg.linalg import matrix_solve
from tensorfleet.ops.math.arithmetic import maximum, minimum, pow as power
from tensorfleet.ops.math.elementwise import floor, log, sqrt, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum

# Keeps logarithms and the slopes of roots finite.
_LEAST = 1e-10


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Tensor:
    """Moves the pixels of images (`tf.contrib.image.dense_image_warp`).

    The output's pixel (i, j) is the input's at (i, j) - flow[i, j], with bilinear interpolation; outside of
    the image that is the nearest pixel of its border.

    Args:
        image: `[batch, height, width, channels]`, of at least two rows and columns.
        flow: `[batch, height, width, 2]`: rows and columns.

    Returns:
        Images like `image`.

    Raises:
        ValueError: an image has another rank.
        InvalidArgumentError: in the session, it has one row or column.
    """
    with name_scope(name):
        image, flow = convert_to_tensor(image), convert_to_tensor(flow)
        if image.ndim != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {image.get_shape()}")
        batch, height, width, channels = unstack(shape(image), 4)
        columns, rows = meshgrid(range_of(width), range_of(height))
        places = cast(stack([rows, columns], 2), flow.dtype.base)
        queries = reshape(expand_dims(places, 0) - flow, [batch, height * width, 2])
        found = reshape(_bilinear(image, queries), [batch, height, width, channels])
        found.set_shape(image.dims)
        return found


def _bilinear(grid: Tensor, queries: Tensor) -> Tensor:
    """Values of a grid `[batch, height, width, channels]` at `[batch, n, 2]`: `[batch, n, channels]`."""
    batch, height, width, channels = unstack(shape(grid), 4)
    large_enough = [
        assert_greater_equal(size, 2, message=f"Grid {what} must be at least 2.")
        for size, what in ((height, "height"), (width, "width"))
    ]
    with framework.control_dependencies(large_enough):
        queries = identity(queries)
    lower, parts = [], []
    for query, size in zip(unstack(queries, 2, axis=2), (height, width), strict=True):
        # The next pixel has to be one of the grid's, too.
        before = minimum(maximum(floor(query), 0.0), cast(size - 2, query.dtype.base))
        lower.append(cast(before, dtypes.int32))
        part = cast(query - before, grid.dtype.base)
        parts.append(expand_dims(minimum(maximum(part, 0.0), 1.0), 2))
    flat = reshape(grid, [batch * height * width, channels])
    offsets = reshape(range_of(batch) * height * width, [batch, 1])

    def at(row: Any, column: Any) -> Tensor:
        return gather(flat, offsets + row * width + column)

    (row, column), (down, right) = lower, parts
    top, bottom = (
        right * (at(place, column + 1) - at(place, column)) + at(place, column) for place in (row, row + 1)
    )
    return down * (bottom - top) + top


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> Tensor:
    """Polyharmonic splines through known values (`tf.contrib.image.interpolate_spline`).

    Args:
        train_points: where values are known, `[batch, n, d]`.
        train_values: these values, `[batch, n, k]`.
        query_points: where they are asked for, `[batch, m, d]`.
        order: 1: linear in the distance; 2: thin plates.
        regularization_weight: how far the spline may miss the values, to be smoother.

    Returns:
        The values `[batch, m, k]`.

    Raises:
        ValueError: d or k is not known.
    """
    with name_scope(name):
        points, values = convert_to_tensor(train_points), convert_to_tensor(train_values)
        queries = convert_to_tensor(query_points)
        size = _known_size(points, "The dimensionality of the input points (d)")
        width = _known_size(values, "The dimensionality of the output values (k)")
        batch, count = shape(points)[0], shape(points)[1]
        dtype = points.dtype.base
        near = _radial(_squared_distances(points, points), order)
        if regularization_weight > 0:
            near = near + regularization_weight * expand_dims(eye(count, dtype=dtype), 0)
        # The radial functions have to leave what is linear to the linear part.
        linear = concat([points, ones_like(points[..., :1])], 2)
        system = concat(
            [
                concat([near, transpose(linear, [0, 2, 1])], 1),
                concat([linear, zeros(stack([batch, size + 1, size + 1]), dtype)], 1),
            ],
            2,
        )
        wanted = concat([values, zeros(stack([batch, size + 1, width]), dtype)], 1)
        weights = matrix_solve(system, wanted)
        radial = matmul(_radial(_squared_distances(queries, points), order), weights[:, :count])
        padded = concat([queries, ones_like(queries[..., :1])], 2)
        return radial + matmul(padded, weights[:, count:])


def _known_size(tensor: Tensor, what: str) -> int:
    size = None if tensor.dims is None else tensor.dims[-1]
    if size is None:
        raise ValueError(f"{what} must be statically-inferrable.")
    return size


def _squared_distances(x: Tensor, y: Tensor) -> Tensor:
    """`[batch, n, m]` of points `[batch, n, d]` and `[batch, m, d]`."""
    sizes = expand_dims(reduce_sum(square(x), 2), 2) + expand_dims(reduce_sum(square(y), 2), 1)
    return sizes - 2 * matmul(x, y, transpose_b=True)


def _radial(squared: Tensor, order: int) -> Tensor:
    """The radial functions of squared distances."""
    above = maximum(squared, constant(_LEAST, squared.dtype.base))
    if order == 1:
        return sqrt(above)
    if order in (2, 4):
        # Unlike the others these are exactly zero at a distance of zero.
        return 0.5 * (squared if order == 2 else square(squared)) * log(above)
    grown = power(above, constant(0.5 * order, squared.dtype.base))
    return 0.5 * grown * log(above) if order % 2 == 0 else grown


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Tensor, Tensor]:
    """Moves some points of images, and all others by a spline (`tf.contrib.image.sparse_image_warp`).

    Args:
        image: `[batch, height, width, channels]`, of known batch, height and width.
        source_control_point_locations: points `[batch, n, 2]`: rows and columns.
        dest_control_point_locations: where they go, `[batch, n, 2]`.
        interpolation_order, regularization_weight: of `interpolate_spline`.
        num_boundary_points: into how many parts points divide each edge, which keep it where it is; 1: the
            corners alone; 0: none.

    Returns:
        The images, and the flow `[batch, height, width, 2]`.
    """
    with name_scope(name):
        image = convert_to_tensor(image)
        targets = convert_to_tensor(dest_control_point_locations)
        flows = targets - convert_to_tensor(source_control_point_locations)
        batch, height, width, _ = image.shape.as_list()
        rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
        grid = np.stack([rows, columns], -1).reshape(1, -1, 2)
        queries = constant(np.repeat(grid, batch, 0), dtype=image.dtype.base)
        if num_boundary_points > 0:
            edge = _edge(height, width, num_boundary_points + 1)
            fixed = constant(np.repeat(edge[None], batch, 0), dtype=targets.dtype.base)
            targets = concat([targets, fixed], 1)
            flows = concat([flows, zeros(fixed.dims, fixed.dtype)], 1)
        dense = interpolate_spline(targets, flows, queries, interpolation_order, regularization_weight)
        dense = reshape(dense, [batch, height, width, 2])
        return dense_image_warp(image, dense), dense


def _edge(height: int, width: int, count: int) -> np.ndarray:
    """`count` points along each edge of an image, with its corners, `[points, 2]`."""
    rows, columns = np.meshgrid(
        np.linspace(0, height - 1, count), np.linspace(0, width - 1, count), indexing="ij"
    )
    edge = (columns == 0) | (columns == width - 1) | (rows == 0) | (rows == height - 1)
    return np.stack([rows[edge], columns[edge]], -1)
