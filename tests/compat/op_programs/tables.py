"""All programs: importing the module brings them in."""

from tests.compat.op_programs import (
    OPS,
    array_parts,
    linear_algebra,
    quantized,
    ragged_parts,
    random_state,
    reference_handles,
    small_types,
    variant_values,
    windows,
)

__all__ = [
    "OPS",
    "array_parts",
    "linear_algebra",
    "quantized",
    "ragged_parts",
    "random_state",
    "reference_handles",
    "small_types",
    "windows",
    "variant_values",
]
