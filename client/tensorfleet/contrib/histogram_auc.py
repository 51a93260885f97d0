"""The area under the ROC curve by two histograms: `tf.contrib.metrics.auc_using_histogram`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.rearranging import reverse
from tensorfleet.ops.array.selection import boolean_mask
from tensorfleet.ops.array.shaping import rank, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.data_flow.partition import histogram_fixed_width
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.scan import cumsum
from tensorfleet.ops.nn.confusion import remove_squeezable_dimensions
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope


def auc_using_histogram(
    boolean_labels: Any,
    scores: Any,
    score_range: Any,
    nbins: int = 100,
    collections: Any = None,
    check_shape: bool = True,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The area under the ROC curve, from histograms of the scores of true and of false records
    (`tf.contrib.metrics.auc_using_histogram`). The memory it takes does not grow with the records.

    Args:
        boolean_labels: bool [records].
        scores: [records], of a number type.
        score_range: [2], the limits of the scores; those outside of it count in the first or the last bin.
        nbins: the number of bins.
        collections: of the histograms' variables; LOCAL_VARIABLES by default.
        check_shape: whether the run checks that both ranks are 1.

    Returns:
        (value, update): the area, float32, NaN until there are labels of both kinds; and the op that counts a
        batch.

    Raises:
        ValueError: the labels are not of dtype bool.
    """
    if collections is None:
        collections = [GraphKeys.LOCAL_VARIABLES]
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        labels, scores = remove_squeezable_dimensions(boolean_labels, scores)
        if labels.dtype != dtypes.bool:
            raise ValueError(f"Argument boolean_labels should have dtype bool.  Found: {labels.dtype}")
        limits = convert_to_tensor(score_range, name="score_range")
        checks = []
        if check_shape:
            for what, tensor in (("boolean_labels", labels), ("scores", scores)):
                said = [f"Argument {what} should have rank 1.  Found: ", tensor.name, shape(tensor)]
                checks.append(Assert(apply_one("Equal", rank(tensor), 1), said))
        with framework.control_dependencies(checks):
            counts = []
            with variable_scope(None, "make_auc_histograms"):
                for kind, chosen in (("true", labels), ("false", ~labels)):
                    of_kind = boolean_mask(scores, chosen)
                    histogram = histogram_fixed_width(of_kind, limits, nbins, dtypes.int64, f"hist_{kind}")
                    counts.append((kind, histogram))
        with variable_scope(None, "hist_accumulate"):
            kept = [
                get_variable(
                    f"hist_{kind}_acc",
                    [nbins],
                    dtypes.int64,
                    zeros_initializer(),
                    trainable=False,
                    collections=collections,
                )
                for kind, _ in counts
            ]
            added = [var.assign_add(new) for var, (_, new) in zip(kept, counts, strict=True)]
            update = group(*added, name="update_op")
        return _area(*kept), update


def _area(true: Any, false: Any) -> Any:
    """By the trapezoidal rule, from the highest threshold down."""
    steps = [cast(reverse(each / reduce_sum(each), [0]), dtypes.float32) for each in (true, false)]
    height, width = cumsum(steps[0]), steps[1]
    first = width[0] * height[0] / 2.0
    others = reduce_sum(width[1:] * (height[1:] + height[:-1]) / 2.0)
    with framework.name_scope("auc"):
        return first + others
