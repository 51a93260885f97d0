"""Gradients of `factors`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("Lu", "MatrixLogarithm", "MatrixSquareRoot")
