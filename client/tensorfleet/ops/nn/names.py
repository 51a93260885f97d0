"""The families behind `tf.nn` that have no name directly under `tf`: importing this defines their ops."""

from __future__ import annotations

from tensorfleet.ops.nn import (  # noqa: F401 - imported for the ops and namespaces that they declare
    conv,
    conv3d,
    convolution,
    cross_entropy,
    embedding,
    layers,
    local,
    norm,
    pool,
    pool3d,
    statistics,
)
