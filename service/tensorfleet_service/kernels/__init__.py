"""Kernels: what computes each op type. Importing the package registers them all."""

from importlib import import_module

# One line per family, sorted.
_FAMILIES: tuple[str, ...] = (
    "accumulators",
    "activation",
    "add_n",
    "arithmetic",
    "casting",
    "checkpoint",
    "collective_ops",
    "comparison",
    "complex_numbers",
    "constants",
    "control",
    "elementwise",
    "extrema",
    "identity",
    "indexing",
    "joining",
    "linalg",
    "logging",
    "matmul",
    "matrix_parts",
    "nn_conv",
    "nn_cross_entropy",
    "nn_depthwise",
    "nn_norm",
    "nn_pool",
    "padding",
    "partition",
    "queues",
    "random",
    "rearranging",
    "reduction",
    "resource_variables",
    "scan",
    "script",
    "segment",
    "selection",
    "shaping",
    "slicing",
    "special",
    "state",
    "strings",
    "tensor_array",
    "summary",
    "training",
)

for _family in _FAMILIES:
    import_module(f"{__name__}.{_family}")
