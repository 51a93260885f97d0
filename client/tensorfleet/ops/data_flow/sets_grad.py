"""Sets have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("SetSize")
not_differentiable("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation")
