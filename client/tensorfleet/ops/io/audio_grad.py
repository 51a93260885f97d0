"""Gradients of ops on sound: TensorFlow has no rules for them."""

from tensorfleet.graph.gradient_registry import no_rule

no_rule("DecodeWav", "EncodeWav", "AudioSpectrogram", "Mfcc")
