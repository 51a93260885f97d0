"""The op types of `barriers` have no gradient rule, as in TensorFlow."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose")
no_rule("BarrierReadySize", "BarrierIncompleteSize")
