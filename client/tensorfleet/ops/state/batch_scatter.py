"""Updates of elements along the last dimension of indices: `tf.batch_scatter_update`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_ops import scatter_nd_update


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """ref[i, …, indices[i, …, j]] = updates[i, …, j] (`tf.batch_scatter_update`).

    Args:
        indices: integers, whose dimensions but the last are the first ones of the variable.
        updates: of shape indices.shape + ref.shape[indices.rank:].

    Raises:
        ValueError: the rank of `indices` is not known.
    """
    with name_scope(name, "batch_scatter_update"):
        indices = convert_to_tensor(indices, name="indices")
        if indices.dims is None:
            raise ValueError("batch_scatter_update needs indices of a known rank.")
        rank = len(indices.dims)
        shape = apply_one("Shape", indices)
        last = apply_one("ExpandDims", indices, -1)
        places = []
        for axis in range(rank - 1):
            along = [1] * (rank + 1)
            along[axis] = -1
            numbers = apply_one("Cast", apply_one("Range", 0, shape[axis], 1), DstT=indices.dtype.base)
            places.append(apply_one("Reshape", numbers, along) + apply_one("ZerosLike", last))
        full = apply_one("ConcatV2", [*places, last], -1) if places else last
        return scatter_nd_update(ref, full, updates, use_locking=use_locking)
