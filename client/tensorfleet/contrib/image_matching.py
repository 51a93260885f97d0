"""`tf.contrib.image.bipartite_match`: pairs of rows and columns by their distances, nearest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import control_dependencies, name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill, range as sequence
from tensorfleet.ops.array.joining import unstack
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.arithmetic import floordiv, floormod, minimum
from tensorfleet.ops.math.comparison import equal, less, less_equal, logical_and, logical_not, logical_or
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_min


def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Pairs rows with columns: the smallest distance first, each row and each column at most once.

    Args:
        distance_mat: float32 `[rows, columns]`.
        num_valid_rows: how many rows, the first ones, may be paired, a float with one element; all if it
            is negative.
        top_k: how many pairs are made at most; as many as possible unless it is positive.

    Returns:
        int32 `[rows]`, the column of each row, and int32 `[columns]`, the row of each column; -1 where there
        is none. Of equal distances the one that comes first in the matrix counts.

    Raises:
        InvalidArgumentError: the matrix has fewer rows than may be paired.
    """
    with name_scope(name, "BipartiteMatch"):
        distances = convert_to_tensor(distance_mat, dtypes.float32)
        distances.get_shape().assert_has_rank(2)
        rows, columns = unstack(shape(distances))
        wanted = reshape(convert_to_tensor(num_valid_rows, dtypes.float32), [])
        valid = where(wanted < 0, rows, cast(wanted + 0.1, dtypes.int32))
        message = ["There should be at least num_valid_rows rows in distance_mat", valid, rows]
        with control_dependencies([Assert(less_equal(valid, rows), message)]):
            pairs = minimum(valid, columns)
        if top_k > 0:
            pairs = minimum(pairs, top_k)
        row_numbers, column_numbers = sequence(rows), sequence(columns)
        no_distance = fill([rows, columns], np.float32(np.inf))

        def pair(count: Any, is_open: Any, of_row: Any, of_column: Any) -> tuple[Any, ...]:
            nearest = reduce_min(where(is_open, distances, no_distance))
            # A distance may be infinite itself, so that only open places are looked at.
            is_nearest = logical_and(is_open, less_equal(distances, nearest))
            place = argmax(reshape(cast(is_nearest, dtypes.int32), [-1]), output_type=dtypes.int32)
            row, column = floordiv(place, columns), floormod(place, columns)
            in_row, in_column = equal(row_numbers, row), equal(column_numbers, column)
            is_taken = logical_or(expand_dims(in_row, 1), expand_dims(in_column, 0))
            return (
                count + 1,
                logical_and(is_open, logical_not(is_taken)),
                where(in_row, fill([rows], column), of_row),
                where(in_column, fill([columns], row), of_column),
            )

        is_valid = tile(expand_dims(less(row_numbers, valid), 1), [1, columns])
        _, _, of_row, of_column = while_loop(
            lambda count, *_: less(count, pairs),
            pair,
            (0, is_valid, fill([rows], -1), fill([columns], -1)),
            back_prop=False,
        )
        of_row.set_shape(distances.get_shape()[:1])
        of_column.set_shape(distances.get_shape()[1:])
        return of_row, of_column
