"""All programs: importing the module brings them in."""

from tests.compat.op_programs import (
    OPS,
    array_parts,
    linear_algebra,
    quantized,
    ragged_parts,
    random_state,
    reference_handles,
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
    "windows",
    "variant_values",
]
