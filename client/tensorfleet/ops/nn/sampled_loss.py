"""Losses over many classes that use a sample of them: `tf.nn.nce_loss`, `tf.nn.sampled_softmax_loss`.

Gutmann and Hyvärinen, "Noise-contrastive estimation", 2010; Jean et al., "On using very large target
vocabulary for neural machine translation", 2014.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, ones_like, zeros_like
from tensorfleet.ops.array.identity import stop_gradient
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.array.slicing import slice as slice_
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.data_flow.partition import sparse_to_dense
from tensorfleet.ops.math.elementwise import log
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.candidate_sampling import compute_accidental_hits, log_uniform_candidate_sampler
from tensorfleet.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable


def _sum_rows(x: Tensor) -> Tensor:
    """The sum of each row of a matrix, as a product, so that its gradient is a product too."""
    columns = shape(x)[1]
    summed = matmul(x, ones(stack([columns, 1]), x.dtype.base))
    return reshape(summed, [-1])


def sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits of the true and the drawn classes, minus the logarithms of their expected counts.

    Returns:
        Logits [batch, num_true + num_sampled], and labels of this shape: 1 / num_true or 0.
    """
    parts = list(weights) if isinstance(weights, (PartitionedVariable, list)) else [weights]
    with name_scope(name, "compute_sampled_logits", [*parts, biases, inputs, labels]):
        labels = convert_to_tensor(labels)
        if labels.dtype.base is not dtypes.int64:
            labels = cast(labels, dtypes.int64)
        flat = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                true_classes=labels,
                num_true=num_true,
                num_sampled=num_sampled,
                unique=True,
                range_max=num_classes,
                seed=seed,
            )
        sampled, true_count, sampled_count = (stop_gradient(value) for value in sampled_values)
        sampled = cast(sampled, dtypes.int64)
        ids = concat([flat, sampled], 0)
        rows = embedding_lookup(parts, ids, partition_strategy=partition_strategy)
        if rows.dtype.base != inputs.dtype.base:
            rows = cast(rows, inputs.dtype.base)
        count = shape(flat)[0]
        true_weights = slice_(rows, [0, 0], stack([count, -1]))
        sampled_weights = slice_(rows, stack([shape(flat)[0], 0]), [-1, -1])
        sampled_logits = matmul(inputs, sampled_weights, transpose_b=True)
        all_biases = embedding_lookup(biases, ids, partition_strategy=partition_strategy)
        if all_biases.dtype.base != inputs.dtype.base:
            all_biases = cast(all_biases, inputs.dtype.base)
        true_biases = slice_(all_biases, [0], shape(flat))
        sampled_biases = slice_(all_biases, shape(flat), [-1])

        depth = shape(true_weights)[1:2]
        wide = concat([[-1, num_true], depth], 0)
        products = apply_one("Mul", expand_dims(inputs, 1), reshape(true_weights, wide), name="Mul")
        true_logits = reshape(_sum_rows(reshape(products, concat([[-1], depth], 0))), [-1, num_true])
        true_logits = true_logits + reshape(true_biases, [-1, num_true])
        sampled_logits = sampled_logits + sampled_biases
        if remove_accidental_hits:
            sampled_logits = sampled_logits + _hits(labels, sampled, num_true, num_sampled, sampled_logits)
        true_logits = true_logits - log(true_count)
        sampled_logits = sampled_logits - log(sampled_count)
        logits = concat([true_logits, sampled_logits], 1)
        return logits, concat([ones_like(true_logits) / num_true, zeros_like(sampled_logits)], 1)


def _hits(labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, logits: Tensor) -> Tensor:
    """The terms to add to the logits of drawn classes that are true ones, to make them improbable."""
    rows, places, weights = compute_accidental_hits(labels, sampled, num_true=num_true)
    rows = reshape(rows, [-1, 1])
    columns = reshape(cast(places, dtypes.int32), [-1, 1])
    indices = concat([rows, columns], 1, "sparse_indices")
    dims = concat([shape(labels)[:1], expand_dims(num_sampled, 0)], 0)
    if logits.dtype.base != weights.dtype.base:
        weights = cast(weights, logits.dtype.base)
    return sparse_to_dense(indices, dims, weights, default_value=0.0, validate_indices=False)


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """The loss of noise-contrastive estimation, which separates true from drawn classes (`tf.nn.nce_loss`).

    Args:
        weights: [num_classes, dim], or a list of parts, or a partitioned variable.
        biases: [num_classes].
        labels: int64 [batch, num_true], the true classes.
        inputs: [batch, dim].
        num_sampled: the number of classes drawn for the batch.
        sampled_values: the results of a candidate sampler, by default of `log_uniform_candidate_sampler`,
            which expects classes numbered by decreasing frequency.
        remove_accidental_hits: ignore drawn classes that are true ones.
        partition_strategy: how `weights` are divided: see `tf.nn.embedding_lookup`.

    Returns:
        [batch], the loss of each example.
    """
    logits, targets = sampled_logits(
        weights,
        biases,
        labels,
        convert_to_tensor(inputs),
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    return _sum_rows(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses"))


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Softmax cross entropy over the true classes and a few drawn ones (`tf.nn.sampled_softmax_loss`).

    It is for training; an evaluation should compute the whole softmax. The arguments are those of `nce_loss`,
    and `seed`, the sampler's.

    Returns:
        [batch], the loss of each example.
    """
    logits, targets = sampled_logits(
        weights,
        biases,
        labels,
        convert_to_tensor(inputs),
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    targets = stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
