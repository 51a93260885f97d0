"""The losses that train adversarial models: `tf.contrib.gan.gan_loss` and its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.adversarial import loss_functions, model_losses, penalties
from tensorfleet.contrib.adversarial.tuples import (
    ACGANModel,
    CycleGANLoss,
    CycleGANModel,
    GANLoss,
    GANModel,
    InfoGANModel,
)
from tensorfleet.graph import framework
from tensorfleet.graph.tensor import Tensor
from tensorfleet.losses.collection import get_regularization_loss
from tensorfleet.losses.weighted import absolute_difference, softmax_cross_entropy
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.debugging.checks import assert_greater_equal
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.state.variable_scope import variable_scope

_STARGAN_GENERATOR = model_losses.stargan_generator_loss_wrapper(loss_functions.wasserstein_generator_loss)
_STARGAN_DISCRIMINATOR = model_losses.stargan_discriminator_loss_wrapper(
    loss_functions.wasserstein_discriminator_loss
)


def _checked_weight(name: str, weight: Any) -> Any:
    if isinstance(weight, Tensor):
        weight.shape.assert_is_compatible_with([])
        with framework.control_dependencies([assert_greater_equal(weight, 0.0)]):
            return identity(weight)
    if weight is not None and weight < 0:
        raise ValueError(f"`{name}` must be greater than 0. Instead, was {weight}")
    return weight


def _is_used(weight: Any) -> bool:
    return isinstance(weight, Tensor) or (weight is not None and weight > 0)


def _pooled(model: Any, tensor_pool_fn: Callable[..., Any]) -> Any:
    """The model with the discriminator's outputs for generated data of a pool."""
    given = (model.generator_inputs, model.generated_data)
    if isinstance(model, InfoGANModel):
        inputs, data, structured = tensor_pool_fn((*given, model.structured_generator_inputs))
    elif isinstance(model, (GANModel, ACGANModel)):
        inputs, data = tensor_pool_fn(given)
    else:
        raise ValueError(f"Tensor pool does not support `model`: {type(model)}.")
    model = model._replace(generator_inputs=inputs, generated_data=data)
    with variable_scope(model.discriminator_scope, reuse=True):
        if isinstance(model, InfoGANModel):
            outputs, predicted = model.discriminator_and_aux_fn(data, inputs)
            model = model._replace(structured_generator_inputs=structured, predicted_distributions=predicted)
        elif isinstance(model, ACGANModel):
            outputs, logits = model.discriminator_fn(data, inputs)
            model = model._replace(discriminator_gen_classification_logits=logits)
        else:
            outputs = model.discriminator_fn(data, inputs)
    return model._replace(discriminator_gen_outputs=outputs)


