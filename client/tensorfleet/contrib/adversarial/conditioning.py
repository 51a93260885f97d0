"""What generators and discriminators are made of: conditions, pools of older data, limits of weights
(`tf.contrib.gan.features`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.plain_layers import flatten
from tensorfleet.contrib.weighted_layers import fully_connected
from tensorfleet.contrib.wrapping_optimizers import VariableClippingOptimizer
from tensorfleet.core.nest import flatten as leaves, pack_sequence_as
from tensorfleet.graph import framework
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.data_flow.queues import RandomShuffleQueue
from tensorfleet.ops.math.comparison import less
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.train.optimizer import Optimizer


def condition_tensor(tensor: Any, conditioning: Any) -> Any:
    """`tensor` and a linear layer of `conditioning`, added up (`tf.contrib.gan.features.condition_tensor`).

    Args:
        tensor: `[batch, …]`, of known sizes but for the batch.
        conditioning: `[batch, …]`.

    Raises:
        ValueError: a size is not known, or `conditioning` is of rank 1 or lower.
    """
    tensor.shape[1:].assert_is_fully_defined()
    if conditioning.shape.ndims < 2:
        raise ValueError(f"conditioning must be at least 2D, but saw shape: {conditioning.shape}")
    size = tensor.shape[1:].num_elements()
    mapped = fully_connected(flatten(conditioning), size, activation_fn=None)
    if not mapped.shape.is_compatible_with(tensor.shape):
        mapped = reshape(mapped, shape(tensor))
        mapped.set_shape(tensor.shape)
    return tensor + mapped


def condition_tensor_from_onehot(tensor: Any, one_hot_labels: Any, embedding_size: int = 256) -> Any:
    """`condition_tensor` by an embedding of labels (`tf.contrib.gan.features.condition_tensor_from_onehot`).

    Args:
        one_hot_labels: `[batch, classes]`.

    Raises:
        ValueError: the number of classes is not known.
    """
    one_hot_labels.shape.assert_has_rank(2)
    one_hot_labels.shape[1:].assert_is_fully_defined()
    classes = one_hot_labels.shape.as_list()[1]
    table = get_variable("embedding", [classes, embedding_size])
    return condition_tensor(tensor, embedding_lookup(table, argmax(one_hot_labels, 1)))


def tensor_pool(
    input_values: Any, pool_size: int = 50, pooling_probability: Any = 0.5, name: str = "tensor_pool"
) -> Any:
    """The values, or with a probability older ones, which the given ones then replace
    (`tf.contrib.gan.features.tensor_pool`; Shrivastava et al., arXiv:1612.07828).

    Args:
        input_values: a tensor, or a list or tuple of tensors (or of lists of them), which stay together.
        pool_size: how many are kept; until there are so many, the given ones are returned. 0 for none.

    Returns:
        As `input_values`.

    Raises:
        ValueError: `pool_size` is negative.
    """
    size = int(pool_size)
    if size < 0:
        raise ValueError("`pool_size` is negative.")
    if size == 0:
        return input_values
    given = leaves(input_values)
    with framework.name_scope(f"{name}_pool_queue"):
        queue = RandomShuffleQueue(size, 0, [value.dtype.base_dtype for value in given])

        def kept() -> list[Any]:
            with framework.control_dependencies([queue.enqueue(given)]):
                return [identity(value) for value in given]

        def exchanged() -> list[Any]:
            drawn = queue.dequeue()
            older = list(drawn) if isinstance(drawn, (list, tuple)) else [drawn]
            with (
                framework.control_dependencies(older),
                framework.control_dependencies([queue.enqueue(given)]),
            ):
                chosen = less(random_uniform([]), pooling_probability)
                return cond(  # type: ignore[no-any-return]
                    chosen,
                    lambda: [identity(value) for value in older],
                    lambda: [identity(value) for value in given],
                    strict=True,
                )

        found = cond(less(queue.size(), size), kept, exchanged, strict=True)
        for before, after in zip(given, found, strict=True):
            after.set_shape(before.shape)
    return pack_sequence_as(input_values, found)


def clip_variables(optimizer: Optimizer, variables: Any, weight_clip: float) -> VariableClippingOptimizer:
    """An optimizer after whose updates each element of the variables is at most `weight_clip` from 0
    (`tf.contrib.gan.features.clip_variables`).

    Raises:
        ValueError: `weight_clip` is negative.
    """
    if weight_clip < 0:
        raise ValueError(f"`discriminator_weight_clip` must be positive. Instead, was {weight_clip}")
    return VariableClippingOptimizer(
        optimizer, {var: [] for var in variables}, weight_clip, True, colocate_clip_ops_with_vars=True
    )


def clip_discriminator_weights(
    optimizer: Optimizer, model: Any, weight_clip: float
) -> VariableClippingOptimizer:
    """`clip_variables` of a model's discriminator (`tf.contrib.gan.features.clip_discriminator_weights`)."""
    return clip_variables(optimizer, model.discriminator_variables, weight_clip)
