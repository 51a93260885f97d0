"""`tensorflow.python.ops.control_flow_util`: in which contexts of control flow operations lie."""

from __future__ import annotations

from typing import Any

ENABLE_CONTROL_FLOW_V2 = False


def EnableControlFlowV2(graph: Any) -> bool:
    """Whether loops and conditionals become functions: never."""
    return ENABLE_CONTROL_FLOW_V2


def IsInXLAContext(op: Any) -> bool:
    """Whether an operation is compiled by XLA: never."""
    return False


def GraphOrParentsInXlaContext(graph: Any) -> bool:
    """Whether a graph is compiled by XLA: never."""
    return False


def InXlaContext(graph: Any) -> bool:
    """Whether operations that are made now are compiled by XLA: never."""
    return False


def GetContainingXLAContext(ctxt: Any) -> Any:
    """The context of XLA's compiler that a context lies in: there is none."""
    return None


def GetContainingWhileContext(ctxt: Any, stop_ctxt: Any = None) -> Any:
    """The innermost loop that a context lies in, or is; None if there is none, or at `stop_ctxt`."""
    while ctxt is not None and ctxt is not stop_ctxt:
        if ctxt.IsWhileContext():
            return ctxt
        ctxt = ctxt.outer_context
    return None


def GetContainingCondContext(ctxt: Any) -> Any:
    """The innermost conditional that a context lies in, or is; None if there is none."""
    while ctxt is not None and not ctxt.IsCondContext():
        ctxt = ctxt.outer_context
    return ctxt


def IsInWhileLoop(op: Any) -> bool:
    """Whether an operation lies in a loop."""
    return GetContainingWhileContext(op._get_control_flow_context()) is not None


def IsInCond(op: Any) -> bool:
    """Whether an operation lies in a conditional."""
    return GetContainingCondContext(op._get_control_flow_context()) is not None


def IsSwitch(op: Any) -> bool:
    """Whether an operation is a Switch."""
    return op.type in ("Switch", "RefSwitch")


def IsMerge(op: Any) -> bool:
    """Whether an operation is a Merge."""
    return op.type in ("Merge", "RefMerge")


def IsLoopEnter(op: Any) -> bool:
    """Whether an operation brings a value into a loop."""
    return op.type in ("Enter", "RefEnter")


def IsLoopExit(op: Any) -> bool:
    """Whether an operation brings a value out of a loop."""
    return op.type in ("Exit", "RefExit")
