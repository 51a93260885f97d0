"""The op types of `parsing_ops` have no gradient; the same ones as in TensorFlow have no rule at all."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("DecodePaddedRaw", "ParseTensor", "SerializeTensor")
no_rule("DecodeCSV", "DecodeCompressed", "DecodeJSONExample")
no_rule("ParseExample", "ParseExampleV2", "ParseSingleExample")
no_rule("ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample")
