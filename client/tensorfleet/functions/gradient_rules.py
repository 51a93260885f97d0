"""Has the rules of ops that call functions imported with all other rules."""

from __future__ import annotations

from tensorfleet.graph import gradient_registry


def _load() -> None:
    from tensorfleet.functions import branch_gradient, loop_gradient  # noqa: F401  the rules register themselves


gradient_registry.serve_more(_load)
