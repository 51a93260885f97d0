"""Locks have no gradients."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("MutexV2", "MutexLock", "ConsumeMutexLock")
