"""`tf.contrib.losses.metric_learning`: losses of embeddings."""

import typing as _typing

from tensorfleet.contrib.metric_learning_losses import (
    contrastive_loss as contrastive_loss,
    lifted_struct_loss as lifted_struct_loss,
    npairs_loss as npairs_loss,
    triplet_semihard_loss as triplet_semihard_loss,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["contrastive_loss", "lifted_struct_loss", "npairs_loss", "triplet_semihard_loss"]
