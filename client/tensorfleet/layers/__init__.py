"""`tf.layers`: layers that own variables, as functions and as classes."""

from tensorfleet.layers import base, core, input_spec

__all__ = ["base", "core", "input_spec"]
