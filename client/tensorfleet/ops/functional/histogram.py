"""The bins of values, with a check in the run: `tf.histogram_fixed_width_bins`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.clip import clip_by_value
from tensorfleet.ops.math.elementwise import floor


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """The bin of each value, of `nbins` bins of equal width (`tf.histogram_fixed_width_bins`).

    Args:
        value_range: [least, greatest]; what is outside belongs to the first or the last bin.

    Returns:
        Of the shape of `values`.

    Raises:
        InvalidArgumentError: in a run, where `nbins` is not positive.
    """
    with framework.name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        dims = shape(values)
        values = reshape(values, [-1])
        value_range = convert_to_tensor(value_range, name="value_range")
        nbins = convert_to_tensor(nbins, dtypes.int32, "nbins")
        check = Assert(apply_one("Greater", nbins, 0), ["nbins should be a positive number."])
        nbins = with_dependencies([check], nbins)
        count = cast(nbins, values.dtype.base)
        scaled = apply_one(
            "RealDiv", values - value_range[0], value_range[1] - value_range[0], name="scaled_values"
        )
        places = floor(count * scaled, name="indices")
        places = cast(clip_by_value(places, 0, count - 1), dtypes.int32)
        return (
            reshape(places, dims)
            if dtypes.as_dtype(dtype) is dtypes.int32
            else cast(reshape(places, dims), dtype)
        )
