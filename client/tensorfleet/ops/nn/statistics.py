"""Compositions of `tf.nn` for statistics and losses: weighted and sufficient moments, swish, Poisson loss."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.reduction import reduce_prod, reduce_sum
from tensorfleet.ops.nn.norm import batch_normalization


def _axes(axes: Any) -> list[int]:
    return [int(a) for a in axes] if hasattr(axes, "__len__") else [int(axes)]


@takes_composites
def swish(features: Any, beta: Any = 1.0) -> Tensor:
    """features · sigmoid(beta · features) (`tf.nn.swish`, `tf.nn.silu`)."""
    features = convert_to_tensor(features, name="features")
    beta = convert_to_tensor(beta, features.dtype.base, name="beta")
    result: Tensor = features * apply_one("Sigmoid", beta * features)
    return result


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """The sums from which `normalize_moments` computes mean and variance (`tf.nn.sufficient_statistics`).

    Args:
        axes: the dimensions to sum over.
        shift: the value to subtract from each element first; one near the mean gives more precision.

    Returns:
        The number of elements of each sum; the sums; the sums of squares; the shift, or None.
    """
    keep = bool(keepdims if keepdims is not None else keep_dims)
    over = _axes(axes)
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        if x.dims is not None and all(x.dims[a] is not None for a in over):
            count = constant(math.prod(x.dims[a] for a in over), x.dtype.base)
        else:
            sizes = apply_one("GatherV2", apply_one("Shape", x), [a % x.ndim for a in over], 0)
            count = cast(reduce_prod(sizes), x.dtype.base)
        if shift is None:
            sums, squares = x, apply_one("Square", x)
        else:
            shift = convert_to_tensor(shift, name="shift")
            sums, squares = x - shift, apply_one("SquaredDifference", x, shift)
        return (
            count,
            reduce_sum(sums, over, keepdims=keep, name="mean_ss"),
            reduce_sum(squares, over, keepdims=keep, name="var_ss"),
            shift,
        )


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from the results of `sufficient_statistics` (`tf.nn.normalize_moments`)."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor: Any = apply_one("Reciprocal", counts, name="divisor")
        if shift is None:
            shifted = mean = apply_one("Mul", mean_ss, divisor, name="mean")
        else:
            shifted = apply_one("Mul", mean_ss, divisor, name="shifted_mean")
            mean = apply_one("AddV2", shifted, shift, name="mean")
        second = apply_one("Mul", variance_ss, divisor)
        return mean, apply_one("Sub", second, apply_one("Square", shifted), name="variance")


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Weighted mean and variance (`tf.nn.weighted_moments`).

    Args:
        frequency_weights: the weight of each element, broadcast to the shape of `x`.
    """
    keep = bool(keepdims if keepdims is not None else keep_dims)
    over = _axes(axes)
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        given = x.dtype.base
        # float16 has too few digits for sums of squares.
        inner = dtypes.float32 if given is dtypes.float16 else given
        x = cast(x, inner)
        weights = cast(convert_to_tensor(frequency_weights, name="frequency_weights"), inner)
        all_weights = weights + apply_one("ZerosLike", x)
        divisor = apply_one("Reciprocal", reduce_sum(all_weights, over, keepdims=True))
        mean = reduce_sum(weights * x, over, keepdims=True) * divisor
        distances = weights * apply_one("SquaredDifference", x, mean)
        variance = reduce_sum(distances, over, keepdims=True) * divisor
        if not keep:
            mean, variance = squeeze(mean, over), squeeze(variance, over)
        return cast(mean, given), cast(variance, given)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(log_input) - log_input · targets, the Poisson loss of log rates (`tf.nn.log_poisson_loss`).

    Args:
        compute_full_loss: whether to add Stirling's approximation of log(targets!).

    Raises:
        ValueError: the shapes differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, log_input.dtype.base, name="targets")
        if not log_input.shape.is_compatible_with(targets.shape):
            raise ValueError(
                "`log_input` and `targets` must have the same shape, received "
                f"({log_input.shape} vs {targets.shape})."
            )
        loss: Tensor = apply_one("Exp", log_input) - log_input * targets
        if not compute_full_loss:
            return loss
        stirling = (
            targets * apply_one("Log", targets) - targets + 0.5 * apply_one("Log", 2 * math.pi * targets)
        )
        # At 0 and 1, where log(targets!) is 0, the approximation is poor.
        small = apply_one("LogicalAnd", targets >= 0.0, targets <= 1.0)
        return loss + apply_one("SelectV2", small, apply_one("ZerosLike", targets), stirling)


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """`batch_normalization` with its arguments in another order (deprecated)
    (`tf.nn.batch_norm_with_global_normalization`).

    `input`, `mean` and `variance` are other names of `t`, `m` and `v`.

    Args:
        scale_after_normalization: whether `gamma` is used.
    """
    t, m, v = (other if one is None else one for one, other in ((t, input), (m, mean), (v, variance)))
    return batch_normalization(
        t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name
    )
