"""The families behind `tf.nn` that have no name directly under `tf`: importing this defines their ops."""

from __future__ import annotations

from tensorfleet.ops import (
    nn_conv,
    nn_cross_entropy,
    nn_embedding,
    nn_layers,
    nn_norm,
    nn_pool,
)

__all__ = ["nn_conv", "nn_cross_entropy", "nn_embedding", "nn_layers", "nn_norm", "nn_pool"]
