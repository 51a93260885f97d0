"""Gradients of binomial and of bounded random numbers: there are none."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("StatelessRandomBinomial", "ParameterizedTruncatedNormal", "RandomIndexShuffle")
no_rule("StatefulRandomBinomial", "StatelessParameterizedTruncatedNormal")
