"""The families behind `tf.nn` that have no name directly under `tf`: importing this defines their ops."""

from __future__ import annotations

from tensorfleet.ops import (  # noqa: F401 - imported for the ops and namespaces that they declare
    nn_conv,
    nn_conv3d,
    nn_convolution,
    nn_cross_entropy,
    nn_embedding,
    nn_layers,
    nn_local,
    nn_norm,
    nn_pool,
    nn_pool3d,
    nn_statistics,
)

__all__: list[str] = []
