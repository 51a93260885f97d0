"""The op types of `comparison` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("Equal", "NotEqual", "ApproximateEqual", "Less", "LessEqual", "Greater", "GreaterEqual")
not_differentiable("LogicalAnd", "LogicalNot", "LogicalOr")
not_differentiable("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert", "LeftShift", "RightShift")
not_differentiable("PopulationCount")
