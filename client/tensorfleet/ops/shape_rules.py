"""Common parts of shape rules."""

from __future__ import annotations

from collections.abc import Sequence

from tensorfleet.core import dims
from tensorfleet.core.dims import Dims
from tensorfleet.graph.rules import RuleNode


def unchanged(op: RuleNode) -> list[Dims]:
    """One output, of the first input's shape."""
    return [op.inputs[0].dims]


def scalar(op: RuleNode) -> list[Dims]:
    """One output, of rank 0."""
    return [()]


def nothing(op: RuleNode) -> list[Dims]:
    """No outputs."""
    return []


def with_rank(shape: Dims, rank: int) -> tuple[int | None, ...]:
    """`shape`, of this rank. Raises ValueError where it has another."""
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(shape)}")
    return shape


def with_rank_at_least(shape: Dims, rank: int) -> Dims:
    """`shape` itself. Raises ValueError where its rank is known and smaller."""
    if shape is not None and len(shape) < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {len(shape)}")
    return shape


def with_rank_at_most(shape: Dims, rank: int) -> Dims:
    """`shape` itself. Raises ValueError where its rank is known and greater."""
    if shape is not None and len(shape) > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {len(shape)}")
    return shape


def merge_dim(a: int | None, b: int | None) -> int | None:
    """The size that two descriptions of one dimension agree on. Raises ValueError where they differ."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def add_dims(a: int | None, b: int | None) -> int | None:
    """The sum of two sizes, unknown if either is."""
    return None if a is None or b is None else a + b


def multiply_dims(sizes: Sequence[int | None]) -> int | None:
    """The product of sizes; unknown if any is, unless a known one is zero."""
    return 0 if 0 in sizes else dims.num_elements(tuple(sizes))
