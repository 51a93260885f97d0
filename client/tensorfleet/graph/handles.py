"""What graphs know of the variables that resource handles stand for."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.rules import RuleTensor

DTYPE, DIMS = "_handle_dtype", "_handle_dims"
"""The attributes by which a function's argument tells the variable of a handle that it captured."""

_PASSING = frozenset(("Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration"))
"""Ops that pass a handle on unchanged."""


def variable_of(handle: RuleTensor) -> tuple[DType, Dims] | None:
    """The dtype and the static shape of a handle's variable; None if the op that made it is not found."""
    made_by = handle.op
    while made_by.type in _PASSING:
        made_by = made_by.inputs[0].op
    if made_by.type == "VarHandleOp":
        return made_by.attrs["dtype"], made_by.attrs["shape"]
    if DTYPE in made_by.attrs:
        return made_by.attrs[DTYPE], made_by.attrs[DIMS]
    return None
