"""Probabilities that may be zero, arXiv:1602.02068 (`tf.contrib.sparsemax`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.reduction import reduce_sum


def sparsemax(logits: Any, name: str | None = None) -> Tensor:
    """The point of the simplex that is nearest to each row of logits (`tf.contrib.sparsemax.sparsemax`).

    Args:
        logits: `[batch, classes]`, of a floating-point dtype.
    """
    with name_scope(name, "sparsemax", [logits]):
        given = convert_to_tensor(logits, name="logits")
        # Rows around zero: large numbers would lose the digits of their sums.
        z = given - apply_one("Mean", given, 1, keep_dims=True)
        classes = shape(z)[1]
        ordered, _ = apply_op("TopKV2", z, classes)
        sums = apply_one("Cumsum", ordered, -1)
        ranks = cast(apply_one("Range", 1, classes + 1, 1), z.dtype.base)
        count = reduce_sum(cast(1.0 + ranks * ordered > sums, z.dtype.base), 1, keepdims=True)
        support = cast(apply_one("Equal", ranks[None, :], count), z.dtype.base)
        threshold = (reduce_sum(sums * support, 1, keepdims=True) - 1.0) / count
        return apply_one("Maximum", cast(0.0, z.dtype.base), z - threshold)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Tensor:
    """The loss of which `sparsemax` minus the labels is the gradient (`tf.contrib.sparsemax.sparsemax_loss`).

    Args:
        logits: `[batch, classes]`.
        sparsemax: the result of `sparsemax` for them.
        labels: `[batch, classes]`, the probabilities that are meant.

    Returns:
        `[batch]`
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        z = convert_to_tensor(logits, name="logits")
        p = convert_to_tensor(sparsemax, name="sparsemax", dtype=z.dtype.base)
        q = convert_to_tensor(labels, name="labels", dtype=z.dtype.base)
        z = z - apply_one("Mean", z, 1, keep_dims=True)
        # p·z - p²/2 where p is not zero, less the same of the labels.
        inside = p > cast(0.0, z.dtype.base)
        zeros = apply_one("ZerosLike", z)
        sums = apply_one("SelectV2", inside, p * (z - 0.5 * p), zeros)
        return reduce_sum(sums + q * (0.5 * q - z), 1)
