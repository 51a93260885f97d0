"""`tf.contrib.losses.metric_learning`: losses of embeddings, near for one label and far for others."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import eye, zeros_like
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.io.logging import Print
from tensorfleet.ops.math.arithmetic import maximum, multiply, squared_difference, truediv
from tensorfleet.ops.math.comparison import equal, greater, less_equal, logical_and, logical_not
from tensorfleet.ops.math.elementwise import exp, log, sqrt, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_any, reduce_max, reduce_mean, reduce_min, reduce_sum
from tensorfleet.ops.nn.cross_entropy import softmax_cross_entropy_with_logits_v2


def pairwise_distance(feature: Any, squared: bool = False) -> Any:
    """The distances between all rows, `[batch, batch]`, with zeros on the diagonal.

    Args:
        feature: `[batch, size]`.
        squared: whether they are squared.
    """
    feature = convert_to_tensor(feature)
    sizes = reduce_sum(square(feature), axis=[1], keepdims=True)
    products = matmul(feature, feature, transpose_b=True)
    squares = maximum(sizes + transpose(sizes) - 2.0 * products, 0.0)
    zero = less_equal(squares, 0.0)
    # The root has no gradient at 0.
    distances = squares if squared else sqrt(squares + cast(zero, feature.dtype) * 1e-16)
    distances = distances * cast(logical_not(zero), feature.dtype)
    return distances * (1.0 - eye(shape(feature)[0], dtype=feature.dtype))


def _same_label(labels: Any) -> Any:
    labels = reshape(labels, [-1, 1])
    return equal(labels, transpose(labels))


def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Any:
    """The mean of the squared distances of pairs with label 1, and of how much those with label 0 are nearer
    than `margin`, squared (`tf.contrib.losses.metric_learning.contrastive_loss`)."""
    distances = sqrt(reduce_sum(squared_difference(embeddings_anchor, embeddings_positive), 1))
    alike = cast(labels, distances.dtype)
    near = square(maximum(margin - distances, 0.0))
    return reduce_mean(alike * square(distances) + (1.0 - alike) * near, name="contrastive_loss")


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """The mean over pairs of one label of margin + distance - that of a negative, if it is positive
    (`tf.contrib.losses.metric_learning.triplet_semihard_loss`; Schroff et al., arXiv:1503.03832).

    The negative is the nearest one that is farther than the positive, or the farthest of all if none is.

    Args:
        labels: integers `[batch]`.
        embeddings: `[batch, size]`, which should have norm 1.
    """
    embeddings = convert_to_tensor(embeddings)
    distances = pairwise_distance(embeddings, squared=True)
    same = _same_label(labels)
    dtype = embeddings.dtype
    # By anchor, positive and negative.
    positive, negative = expand_dims(distances, 2), expand_dims(distances, 1)
    farther = logical_and(expand_dims(logical_not(same), 1), greater(negative, positive))
    limit = reduce_max(distances) + 1.0
    nearest = reduce_min(where_v2(farther, negative, limit), 2)
    farthest = reduce_max(where_v2(same, zeros_like(distances), distances), 1, keepdims=True)
    chosen = where_v2(reduce_any(farther, 2), nearest, farthest)
    pairs = cast(same, dtype) - eye(shape(embeddings)[0], dtype=dtype)
    losses = maximum((margin + distances - chosen) * pairs, 0.0)
    return truediv(reduce_sum(losses), reduce_sum(pairs), name="triplet_semihard_loss")


def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """The cross entropy of each anchor's similarities with all positives, and a regularization
    (`tf.contrib.losses.metric_learning.npairs_loss`; Sohn, NIPS 2016).

    Args:
        labels: integers `[batch]`; an anchor's class is spread evenly over the positives of its label.
    """
    norms = [reduce_mean(reduce_sum(square(e), 1)) for e in (embeddings_anchor, embeddings_positive)]
    penalty = multiply(0.25 * reg_lambda, norms[0] + norms[1], name="l2loss")
    similar = matmul(embeddings_anchor, embeddings_positive, transpose_b=True)
    wanted = cast(_same_label(labels), similar.dtype)
    wanted /= reduce_sum(wanted, 1, keepdims=True)
    entropy = reduce_mean(
        softmax_cross_entropy_with_logits_v2(labels=wanted, logits=similar), name="xentropy"
    )
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", penalty])
    return penalty + entropy


def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """For each pair of one label, its distance and how near the negatives of both are, squared
    (`tf.contrib.losses.metric_learning.lifted_struct_loss`; Song et al., arXiv:1511.06452)."""
    embeddings = convert_to_tensor(embeddings)
    dtype = embeddings.dtype
    distances = pairwise_distance(embeddings)
    same = _same_label(labels)
    negatives = cast(logical_not(same), dtype)
    nearness = margin - distances
    lowest = reduce_min(nearness, 1, keepdims=True)
    highest = reduce_max((nearness - lowest) * negatives, 1, keepdims=True) + lowest
    # Of a pair the greater of both, which the exponents are relative to.
    reference = maximum(highest, transpose(highest))
    powers = exp(expand_dims(nearness, 1) - expand_dims(reference, 2)) * expand_dims(negatives, 1)
    sums = reduce_sum(powers, 2)
    values = reference + log(sums + transpose(sums)) + distances
    pairs = cast(same, dtype) - eye(shape(embeddings)[0], dtype=dtype)
    total = 0.25 * reduce_sum(square(maximum(values * pairs, 0.0)))
    return truediv(total, reduce_sum(pairs) / 2.0, name="liftedstruct_loss")
