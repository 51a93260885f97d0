"""The op of `factorial` has no inputs, and so no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("Fact")
