"""Collectives have no gradients, as in TensorFlow: programs reduce the gradients themselves."""

from __future__ import annotations

from tensorfleet.graph import op_def
from tensorfleet.graph.gradient_registry import no_rule
from tensorfleet.ops.collective import collective_ops  # noqa: F401 - registers them

no_rule(*(name for name in op_def.registered() if name.startswith("Collective")))
