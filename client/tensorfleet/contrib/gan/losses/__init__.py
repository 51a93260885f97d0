"""`tf.contrib.gan.losses`: losses of adversarial models; those of tensors are in `wargs`."""

import typing as _typing

from tensorfleet.contrib.adversarial.model_losses import (
    acgan_discriminator_loss as acgan_discriminator_loss,
    acgan_generator_loss as acgan_generator_loss,
    combine_adversarial_loss as combine_adversarial_loss,
    cycle_consistency_loss as cycle_consistency_loss,
    least_squares_discriminator_loss as least_squares_discriminator_loss,
    least_squares_generator_loss as least_squares_generator_loss,
    minimax_discriminator_loss as minimax_discriminator_loss,
    minimax_generator_loss as minimax_generator_loss,
    modified_discriminator_loss as modified_discriminator_loss,
    modified_generator_loss as modified_generator_loss,
    mutual_information_penalty as mutual_information_penalty,
    stargan_discriminator_loss_wrapper as stargan_discriminator_loss_wrapper,
    stargan_generator_loss_wrapper as stargan_generator_loss_wrapper,
    stargan_gradient_penalty_wrapper as stargan_gradient_penalty_wrapper,
    wasserstein_discriminator_loss as wasserstein_discriminator_loss,
    wasserstein_generator_loss as wasserstein_generator_loss,
    wasserstein_gradient_penalty as wasserstein_gradient_penalty,
)
from tensorfleet.contrib.gan.losses import (
    wargs as wargs,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("wargs",))
