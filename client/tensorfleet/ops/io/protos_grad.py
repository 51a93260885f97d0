"""Gradients of ops on protobuf messages: TensorFlow says that there are none."""

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("DecodeProtoV2", "EncodeProto")
