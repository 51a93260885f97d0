"""Op types on strings that have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("StringSplit", "EditDistance")
no_rule("SparseCross", "SparseCrossV2", "RaggedCross")
no_rule("StringSplitV2", "StringNGrams", "UnsortedSegmentJoin")
no_rule("RegexFullMatch", "StaticRegexFullMatch", "StaticRegexReplace")
no_rule("UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeEncode", "UnicodeTranscode")
