"""The op types of `sparse_cross`, `splitting`, `unicode` and `matching` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("StringSplit")
no_rule("SparseCross", "SparseCrossV2")
