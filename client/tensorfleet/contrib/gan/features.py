"""`tf.contrib.gan.features`: what generators and discriminators are made of."""

import typing as _typing

from tensorfleet.contrib.adversarial.conditioning import (
    clip_discriminator_weights as clip_discriminator_weights,
    clip_variables as clip_variables,
    condition_tensor as condition_tensor,
    condition_tensor_from_onehot as condition_tensor_from_onehot,
    tensor_pool as tensor_pool,
)
from tensorfleet.contrib.adversarial.spectral_norms import (
    compute_spectral_norm as compute_spectral_norm,
    spectral_norm_regularizer as spectral_norm_regularizer,
    spectral_normalization_custom_getter as spectral_normalization_custom_getter,
    spectral_normalize as spectral_normalize,
)
from tensorfleet.contrib.adversarial.virtual_batch_norm import (
    VBN as VBN,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
