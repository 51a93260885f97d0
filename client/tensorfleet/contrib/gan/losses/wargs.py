"""`tf.contrib.gan.losses.wargs`: losses of the outputs of discriminators."""

import typing as _typing

from tensorfleet.contrib.adversarial.combined_losses import (
    combine_adversarial_loss as combine_adversarial_loss,
)
from tensorfleet.contrib.adversarial.loss_functions import (
    acgan_discriminator_loss as acgan_discriminator_loss,
    acgan_generator_loss as acgan_generator_loss,
    least_squares_discriminator_loss as least_squares_discriminator_loss,
    least_squares_generator_loss as least_squares_generator_loss,
    minimax_discriminator_loss as minimax_discriminator_loss,
    minimax_generator_loss as minimax_generator_loss,
    modified_discriminator_loss as modified_discriminator_loss,
    modified_generator_loss as modified_generator_loss,
    wasserstein_discriminator_loss as wasserstein_discriminator_loss,
    wasserstein_generator_loss as wasserstein_generator_loss,
)
from tensorfleet.contrib.adversarial.penalties import (
    cycle_consistency_loss as cycle_consistency_loss,
    mutual_information_penalty as mutual_information_penalty,
    wasserstein_gradient_penalty as wasserstein_gradient_penalty,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
