"""Regularizers, functions from weights to a loss: `tf.contrib.layers.l2_regularizer`, …"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import l2_loss

Regularizer = Callable[..., Any]
"""A function from a tensor or variable to a loss of rank 0, or None."""


def _is_off(scale: Any) -> bool:
    """Whether a scale is 0.

    Raises:
        ValueError: `scale` is an integer, or negative.
    """
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if float(scale) < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        return float(scale) == 0.0
    return False


def _scaled(scale: Any, loss: Callable[[Any], Tensor], default: str, scope: str | None) -> Regularizer:
    if _is_off(scale):
        return lambda weights, name=None: None

    def regularize(weights: Any, name: str | None = None) -> Tensor:
        with framework.name_scope(scope, default, [weights]) as inner:
            weights = convert_to_tensor(weights)
            factor = convert_to_tensor(scale, weights.dtype.base, name="scale")
            return apply_one("Mul", factor, loss(weights), name=inner)

    return regularize


def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """`scale` times the sum of absolute values (`tf.contrib.layers.l1_regularizer`).

    Args:
        scale: a float, 0.0 for no loss; or a tensor of rank 0.

    Raises:
        ValueError: `scale` is negative or an integer.
    """
    return _scaled(scale, lambda weights: reduce_sum(apply_one("Abs", weights)), "l1_regularizer", scope)


def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """`scale` times half the sum of squares (`tf.contrib.layers.l2_regularizer`); see `l1_regularizer`."""
    return _scaled(scale, l2_loss, "l2_regularizer", scope)


def l1_l2_regularizer(
    scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None
) -> Regularizer | None:
    """The sum of the L1 and the L2 regularizer (`tf.contrib.layers.l1_l2_regularizer`).

    Raises:
        ValueError: a scale is negative or an integer.
    """
    off_l1, off_l2 = _is_off(scale_l1), _is_off(scale_l2)
    scope = scope or "l1_l2_regularizer"
    if off_l1:
        return l2_regularizer(scale_l2, scope)
    if off_l2:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(
    regularizer_list: Iterable[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """The sum of several regularizers (`tf.contrib.layers.sum_regularizer`); its loss is None without any."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def regularize(weights: Any) -> Tensor | None:
        with framework.name_scope(scope, "sum_regularizer", [weights]) as inner:
            losses = [loss for r in regularizers if (loss := r(weights)) is not None]
            return add_n(losses, name=inner) if losses else None

    return regularize


def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Tensor:
    """The sum of a regularizer's losses on several weights, also added to the collection
    REGULARIZATION_LOSSES (`tf.contrib.layers.apply_regularization`).

    Args:
        weights_list: the weights, by default the collection WEIGHTS.

    Raises:
        ValueError: there are no weights, or a loss is not of rank 0.
    """
    weights_list = weights_list or framework.get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with framework.name_scope("get_regularization_penalty", values=weights_list) as scope:
        losses = [loss if (loss := regularizer(w)) is not None else constant(0.0) for w in weights_list]
        for loss in losses:
            if loss.ndim != 0:
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank {loss.ndim}."
                )
        total = add_n(losses, name=scope)
        framework.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
