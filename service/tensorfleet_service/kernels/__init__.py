"""Kernels: what computes each op type. Importing the package registers them all."""

from importlib import import_module

# One line per family, sorted.
_FAMILIES: tuple[str, ...] = (
    "arithmetic",
    "extrema",
    "matmul",
    "reduction",
    "resource_variables",
    "scan",
    "state",
)

for _family in _FAMILIES:
    import_module(f"{__name__}.{_family}")
