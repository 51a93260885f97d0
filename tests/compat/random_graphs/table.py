"""The table of generators: from an op type to a function that draws a node of it."""

from __future__ import annotations

from collections.abc import Callable

from tests.compat.random_graphs.draws import Call, Draw

Generator = Callable[[Draw], Call]

GENERATORS: dict[str, Generator] = {}

LOOSE: dict[str, float] = {}
"""Op types whose results may differ by more than rounding, and by how much relatively, in float32."""

SHAPES_ONLY: set[str] = set()
"""Op types with random results of their own: only dtypes and shapes compare."""

ALONE: set[str] = set()
"""Op types for single nodes only: what they return is no tensor to go on with, or they change variables."""


def generator(
    *ops: str, loose: float = 0.0, shapes_only: bool = False, alone: bool = False
) -> Callable[[Generator], Generator]:
    """Registers the generator of op types."""

    def register(function: Generator) -> Generator:
        for op in ops:
            assert op not in GENERATORS, f"{op} has two generators"
            GENERATORS[op] = function
            if loose:
                LOOSE[op] = loose
            if shapes_only:
                SHAPES_ONLY.add(op)
            if alone:
                ALONE.add(op)
        return function

    return register
