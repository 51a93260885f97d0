"""The op types of `quantized_layers` have no gradient rule, as in TensorFlow."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("QuantizedAdd", "QuantizedMul", "QuantizedAvgPool", "QuantizedMaxPool", "QuantizedConv2D")
no_rule("QuantizedBiasAdd", "QuantizedConcat", "QuantizedReshape")
