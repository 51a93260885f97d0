"""An adversarial loss beside another one (`tf.contrib.gan.losses.combine_adversarial_loss`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.contrib.model_variables import get_trainable_variables
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.ops.array.identity import stop_gradient
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.clip import global_norm
from tensorfleet.ops.math.elementwise import abs as absolute
from tensorfleet.ops.math.reduction import reduce_max


def combine_adversarial_loss(
    main_loss: Any,
    adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    variables: Sequence[Any] | None = None,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
    scope: str | None = None,
) -> Any:
    """The sum of both losses, with a factor for the adversarial one.

    Args:
        main_loss, adversarial_loss: scalars.
        weight_factor: the factor.
        gradient_ratio: instead, the norm of the main loss's gradients over that of the adversarial one's.
        gradient_ratio_epsilon: added to the latter norm.
        variables: those of the gradients, by default the trainable ones.

    Raises:
        ValueError: a loss is not a scalar, or not exactly one of factor and ratio is given.
    """
    for loss in (main_loss, adversarial_loss):
        loss.shape.assert_is_compatible_with([])
    if (weight_factor is None) == (gradient_ratio is None):
        raise ValueError("Exactly one of `weight_factor` and `gradient_ratio` must be given.")
    if variables is None:
        variables = get_trainable_variables()
    with framework.name_scope(scope, "adversarial_loss"):
        norms: list[Any] = []
        if gradient_summaries or gradient_ratio is not None:
            norms = [_norm(gradients(loss, variables)) for loss in (main_loss, adversarial_loss)]
        if scalar_summaries:
            summary.scalar("main_loss", main_loss)
            summary.scalar("adversarial_loss", adversarial_loss)
        if gradient_summaries:
            summary.scalar("main_loss_gradients", norms[0])
            summary.scalar("adversarial_loss_gradients", norms[1])
        given = weight_factor if gradient_ratio is None else gradient_ratio
        if static_value(convert_to_tensor(given)) == 0:
            return main_loss
        if gradient_ratio is None:
            factor = convert_to_tensor(weight_factor, dtype=main_loss.dtype)
        else:
            factor = norms[0] / (norms[1] + gradient_ratio_epsilon) / gradient_ratio
            summary.scalar("adversarial_coefficient", factor)
        return main_loss + stop_gradient(factor) * adversarial_loss


def _norm(slopes: Sequence[Any]) -> Any:
    """Their global norm, which does not overflow where none of them does."""
    given = [slope for slope in slopes if slope is not None]
    if not given:
        return convert_to_tensor(0.0)
    largest = reduce_max([reduce_max(absolute(slope)) for slope in given])
    return largest * global_norm([slope / largest for slope in given])