def gan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = model_losses.wasserstein_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = model_losses.wasserstein_discriminator_loss,
    gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: Any = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None,
    aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Callable[..., Any] | None = None,
    add_summaries: bool = True,
) -> GANLoss:
    """The losses of both parts, with those of their regularizers (`tf.contrib.gan.gan_loss`).

    Args:
        model: a GANModel, InfoGANModel or ACGANModel.
        generator_loss_fn, discriminator_loss_fn: of the model and `add_summaries`.
        gradient_penalty_weight: the factor of the discriminator's gradient penalty, whose further arguments
            are `gradient_penalty_epsilon`, `gradient_penalty_target` and `gradient_penalty_one_sided`; None
            or 0 for none, as for the following ones.
        mutual_information_penalty_weight: of an InfoGANModel, for both parts.
        aux_cond_generator_weight, aux_cond_discriminator_weight: of the classes of an ACGANModel.
        tensor_pool_fn: from (inputs, generated data) to older ones, for the discriminator.

    Raises:
        ValueError: a weight is negative, or for another model.
    """
    gradient_penalty_weight = _checked_weight("gradient_penalty_weight", gradient_penalty_weight)
    information = _checked_weight("infogan_weight", mutual_information_penalty_weight)
    of_generator = _checked_weight("aux_cond_generator_weight", aux_cond_generator_weight)
    of_discriminator = _checked_weight("aux_cond_discriminator_weight", aux_cond_discriminator_weight)
    if _is_used(information) and not isinstance(model, InfoGANModel):
        raise ValueError(
            "When `mutual_information_penalty_weight` is provided, `model` must be an `InfoGANModel`. "
            f"Instead, was {type(model)}."
        )
    if (_is_used(of_generator) or _is_used(of_discriminator)) and not isinstance(model, ACGANModel):
        raise ValueError(
            "When `aux_cond_generator_weight` or `aux_cond_discriminator_weight` is provided, `model` must "
            f"be an `ACGANModel`. Instead, was {type(model)}."
        )
    pooled = _pooled(model, tensor_pool_fn) if tensor_pool_fn else model
    generator_loss = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator_loss = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if _is_used(gradient_penalty_weight):
        discriminator_loss += gradient_penalty_weight * model_losses.wasserstein_gradient_penalty(
            pooled,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
    if _is_used(information):
        penalty = model_losses.mutual_information_penalty
        of_model = of_pooled = penalty(model, add_summaries=add_summaries)
        if pooled is not model:
            of_pooled = penalty(pooled, add_summaries=add_summaries)
        generator_loss += information * of_model
        discriminator_loss += information * of_pooled
    if _is_used(of_generator):
        loss = model_losses.acgan_generator_loss(model, add_summaries=add_summaries)
        generator_loss += of_generator * loss
    if _is_used(of_discriminator):
        loss = model_losses.acgan_discriminator_loss(pooled, add_summaries=add_summaries)
        discriminator_loss += of_discriminator * loss
    if model.generator_scope:
        generator_loss += get_regularization_loss(model.generator_scope.name)
    if model.discriminator_scope:
        discriminator_loss += get_regularization_loss(model.discriminator_scope.name)
    return GANLoss(generator_loss, discriminator_loss)


def cyclegan_loss(
    model: CycleGANModel,
    generator_loss_fn: Callable[..., Any] = model_losses.least_squares_generator_loss,
    discriminator_loss_fn: Callable[..., Any] = model_losses.least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Callable[..., Any] = model_losses.cycle_consistency_loss,
    cycle_consistency_loss_weight: Any = 10.0,
    **kwargs: Any,
) -> CycleGANLoss:
    """The losses of both directions (`tf.contrib.gan.cyclegan_loss`).

    Args:
        cycle_consistency_loss_fn: of the model and `add_summaries`; added to both generators' losses.
        kwargs: further arguments of `gan_loss`.

    Raises:
        ValueError: it is another model, or a weight is negative.
    """
    if not isinstance(model, CycleGANModel):
        raise ValueError(f"`model` must be a `CycleGANModel`. Instead, was {type(model)}.")
    cycle = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    cycle *= _checked_weight("cycle_consistency_loss_weight", cycle_consistency_loss_weight)
    found = []
    for direction, part in (("x2y", model.model_x2y), ("y2x", model.model_y2x)):
        with framework.name_scope(f"cyclegan_loss_{direction}"):
            loss = gan_loss(part, generator_loss_fn, discriminator_loss_fn, **kwargs)
            found.append(loss._replace(generator_loss=loss.generator_loss + cycle))
    return CycleGANLoss(*found)


def stargan_loss(
    model: Any,
    generator_loss_fn: Callable[..., Any] = _STARGAN_GENERATOR,
    discriminator_loss_fn: Callable[..., Any] = _STARGAN_DISCRIMINATOR,
    gradient_penalty_weight: Any = 10.0,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: Any = 1.0,
    gradient_penalty_one_sided: bool = False,
    reconstruction_loss_fn: Callable[..., Any] = absolute_difference,
    reconstruction_loss_weight: Any = 10.0,
    classification_loss_fn: Callable[..., Any] = softmax_cross_entropy,
    classification_loss_weight: Any = 1.0,
    classification_one_hot: bool = True,
    add_summaries: bool = True,
) -> GANLoss:
    """The losses of a StarGANModel (`tf.contrib.gan.stargan_loss`).

    Args:
        reconstruction_loss_fn: of data, and of what comes back of it.
        classification_loss_fn: of `onehot_labels` and `logits` of the domains.
        classification_one_hot: False where that loss is `[batch, domains]`.

    Raises:
        ValueError: the rank of the labels is not 2.
    """
    model.input_data_domain_label.shape.assert_has_rank(2)
    model.input_data_domain_label.shape[1:].assert_is_fully_defined()

    def classification(name: str, labels: Any, logits: Any) -> Any:
        with framework.name_scope(name):
            loss = classification_loss_fn(onehot_labels=labels, logits=logits)
            loss = reduce_mean(loss if classification_one_hot else reduce_sum(loss, axis=1))
            if add_summaries:
                summary.scalar(name, loss)
            return loss * classification_loss_weight

    generator_loss = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator_loss = discriminator_loss_fn(model, add_summaries=add_summaries)
    if _is_used(gradient_penalty_weight):
        penalty_fn = model_losses.stargan_gradient_penalty_wrapper(penalties.wasserstein_gradient_penalty)
        discriminator_loss += gradient_penalty_weight * penalty_fn(
            model,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
    reconstruction = reconstruction_loss_fn(model.input_data, model.reconstructed_data)
    if add_summaries:
        summary.scalar("reconstruction_loss", reconstruction)
    generator_loss += reconstruction * reconstruction_loss_weight
    generator_loss += classification(
        "generator_classification_loss",
        model.generated_data_domain_target,
        model.discriminator_generated_data_domain_predication,
    )
    discriminator_loss += classification(
        "discriminator_classification_loss",
        model.input_data_domain_label,
        model.discriminator_input_data_domain_predication,
    )
    return GANLoss(generator_loss, discriminator_loss)
