"""`tf.vectorized_map`: a function of the rows of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import logging, structures
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.functional.map_fn import map_fn
from tensorfleet.ops.functional.vectorizing import CannotVectorize, vectorize


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` of each row of `elems`, stacked (`tf.vectorized_map`).

    The operations of `fn` are rewritten to ones that take all rows at once, which is much faster than a loop
    for many small rows. Where one of them has no such form (or has a state, as random numbers have), it is a
    loop over the rows as in `tf.map_fn`.

    Args:
        fn: a function of one row, or of a structure of rows, that uses no stateful operations.
        elems: a tensor, or a nested structure of tensors with the same number of rows.
        fallback_to_while_loop: whether there may be a loop; else ValueError where one is needed.
        warn: whether a loop is told of in the log.

    Raises:
        ValueError: a loop is needed, but not allowed.

    Example:
        >>> rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> tf.Session().run(tf.vectorized_map(lambda row: tf.reduce_sum(row) > 4.0, rows))
        array([False,  True])
    """
    elems = structures.map_structure(convert_to_tensor, elems)
    graph = FuncGraph(get_default_graph())
    with graph.as_default():
        row = structures.map_structure(
            lambda x: graph.add_argument("row", x.dtype, None if x.dims is None else x.dims[1:]), elems
        )
        results = structures.map_structure(convert_to_tensor, fn(row))
        outputs = [
            output if output.op.graph is graph else identity(output) for output in structures.flatten(results)
        ]
    wholes = structures.flatten(elems)
    rows = dict(zip(structures.flatten(row), wholes, strict=True))
    with name_scope("vectorized_map"):
        try:
            count = apply_one("StridedSlice", shape_of(wholes[0]), [0], [1], [1], shrink_axis_mask=1)
            found = vectorize(graph, rows, outputs, count)
        except CannotVectorize as e:
            if not fallback_to_while_loop:
                raise ValueError(f"The function of a vectorized_map needs a loop: {e}.") from None
            if warn:
                logging.warning("A vectorized_map is a loop over its rows, as %s.", e)
        else:
            size = next((whole.dims[0] for whole in wholes if whole.dims and whole.dims[0] is not None), None)
            for tensor in found:
                tensor.set_shape([size, *tensor.dims[1:]] if tensor.dims else None)
            return structures.pack(results, found)
    types = structures.map_structure(lambda output: output.dtype.base, results)
    return map_fn(lambda row: structures.map_structure(convert_to_tensor, fn(row)), elems, dtype=types)
