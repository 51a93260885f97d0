"""Sets have no gradients."""

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable(
    *("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation", "SetSize")
)
