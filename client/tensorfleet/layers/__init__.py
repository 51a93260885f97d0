"""`tf.layers`: layers that own variables, as functions and as classes."""

from tensorfleet.layers import (
    base,
    convolution,
    convolution_others,
    core,
    input_spec,
    normalization,
    pooling,
)

__all__ = ["base", "convolution", "convolution_others", "core", "input_spec", "normalization", "pooling"]
