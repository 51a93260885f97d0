"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims, normalize_axis
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import FLOATS, apply_one


def _scan_shape(operation: RuleNode) -> list[Dims]:
    dims = operation.inputs[0].dims
    axis = static_value(operation.inputs[1])
    if dims is not None and axis is not None and axis.size == 1:
        normalize_axis(int(axis), len(dims))
    return [dims]


for _name in ("Cumsum", "Cumprod"):
    op(
        f"{_name}(x: T, axis: Tidx) -> (out: T)",
        "exclusive: bool = false",
        "reverse: bool = false",
        "T: {number}",
        "Tidx: {int32, int64} = int32",
        shape=_scan_shape,
    )
op(
    "CumulativeLogsumexp(x: T, axis: Tidx) -> (out: T)",
    "exclusive: bool = false",
    "reverse: bool = false",
    f"T: {{{FLOATS}}}",
    "Tidx: {int32, int64} = int32",
    shape=_scan_shape,
)


@takes_composites
def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The sums of all elements up to each one along an axis (`tf.cumsum`).

    Args:
        exclusive: leave the element itself out.
        reverse: sum from the end.

    Example:
        >>> tf.Session().run(tf.cumsum([1, 2, 3]))
        array([1, 3, 6], dtype=int32)
    """
    with get_default_graph().name_scope(name or "Cumsum") as scope:
        x = convert_to_tensor(x, name="x")
        return apply_one("Cumsum", x, axis, name=scope, exclusive=exclusive, reverse=reverse)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The products of all elements up to each one along an axis (`tf.cumprod`); arguments as for `cumsum`."""
    with get_default_graph().name_scope(name or "Cumprod") as scope:
        x = convert_to_tensor(x, name="x")
        return apply_one("Cumprod", x, axis, name=scope, exclusive=exclusive, reverse=reverse)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The logarithm of the `cumsum` of exp(x), without overflow (`tf.math.cumulative_logsumexp`); arguments
    as for `cumsum`.
    """
    with get_default_graph().name_scope(name or "CumulativeLogsumexp") as scope:
        x = convert_to_tensor(x, name="x")
        return apply_one("CumulativeLogsumexp", x, axis, name=scope, exclusive=exclusive, reverse=reverse)
