"""All programs: importing the module brings them in."""

from tests.compat.op_programs import (
    OPS,
    array_parts,
    bounded_numbers,
    linear_algebra,
    quantized,
    quantized_layers,
    ragged_parts,
    random_state,
    recurrent_cells,
    reference_handles,
    small_parts,
    small_types,
    sound,
    variant_values,
    windows,
    windows_by_size,
)

__all__ = [
    "OPS",
    "array_parts",
    "bounded_numbers",
    "linear_algebra",
    "quantized",
    "quantized_layers",
    "ragged_parts",
    "random_state",
    "recurrent_cells",
    "reference_handles",
    "small_parts",
    "small_types",
    "sound",
    "windows",
    "windows_by_size",
    "variant_values",
]
