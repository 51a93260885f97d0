"""What graphs know of the variables that resource handles stand for."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.rules import RuleTensor

DTYPE, DIMS = "_handle_dtype", "_handle_dims"
"""The attributes by which a function's argument tells the variable of a handle that it captured."""

_PASSING = frozenset(("Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration"))
"""Ops that pass a handle on unchanged."""

_LOOPS = frozenset(("While", "StatelessWhile"))
"""Ops that give each of their values at its place."""


def variable_of(handle: RuleTensor) -> tuple[DType, Dims] | None:
    """The dtype and the static shape of a handle's variable; None if the op that made it is not found."""
    made_by = handle.op
    while made_by.type in _PASSING or made_by.type in _LOOPS:
        handle = made_by.inputs[handle.value_index if made_by.type in _LOOPS else 0]
        made_by = handle.op
    if made_by.type == "VarHandleOp":
        return made_by.attrs["dtype"], made_by.attrs["shape"]
    if DTYPE in made_by.attrs:
        return made_by.attrs[DTYPE], made_by.attrs[DIMS]
    return None


def handle_dims(handle: RuleTensor) -> Dims:
    """The declared shape of a handle's variable; unknown if the op that made the handle is not found."""
    found = variable_of(handle)
    return None if found is None else found[1]
