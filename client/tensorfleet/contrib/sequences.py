"""`tf.contrib.seq2seq`: the loss of sequences of predicted classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits

_LEAST = 1e-12  # added to the sum of weights, which may be 0


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The weighted cross entropy of sequences (`tf.contrib.seq2seq.sequence_loss`).

    Args:
        logits: `[batch, time, classes]`.
        targets: the true classes, int32 or int64 `[batch, time]`.
        weights: `[batch, time]`, of the logits' dtype; 0 after the end of a sequence.
        average_across_timesteps: whether to take the mean over time.
        average_across_batch: whether to take the mean over the batch.
        softmax_loss_function: a function of `labels` and `logits`, by default sparse softmax cross entropy.

    Returns:
        A scalar if both means are taken, `[batch]` or `[time]` if one is, else `[batch, time]`.

    Raises:
        ValueError: an argument has another rank.
    """
    with framework.name_scope(name, "sequence_loss", [logits, targets, weights]):
        logits, targets, weights = map(convert_to_tensor, (logits, targets, weights))
        for what, tensor, dims in (
            ("Logits", logits, "[batch_size x sequence_length x logits]"),
            ("Targets", targets, "[batch_size x sequence_length]"),
            ("Weights", weights, "[batch_size x sequence_length]"),
        ):
            if tensor.shape.ndims not in (None, dims.count("x ") + 1):
                raise ValueError(f"{what} must be a {dims} tensor, not one of shape {tensor.shape}")
        function = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        flat = reshape(logits, [-1, shape(logits)[2]])
        losses: Tensor = (
            reshape(function(labels=reshape(targets, [-1]), logits=flat), shape(targets)) * weights
        )
        averaged = [
            axis for axis, mean in enumerate((average_across_batch, average_across_timesteps)) if mean
        ]
        if not averaged:
            return losses
        mean: Tensor = reduce_sum(losses, averaged) / (reduce_sum(weights, averaged) + _LEAST)
        return mean
