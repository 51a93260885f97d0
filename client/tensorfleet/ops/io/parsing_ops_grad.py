"""The op types of `parsing_ops` have no gradient; those without a rule are those of TensorFlow."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("DecodePaddedRaw", "ParseTensor", "SerializeTensor")
no_rule("DecodeCSV", "DecodeCompressed", "DecodeJSONExample")
no_rule("ParseExample", "ParseExampleV2", "ParseSingleExample")
no_rule("ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample")
