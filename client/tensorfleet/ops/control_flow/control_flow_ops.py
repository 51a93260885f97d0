"""The ops of conditionals and loops: Switch, Merge, Enter, Exit, NextIteration, LoopCond."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import unchanged


def _switch_shape(op: RuleNode) -> list[Dims]:
    pred = op.inputs[1].dims
    if pred is not None and pred != ():
        raise ValueError(f"Shape must be rank 0 but is rank {len(pred)}")
    return [op.inputs[0].dims] * 2


def _merge_shape(op: RuleNode) -> list[Dims]:
    """The common shape of all inputs, as any may arrive. The one that closes a loop is not known yet."""
    shape: Dims = op.inputs[0].dims
    for tensor in op.inputs[1:]:
        if tensor.op.type in ("NextIteration", "RefNextIteration"):
            shape = None
        dims = tensor.dims
        if shape is None or dims is None or len(shape) != len(dims):
            shape = None
            break
        shape = tuple(a if a == b else None for a, b in zip(shape, dims, strict=True))
    return [shape, ()]


def _scalar_bool(op: RuleNode) -> list[Dims]:
    pred = op.inputs[0].dims
    if pred is not None and pred != ():
        raise ValueError(f"Shape must be rank 0 but is rank {len(pred)}")
    return [()]


_ENTER = ("T: type", "frame_name: string", "is_constant: bool = false", "parallel_iterations: int = 10")

op("Switch(data: T, pred: bool) -> (output_false: T, output_true: T)", "T: type", shape=_switch_shape)
op(
    "RefSwitch(data: Ref(T), pred: bool) -> (output_false: Ref(T), output_true: Ref(T))",
    "T: type",
    shape=_switch_shape,
    uninitialized=True,
)
op("Merge(inputs: N * T) -> (output: T, value_index: int32)", "T: type", "N: int >= 1", shape=_merge_shape)
op(
    "RefMerge(inputs: Ref(N * T)) -> (output: Ref(T), value_index: int32)",
    "T: type",
    "N: int >= 1",
    shape=_merge_shape,
)
op("Enter(data: T) -> (output: T)", *_ENTER, shape=unchanged)
op("RefEnter(data: Ref(T)) -> (output: Ref(T))", *_ENTER, shape=unchanged)
op("Exit(data: T) -> (output: T)", "T: type", shape=unchanged)
op("RefExit(data: Ref(T)) -> (output: Ref(T))", "T: type", shape=unchanged)
op("NextIteration(data: T) -> (output: T)", "T: type", shape=unchanged)
op("RefNextIteration(data: Ref(T)) -> (output: Ref(T))", "T: type", shape=unchanged)
op("LoopCond(input: bool) -> (output: bool)", shape=_scalar_bool)
