"""The op types of `strings` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("AsString", "DecodeBase64", "DecodeRaw", "EncodeBase64", "ReduceJoin", "RegexReplace")
not_differentiable("StringJoin", "StringLength", "StringLower", "StringStrip", "StringToNumber")
not_differentiable("StringUpper", "Substr")
