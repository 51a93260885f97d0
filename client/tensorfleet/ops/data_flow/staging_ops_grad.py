"""Staging areas have no gradients."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("Stage", "Unstage", "StagePeek", "StageSize", "StageClear")
for _prefix in ("", "Ordered"):
    no_rule(*(f"{_prefix}Map{_kind}" for _kind in ("Stage", "Unstage", "UnstageNoKey", "Peek")))
    no_rule(*(f"{_prefix}Map{_kind}" for _kind in ("Size", "IncompleteSize", "Clear")))
