"""Losses of generative adversarial networks, of models (`tf.contrib.gan.losses`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.adversarial import combined_losses, loss_functions, penalties
from tensorfleet.contrib.adversarial.tuples import CycleGANModel, GANLoss


def _of_model(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of a GANModel, whose fields are the arguments of `loss_fn` of the same names."""
    parameters = inspect.signature(loss_fn).parameters
    required = [name for name, each in parameters.items() if each.default is inspect.Parameter.empty]

    def loss_of_model(gan_model: Any, **kwargs: Any) -> Any:
        fields = set(gan_model._fields)
        for name in required:
            if name not in fields and name not in kwargs:
                raise ValueError(f"`{name}` must be supplied to {loss_fn.__name__} loss function.")
        both = fields & set(kwargs)
        if both:
            raise ValueError(f"{loss_fn.__name__}: both the model and the arguments have {sorted(both)}")
        # A field that is None stands for the default.
        taken = {name: getattr(gan_model, name) for name in parameters if name in fields}
        taken = {name: value for name, value in taken.items() if name in required or value is not None}
        return loss_fn(**taken, **kwargs)

    loss_of_model.__name__ = loss_of_model.__qualname__ = loss_fn.__name__
    loss_of_model.__doc__ = f"`wargs.{loss_fn.__name__}` of a model, with further arguments by name."
    return loss_of_model


acgan_discriminator_loss = _of_model(loss_functions.acgan_discriminator_loss)
acgan_generator_loss = _of_model(loss_functions.acgan_generator_loss)
least_squares_discriminator_loss = _of_model(loss_functions.least_squares_discriminator_loss)
least_squares_generator_loss = _of_model(loss_functions.least_squares_generator_loss)
minimax_discriminator_loss = _of_model(loss_functions.minimax_discriminator_loss)
minimax_generator_loss = _of_model(loss_functions.minimax_generator_loss)
modified_discriminator_loss = _of_model(loss_functions.modified_discriminator_loss)
modified_generator_loss = _of_model(loss_functions.modified_generator_loss)
mutual_information_penalty = _of_model(penalties.mutual_information_penalty)
wasserstein_discriminator_loss = _of_model(loss_functions.wasserstein_discriminator_loss)
wasserstein_generator_loss = _of_model(loss_functions.wasserstein_generator_loss)
wasserstein_gradient_penalty = _of_model(penalties.wasserstein_gradient_penalty)


def combine_adversarial_loss(
    gan_loss: GANLoss,
    gan_model: Any,
    non_adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
) -> GANLoss:
    """The losses, of which the generator's is combined with another one; see
    `wargs.combine_adversarial_loss`. The gradients are those of the generator's variables."""
    combined = combined_losses.combine_adversarial_loss(
        non_adversarial_loss,
        gan_loss.generator_loss,
        weight_factor,
        gradient_ratio,
        gradient_ratio_epsilon,
        gan_model.generator_variables,
        scalar_summaries,
        gradient_summaries,
    )
    return gan_loss._replace(generator_loss=combined)


def cycle_consistency_loss(cyclegan_model: Any, scope: str | None = None, add_summaries: bool = False) -> Any:
    """`wargs.cycle_consistency_loss` of a CycleGANModel.

    Raises:
        ValueError: it is another model.
    """
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(f"`cyclegan_model` must be a `CycleGANModel`, not {type(cyclegan_model)}.")
    return penalties.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs,
        cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs,
        cyclegan_model.reconstructed_y,
        scope,
        add_summaries,
    )


def stargan_generator_loss_wrapper(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of a StarGANModel, by one of the discriminator's output for generated data."""

    def loss_of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(stargan_model.discriminator_generated_data_source_predication, **kwargs)

    return loss_of_model


def stargan_discriminator_loss_wrapper(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of a StarGANModel, by one of the discriminator's outputs for real and generated data."""

    def loss_of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            stargan_model.discriminator_input_data_source_predication,
            stargan_model.discriminator_generated_data_source_predication,
            **kwargs,
        )

    return loss_of_model


def stargan_gradient_penalty_wrapper(loss_fn: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of a StarGANModel, by a gradient penalty; the discriminator gets the number of domains."""

    def loss_of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            real_data=stargan_model.input_data,
            generated_data=stargan_model.generated_data,
            generator_inputs=stargan_model.input_data_domain_label.shape.as_list()[-1],
            discriminator_fn=stargan_model.discriminator_fn,
            discriminator_scope=stargan_model.discriminator_scope,
            **kwargs,
        )

    return loss_of_model
