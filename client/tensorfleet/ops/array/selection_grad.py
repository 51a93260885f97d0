"""Gradients of `selection`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import ints, rank_of, reshape_like, shape_of, size_of, summed_to, where

not_differentiable("Where", "InTopK", "InTopKV2")


@gradient("Select")
def _select(op: Operation, grad: Tensor) -> list[Tensor | None]:
    condition, x, _ = op.inputs
    zero = zeros_like(x)
    return [None, apply_one("Select", condition, grad, zero), apply_one("Select", condition, zero, grad)]


@gradient("SelectV2")
def _select_v2(op: Operation, grad: Tensor) -> list[Tensor | None]:
    condition, x, y = op.inputs
    zero = zeros([], grad.dtype.base)
    chosen = where(condition, grad, zero), where(condition, zero, grad)
    return [None, *(summed_to(g, op.outputs[0], t) for g, t in zip(chosen, (x, y), strict=True))]


def _last_size(tensor: Tensor) -> Tensor:
    return apply_one("GatherV2", shape_of(tensor), rank_of(tensor) - ints(1), 0)


@gradient("ApproxTopK")
def _approx_top_k(op: Operation, grad: Tensor, _: Any) -> Tensor:
    x, indices = op.inputs[0], op.outputs[1]
    if x.ndim is None:
        raise ValueError(f"The gradient of {op.name} needs an input whose rank is known")
    axis = op.get_attr("reduction_dimension") % x.ndim
    # For each place of the dimension, the gradients of the elements that were found there.
    places = apply_one("Range", 0, apply_one("GatherV2", shape_of(x), axis, 0), 1)
    places = apply_one("Reshape", places, ints([-1] + [1] * (x.ndim - axis)))
    chosen = apply_one("Equal", apply_one("ExpandDims", indices, axis), places)
    spread = where(chosen, apply_one("ExpandDims", grad, axis), zeros([], grad.dtype.base))
    return apply_one("Sum", spread, ints([axis + 1]))


@gradient("TopK", "TopKV2")
def _top_k(op: Operation, grad: Tensor, _: Any) -> list[Tensor | None]:
    x, indices = op.inputs[0], op.outputs[1]
    places = apply_one("Cast", indices, DstT=np.int32)
    width, chosen = (_last_size(t) for t in (x, indices))
    # Positions in all rows taken as one vector.
    rows = apply_one("Reshape", places, apply_one("Pack", [-1, chosen], axis=0))
    starts = apply_one("Range", 0, apply_one("GatherV2", apply_one("Shape", rows), 0, 0), 1) * width
    ids = apply_one("Reshape", rows + apply_one("ExpandDims", starts, 1), ints([-1]))
    flat = apply_one("UnsortedSegmentSum", apply_one("Reshape", grad, ints([-1])), ids, size_of(x))
    return [reshape_like(flat, x)] + [None] * (len(op.inputs) - 1)
