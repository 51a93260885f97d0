"""What is added to the losses of adversarial networks, of tensors (`tf.contrib.gan.losses.wargs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.losses.weighted import (
    Reduction,
    absolute_difference,
    compute_weighted_loss,
)
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.elementwise import sqrt, square
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.ops.state.variable_scope import AUTO_REUSE, variable_scope

_LOSSES = GraphKeys.LOSSES
_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


def wasserstein_gradient_penalty(
    real_data: Any,
    generated_data: Any,
    generator_inputs: Any,
    discriminator_fn: Any,
    discriminator_scope: Any,
    epsilon: float = 1e-10,
    target: Any = 1.0,
    one_sided: bool = False,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """How far the norm of D's gradient is from `target`, squared, at random points between real and generated
    data (Gulrajani et al., arXiv:1704.00028).

    Args:
        discriminator_fn: of data and `generator_inputs`.
        discriminator_scope: the variable scope of the discriminator, which is called once more in it.
        epsilon: added to the squared norm, whose root has no gradient at 0.
        one_sided: only norms greater than the target count.

    Raises:
        ValueError: the rank of the data is not known.
    """
    with framework.name_scope(scope, "wasserstein_gradient_penalty") as full:
        real, generated = convert_to_tensor(real_data), convert_to_tensor(generated_data)
        for name, data in (("real_data", real), ("generated_data", generated)):
            if data.shape.ndims is None:
                raise ValueError(f"`{name}` can't have unknown rank.")
        differences = generated - real
        ndims = len(differences.shape.as_list())
        batch = differences.shape.as_list()[0] or shape(differences)[0]
        between = real + random_uniform([batch] + [1] * (ndims - 1)) * differences
        # Outside of the name scope, so that update operations belong to the discriminator's.
        with (
            framework.name_scope(None),
            variable_scope(discriminator_scope, "gpenalty_dscope", reuse=AUTO_REUSE),
        ):
            outputs = discriminator_fn(between, generator_inputs)
        if isinstance(outputs, tuple):
            outputs = outputs[0]
        [slopes] = gradients(outputs, between)
        squares = reduce_sum(square(slopes), axis=list(range(1, ndims)))
        distances = sqrt(squares + epsilon) / target - 1.0
        if one_sided:
            distances = maximum(0.0, distances)
        penalty = compute_weighted_loss(square(distances), weights, full, loss_collection, reduction)
        if add_summaries:
            summary.scalar("gradient_penalty_loss", penalty)
    return penalty


def mutual_information_penalty(
    structured_generator_inputs: Sequence[Any],
    predicted_distributions: Sequence[Any],
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _BY_NONZERO,
    add_summaries: bool = False,
) -> Any:
    """Minus the mean log-likelihood of the generator's inputs (Chen et al., arXiv:1606.03657).

    Raises:
        ValueError: there is not one distribution for each of the inputs.
    """
    check_distributions(predicted_distributions, structured_generator_inputs)
    with framework.name_scope(scope, "mutual_information_loss") as full:
        pairs = zip(predicted_distributions, structured_generator_inputs, strict=True)
        means = [reduce_mean(distribution.log_prob(noise)) for distribution, noise in pairs]
        loss = -compute_weighted_loss(means, weights, full, loss_collection, reduction)
        if add_summaries:
            summary.scalar("mutual_information_penalty", loss)
    return loss


def check_distributions(distributions: Any, inputs: Any) -> None:
    """Raises ValueError unless there is one distribution for each of the inputs."""
    if not isinstance(distributions, (list, tuple)):
        raise ValueError(f"`predicted_distributions` must be a list, not {type(distributions)}.")
    for each in distributions:
        if not callable(getattr(each, "log_prob", None)):
            raise ValueError(f"`predicted_distributions` must be distributions, not {type(each)}.")
    if len(inputs) != len(distributions):
        raise ValueError(
            f"There are {len(inputs)} structured generator inputs, and {len(distributions)} distributions."
        )


def cycle_consistency_loss(
    data_x: Any,
    reconstructed_data_x: Any,
    data_y: Any,
    reconstructed_data_y: Any,
    scope: str | None = None,
    add_summaries: bool = False,
) -> Any:
    """The mean absolute difference of data and what comes back of it (Zhu et al., arXiv:1703.10593)."""
    with framework.name_scope(scope, "cycle_consistency_loss"):
        x_to_x = absolute_difference(data_x, reconstructed_data_x)
        y_to_y = absolute_difference(data_y, reconstructed_data_y)
        loss = (x_to_x + y_to_y) / 2.0
        if add_summaries:
            summary.scalar("cycle_consistency_loss_x2x", x_to_x)
            summary.scalar("cycle_consistency_loss_y2y", y_to_y)
            summary.scalar("cycle_consistency_loss", loss)
    return loss
