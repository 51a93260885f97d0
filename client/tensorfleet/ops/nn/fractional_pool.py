"""Pooling by windows of sizes that differ by one, so that images shrink by a factor that is no integer."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.ops.shape_rules import unchanged, with_rank

_TYPES = "T: {float32, float64, int32, int64}"


def _pooled(op: RuleNode) -> list[Dims]:
    images, ratio = with_rank(op.inputs[0].dims, 4), op.attrs["pooling_ratio"]
    if len(ratio) != 4:
        raise ValueError(f"pooling_ratio field must specify 4 dimensions, got {len(ratio)}")
    sizes = tuple(
        None if size is None else int(size / factor) for size, factor in zip(images, ratio, strict=True)
    )
    return [sizes, (None,), (None,)]


def _average_grad(op: RuleNode) -> list[Dims]:
    found = static_dims(op.inputs[0])
    return [(None,) * 4 if found is None else found]


for _name in ("FractionalMaxPool", "FractionalAvgPool"):
    op(
        f"{_name}(value: T) -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)",
        "pooling_ratio: list(float) >= 4",
        "pseudo_random: bool = false",
        "overlapping: bool = false",
        "deterministic: bool = false",
        "seed: int = 0",
        "seed2: int = 0",
        _TYPES,
        shape=_pooled,
    )
op(
    "FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, "
    "col_pooling_sequence: int64) -> (output: T)",
    "overlapping: bool = false",
    _TYPES,
    shape=unchanged,
)
op(
    "FractionalAvgPoolGrad(orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, "
    "col_pooling_sequence: int64) -> (output: T)",
    "overlapping: bool = false",
    _TYPES,
    shape=_average_grad,
)


def _fractional(name: str, value: Any, ratio: Any, *options: Any, scope: str | None) -> Any:
    pseudo_random, overlapping, deterministic, seed, seed2 = options
    return apply_op(
        name,
        value,
        pooling_ratio=ratio,
        pseudo_random=pseudo_random,
        overlapping=overlapping,
        deterministic=deterministic,
        seed=seed,
        seed2=seed2,
        name=scope,
    )


def fractional_max_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """The greatest values of windows whose sizes are drawn (`tf.nn.fractional_max_pool`).

    Args:
        value: shape [batch, height, width, channels].
        pooling_ratio: four numbers, of which the first and the last are 1.
        pseudo_random: whether the sizes follow from one number drawn, and not each from its own.
        overlapping: whether a window has the first row and column of the next one.
        deterministic: whether the seeds count.

    Returns:
        The values, and where windows begin, by rows and by columns.
    """
    options = (pseudo_random, overlapping, deterministic, seed, seed2)
    return _fractional("FractionalMaxPool", value, pooling_ratio, *options, scope=name)


def fractional_avg_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """The means of windows whose sizes are drawn (`tf.nn.fractional_avg_pool`); as `fractional_max_pool`."""
    options = (pseudo_random, overlapping, deterministic, seed, seed2)
    return _fractional("FractionalAvgPool", value, pooling_ratio, *options, scope=name)
