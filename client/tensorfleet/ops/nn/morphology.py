"""Dilation and erosion of images in greys: the greatest sum, or the least difference, in each window."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.shape_rules import merge_dim, unchanged, with_rank

_ATTRS = (
    f"T: {{{ORDERED}}}",
    "strides: list(int) >= 4",
    "rates: list(int) >= 4",
    'padding: {"SAME", "VALID"}',
)


def _dilation(op: RuleNode) -> list[Dims]:
    images, window = with_rank(op.inputs[0].dims, 4), with_rank(op.inputs[1].dims, 3)
    strides, rates = op.attrs["strides"], op.attrs["rates"]
    for name, values in (("stride", strides), ("rate", rates)):
        if len(values) != 4:
            raise ValueError(
                f"Dilation2D requires the {name} attribute to contain 4 values, but got: {len(values)}"
            )
    space: list[int | None] = []
    for axis in (1, 2):
        size, extent = images[axis], window[axis - 1]
        if size is None or (extent is None and op.attrs["padding"] == b"VALID"):
            space.append(None)
            continue
        if op.attrs["padding"] == b"SAME":
            space.append(-(-size // strides[axis]))
            continue
        assert extent is not None
        reach = extent + (extent - 1) * (rates[axis] - 1)
        if size < reach:
            raise ValueError(f"Computed output size would be negative: {size - reach}")
        space.append((size - reach + strides[axis]) // strides[axis])
    return [(images[0], *space, merge_dim(images[3], window[2]))]


def _of_filter(op: RuleNode) -> list[Dims]:
    return [op.inputs[1].dims]


op("Dilation2D(input: T, filter: T) -> (output: T)", *_ATTRS, shape=_dilation)
op(
    "Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> (in_backprop: T)",
    *_ATTRS,
    shape=unchanged,
)
op(
    "Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> (filter_backprop: T)",
    *_ATTRS,
    shape=_of_filter,
)


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The greatest sum of image and filter in each window (`tf.nn.dilation2d`).

    Args:
        input: shape [batch, height, width, channels].
        filter: shape [height, width, channels]; `filters` is another name of it.
        strides: four numbers, of which the first and the last are 1.
        rates: four numbers, the distances between elements in a window; `dilations` is another name.
        padding: "SAME" or "VALID".
    """
    filter = filters if filter is None else filter
    rates = dilations if rates is None else rates
    return apply_one("Dilation2D", input, filter, strides=strides, rates=rates, padding=padding, name=name)


def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Tensor:
    """The least difference of image and kernel in each window (`tf.nn.erosion2d`); as `dilation2d`."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        flipped = apply_one("ReverseV2", kernel, [0, 1])
        made = apply_one(
            "Dilation2D", apply_one("Neg", value), flipped, strides=strides, rates=rates, padding=padding
        )
        return apply_one("Neg", made, name=scope)
