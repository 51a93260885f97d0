"""The op types of `summary_writers` have no gradient: they have no outputs but a handle."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("SummaryWriter", "CreateSummaryFileWriter")
no_rule("ImportEvent", "FlushSummaryWriter", "CloseSummaryWriter")
