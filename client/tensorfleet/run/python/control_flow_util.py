"""`tensorflow.python.ops.control_flow_util`: in which contexts of control flow operations lie."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tensorfleet.graph import functional_flow


class _Switched(ModuleType):
    """This module, whose flag programs set."""

    @property
    def ENABLE_CONTROL_FLOW_V2(self) -> bool:
        """Whether loops and conditionals become functions, in all graphs from now on."""
        return functional_flow.is_enabled()

    @ENABLE_CONTROL_FLOW_V2.setter
    def ENABLE_CONTROL_FLOW_V2(self, value: bool) -> None:
        functional_flow.enable(value)


sys.modules[__name__].__class__ = _Switched


def EnableControlFlowV2(graph: Any) -> bool:
    """Whether loops and conditionals that are made in a graph become functions."""
    return functional_flow.is_used(graph)


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


def IsCondSwitch(op: Any) -> bool:
    """Whether an operation is the Switch of a conditional."""
    if not IsSwitch(op) or not op.outputs:
        return False
    # Those of one conditional may have outputs without consumers; those of a loop have a LoopCond.
    return not IsLoopSwitch(op)


def IsCondMerge(op: Any) -> bool:
    """Whether an operation is the Merge of a conditional."""
    return IsMerge(op) and bool(op.inputs) and not IsLoopMerge(op)


def IsLoopSwitch(op: Any) -> bool:
    """Whether an operation is the Switch of a loop."""
    return IsSwitch(op) and op.inputs[1].op.type == "LoopCond"


def IsLoopMerge(op: Any) -> bool:
    """Whether an operation is the Merge of a loop."""
    return IsMerge(op) and any(source.op.type == "NextIteration" for source in op.inputs)


def GetOutputContext(op: Any) -> Any:
    """The context of an operation's outputs: for one that leaves a loop, the context around it."""
    ctxt = op._get_control_flow_context()
    return ctxt.outer_context if IsLoopExit(op) and ctxt is not None else ctxt


def IsContainingContext(ctxt: Any, maybe_containing_ctxt: Any) -> bool:
    """Whether a context is, or lies in, another one; None is the outermost."""
    while ctxt is not maybe_containing_ctxt:
        if ctxt is None:
            return False
        ctxt = ctxt.outer_context
    return True


def OpInContext(op: Any, ctxt: Any) -> bool:
    """Whether an operation lies in a context."""
    return IsContainingContext(op._get_control_flow_context(), ctxt)


def TensorInContext(tensor: Any, ctxt: Any) -> bool:
    """Whether a tensor's operation lies in a context."""
    return OpInContext(tensor.op, ctxt)
