"""Random graphs over all registered op types, run by both libraries.

Importing the package registers the generators of all families of ops.
"""

from __future__ import annotations

from tests.compat.random_graphs import (
    array_nodes,
    math_nodes,
    nn_nodes,
    other_nodes,
    rearranging_nodes,
    training_nodes,
    volume_nodes,
)

__all__ = [
    "array_nodes",
    "math_nodes",
    "nn_nodes",
    "other_nodes",
    "rearranging_nodes",
    "training_nodes",
    "volume_nodes",
]
