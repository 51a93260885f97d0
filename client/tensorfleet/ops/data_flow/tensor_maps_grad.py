"""Maps from tensors to tensors have no gradients here."""

from tensorfleet.graph.gradient_registry import no_rule

no_rule(
    *("EmptyTensorMap", "TensorMapSize", "TensorMapLookup", "TensorMapInsert", "TensorMapErase"),
    *("TensorMapHasKey", "TensorMapStackKeys"),
)
