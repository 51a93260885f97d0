"""What comes out of files has no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("GenerateVocabRemapping", "LoadAndRemapMatrix")
