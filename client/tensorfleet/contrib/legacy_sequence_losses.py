"""The losses of unrolled sequence models, and buckets: `tf.contrib.legacy_seq2seq.sequence_loss`, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope

_LEAST = 1e-12  # added to the sum of weights, which may be 0


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropy of each sequence, `[batch]` (`sequence_loss_by_example`).

    Args:
        logits: a list of `[batch, symbols]`.
        targets, weights: lists of `[batch]`.
        softmax_loss_function: a function of `labels` and `logits`, by default sparse softmax cross entropy.

    Raises:
        ValueError: the lists differ in length.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, "
            f"{len(targets)}."
        )
    with framework.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        function = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = [
            function(labels=reshape(target, [-1]), logits=logit) * weight
            for logit, target, weight in zip(logits, targets, weights, strict=True)
        ]
        total = add_n(losses)
        if average_across_timesteps:
            total = total / (add_n(list(weights)) + _LEAST)
        return total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The sum of `sequence_loss_by_example`, or its mean if `average_across_batch`
    (`legacy_seq2seq.sequence_loss`)."""
    with framework.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps, softmax_loss_function
            )
        )
        if not average_across_batch:
            return cost
        return cost / cast(shape(convert_to_tensor(targets[0]))[0], cost.dtype)


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[list[Any], Any]],
    softmax_loss_function: Any = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """A model for each bucket, a pair of lengths, with shared variables (`model_with_buckets`).

    Returns:
        The outputs and the losses of each bucket.

    Raises:
        ValueError: a list is shorter than the last bucket.
    """
    for what, given, longest in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(given) < longest:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({longest})."
            )
    losses, outputs = [], []
    with framework.name_scope(
        name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]
    ):
        for number, (read, written) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number > 0 else None):
                made, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:written])
                outputs.append(made)
                loss = sequence_loss_by_example if per_example_loss else sequence_loss
                losses.append(
                    loss(
                        made,
                        targets[:written],
                        weights[:written],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
