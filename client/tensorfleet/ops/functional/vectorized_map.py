"""`tf.vectorized_map`: a function of the rows of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import structures
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.functional.map_fn import map_fn


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` of each row of `elems`, stacked (`tf.vectorized_map`).

    A loop over the rows, as in `tf.map_fn`, whose iterations may overlap; the dtypes of the results follow
    from `fn`. TensorFlow rewrites the operations of `fn` into ones over whole batches where it can, which is
    faster for many small rows: there, operations that take batches themselves (`tf.matmul`, `tf.einsum`) are
    the better choice here.

    Args:
        fn: a function of one row, or of a structure of rows, that uses no stateful operations.
        elems: a tensor, or a nested structure of tensors with the same number of rows.
        fallback_to_while_loop, warn: ignored: there is always a loop.

    Example:
        >>> rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> tf.Session().run(tf.vectorized_map(lambda row: tf.reduce_sum(row) > 4.0, rows))
        array([False,  True])
    """
    elems = structures.map_structure(convert_to_tensor, elems)
    graph = FuncGraph(get_default_graph())
    with graph.as_default():
        # Traced once in a graph that is thrown away, for the dtypes alone.
        row = structures.map_structure(
            lambda x: graph.add_argument("row", x.dtype, None if x.dims is None else x.dims[1:]), elems
        )
        types = structures.map_structure(lambda x: convert_to_tensor(x).dtype.base, fn(row))
    return map_fn(lambda row: structures.map_structure(convert_to_tensor, fn(row)), elems, dtype=types)
