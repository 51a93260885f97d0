"""`tf.contrib.nn`: dropout for SELU networks, a scaled softplus, losses with the logits first."""

import typing as _typing

from tensorfleet.contrib.nn_functions import (
    alpha_dropout as alpha_dropout,
    flipped_sigmoid_loss as deprecated_flipped_sigmoid_cross_entropy_with_logits,
    flipped_softmax_loss as deprecated_flipped_softmax_cross_entropy_with_logits,
    flipped_sparse_softmax_loss as deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
    scaled_softplus as scaled_softplus,
)
from tensorfleet.ops.nn.convolution import conv1d_transpose as conv1d_transpose

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "alpha_dropout",
    "conv1d_transpose",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "scaled_softplus",
]
