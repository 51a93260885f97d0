"""The op types of `candidate_sampling` have no gradients: losses stop gradients at them."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

for _name in ("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram", "FixedUnigram", "All"):
    no_rule(f"{_name}CandidateSampler")
no_rule("ComputeAccidentalHits")
