"""Losses of one replica as parts of a whole batch's loss."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging.checks import assert_non_negative, assert_rank_at_least
from tensorfleet.ops.debugging.type_checks import assert_integer
from tensorfleet.ops.math.reduction import reduce_sum


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of the losses of examples, over the size of the whole batch (`tf.nn.compute_average_loss`).

    Args:
        per_example_loss: [batch, ...].
        sample_weight: weights of examples that fit the losses.
        global_batch_size: the size of the batch of all replicas; that of the losses by default.
    """
    losses = convert_to_tensor(per_example_loss)
    kind = losses.dtype.base
    with framework.control_dependencies([assert_rank_at_least(losses, 1)]):
        if sample_weight is not None:
            losses = losses * cast(convert_to_tensor(sample_weight), kind)
        if global_batch_size is None:
            size = shape(losses)[0]
        else:
            size = convert_to_tensor(global_batch_size)
            if size.ndim not in (None, 0):
                raise ValueError(f"global_batch_size must be a scalar, but got rank {size.ndim}.")
            assert_integer(size)
            with framework.control_dependencies([assert_non_negative(size)]):
                size = cast(size, dtypes.int32)
        return reduce_sum(losses) / cast(size, kind)


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of regularization losses (`tf.nn.scale_regularization_loss`): that of one replica, as here the
    replicas of a training are sessions of their own."""
    return reduce_sum(convert_to_tensor(regularization_loss))
