"""Hints for the master: attributes of nodes that say what static shapes tell, and change no result.

TensorFlow's graphs have nodes that find in the run what shapes say before it: the axes along which an operand
was repeated, a reshape to the shape that there is. Programs know these nodes by their names. With these
attributes the master's optimizer leaves them out of steps; a server that does not know the attributes runs
them. Imported graphs have none: their inputs may be mapped to tensors of other shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorfleet.graph.tensor import Tensor

UNCHANGED = "_unchanged"
KNOWN = "_known_"
SCALED = "_scaled"


def is_hint(name: str) -> bool:
    """Whether an attribute is one of these."""
    return name.startswith((UNCHANGED, KNOWN, SCALED))


def unchanged(tensor: Tensor) -> Tensor:
    """Says that the operation gives its first input as it is."""
    tensor.op.put_attr(UNCHANGED, True)
    return tensor


def known(tensor: Tensor, values: Sequence[int]) -> None:
    """Says which vector of integers a tensor is."""
    tensor.op.put_attr(f"{KNOWN}{tensor.value_index}", list(values))


def scaled(tensor: Tensor) -> Tensor:
    """Says that the second operand is of rank 0, so that a repeated first one may be scaled before it is."""
    tensor.op.put_attr(SCALED, True)
    return tensor
