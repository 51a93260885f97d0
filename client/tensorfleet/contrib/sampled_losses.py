"""Losses of drawn classes that only tf.contrib.nn has."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.identity import stop_gradient
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.selection import top_k
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_logsumexp
from tensorfleet.ops.nn.candidate_sampling import learned_unigram_candidate_sampler
from tensorfleet.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.nn.sampled_loss import sampled_logits, sampled_softmax_loss


def sampled_sparse_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_sparse_softmax_loss",
) -> Tensor:
    """Softmax cross entropy over the true class and a few drawn ones
    (`tf.contrib.nn.sampled_sparse_softmax_loss`).

    The arguments are those of `tf.nn.sampled_softmax_loss`, where each example has one true class.

    Returns:
        [batch], the loss of each example.
    """
    logits, _ = sampled_logits(
        *(weights, biases, labels, convert_to_tensor(inputs), num_sampled, num_classes, 1, sampled_values),
        *(remove_accidental_hits, partition_strategy, name, None),
    )
    # The true class is the first.
    first = zeros(reshape(shape(logits)[0], [1]), dtypes.int64)
    return sparse_softmax_cross_entropy_with_logits(labels=first, logits=logits)


def rank_sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_resampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    resampling_temperature: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None = None,
) -> Tensor:
    """`tf.nn.sampled_softmax_loss` over those of the drawn classes that the batch finds likeliest
    (`tf.contrib.nn.rank_sampled_softmax_loss`).

    Args:
        num_sampled: the number of classes that are drawn.
        num_resampled: the number of those that count, less than `num_sampled`.
        sampled_values: those of a sampler; None for the learned unigram sampler.
        resampling_temperature: what the inputs are divided by for the choice: the less, the more a single
            example with a high logit counts.

    The rest is as of `tf.nn.sampled_softmax_loss`.

    Returns:
        [batch], the loss of each example.

    Raises:
        ValueError: `num_sampled` is above `num_classes` or not above `num_resampled`; an unknown strategy.
    """
    if num_sampled > num_classes:
        raise ValueError(f"num_sampled ({num_sampled}) cannot be greater than num_classes ({num_classes})")
    if num_sampled <= num_resampled:
        raise ValueError(f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})")
    if partition_strategy not in ("div", "mod"):
        raise ValueError(f"unsupported partition_strategy ({partition_strategy})")
    given = [weights, biases, labels, inputs, sampled_values, resampling_temperature]
    with framework.name_scope(name, "rank_sampled_softmax_loss", given) as scope:
        inputs = convert_to_tensor(inputs)
        if not sampled_values:
            sampled_values = learned_unigram_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes
            )
        sampled, true_count, sampled_count = (stop_gradient(value) for value in sampled_values)
        sampled = cast(sampled, dtypes.int64)
        rows = embedding_lookup(weights, sampled, partition_strategy)
        heights = reduce_logsumexp(
            matmul(rows, inputs / resampling_temperature, transpose_b=True), axis=1
        ) + apply_one(
            "RealDiv",
            reshape(embedding_lookup(biases, sampled, partition_strategy), [-1]),
            cast(resampling_temperature, inputs.dtype),
        )
        best = top_k(heights, num_resampled, sorted=False)[1]
        kept = gather(sampled, best), true_count, gather(sampled_count, best)
        return sampled_softmax_loss(
            *(weights, biases, labels, inputs, num_resampled, num_classes, num_true, kept),
            *(remove_accidental_hits, partition_strategy, scope),
        )
