"""Imports the families of `tf.nn` that have no name in `tf` itself, which defines their ops."""

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
