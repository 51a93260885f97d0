"""SparseTensors with another dense shape, after a check against their own."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import format_dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_dims
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor, as_sparse
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.debugging.checks import assert_equal, assert_less_equal


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a tensor of another shape (`tf.sparse.reset_shape`).

    Args:
        new_shape: the shape, not smaller than before in any dimension; by default the smallest one that
            holds all elements.

    Raises:
        ValueError: `new_shape` is known to have another rank or to be smaller.
        InvalidArgumentError: the same, found in a run.
    """
    sparse = as_sparse(sp_input)
    indices, values = identity(sparse.indices), identity(sparse.values)
    old = identity(sparse.dense_shape)
    if new_shape is None:
        # Without elements the greatest index is the least int64, so the sum is negative.
        greatest = apply_one("Max", indices, 0, name="Max")
        beyond = apply_one("AddV2", greatest, ones_like(old), name="Add")
        return SparseTensor(indices, values, apply_one("Maximum", convert_to_tensor(0, dtypes.int64), beyond))
    wanted = cast(convert_to_tensor(new_shape), dtypes.int64)
    if wanted.dims is not None and len(wanted.dims) != 1:
        raise ValueError(f"Shape {format_dims(wanted.dims)} must have rank 1")
    new, known = static_dims(wanted), static_dims(sparse.dense_shape)
    if new is not None and known is not None and None not in (*new, *known):
        if len(new) != len(known):
            raise ValueError(
                f"Shape {format_dims(new)} has a different rank than that of the SparseTensor, "
                f"{format_dims(known)}"
            )
        if any((a or 0) < (b or 0) for a, b in zip(new, known, strict=True)):
            raise ValueError(
                f"New shape {format_dims(new)} is not compatible with the SparseTensor's, "
                f"{format_dims(known)}: it is smaller"
            )
        return SparseTensor(indices, values, list(new))
    wanted = with_dependencies([assert_equal(shape(old), shape(wanted))], wanted)
    wanted = with_dependencies([assert_less_equal(old, wanted)], wanted)
    return SparseTensor(indices, values, wanted)
