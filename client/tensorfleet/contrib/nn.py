"""`tf.contrib.nn`: dropout for SELU networks, losses of drawn classes, losses with the logits first."""

import typing as _typing

from tensorfleet.contrib.nn_functions import (
    alpha_dropout as alpha_dropout,
    flipped_sigmoid_loss as deprecated_flipped_sigmoid_cross_entropy_with_logits,
    flipped_softmax_loss as deprecated_flipped_softmax_cross_entropy_with_logits,
    flipped_sparse_softmax_loss as deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
    nth_element as nth_element,
    scaled_softplus as scaled_softplus,
)
from tensorfleet.contrib.sampled_losses import (
    rank_sampled_softmax_loss as rank_sampled_softmax_loss,
    sampled_sparse_softmax_loss as sampled_sparse_softmax_loss,
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
    "nth_element",
    "rank_sampled_softmax_loss",
    "sampled_sparse_softmax_loss",
    "scaled_softplus",
]
