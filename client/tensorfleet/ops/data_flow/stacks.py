"""Stacks, which keep values of each iteration of a loop for its gradient loop.

The gradient loop runs from the last iteration back, so it pops the values in the right order.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import nothing, scalar


def _pushed(op: RuleNode) -> list[Dims]:
    return [op.inputs[1].dims]


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


def _popped(op: RuleNode) -> list[Dims]:
    return [None]


op(
    "StackV2(max_size: int32) -> (handle: resource)",
    "elem_type: type",
    'stack_name: string = ""',
    shape=scalar,
    stateful=True,
)
op(
    "StackPushV2(handle: resource, elem: T) -> (output: T)",
    "T: type",
    "swap_memory: bool = false",
    shape=_pushed,
    stateful=True,
)
op("StackPopV2(handle: resource) -> (elem: elem_type)", "elem_type: type", shape=_popped, stateful=True)
op("StackCloseV2(handle: resource) -> ()", shape=nothing, stateful=True)

# The older forms, whose stacks have no limit. Ops that take a reference are not declared stateful.
op(
    "Stack() -> (handle: Ref(string))",
    "elem_type: type",
    'stack_name: string = ""',
    shape=_pair,
    stateful=True,
)
op(
    "StackPush(handle: Ref(string), elem: T) -> (output: T)",
    "T: type",
    "swap_memory: bool = false",
    shape=_pushed,
)
op("StackPop(handle: Ref(string)) -> (elem: elem_type)", "elem_type: type", shape=_popped)
op("StackClose(handle: Ref(string)) -> ()", shape=nothing)


def stack(elem_type: Any, max_size: Any = -1, name: str | None = None) -> Tensor:
    """The handle of a new stack of at most `max_size` elements; negative for no limit."""
    return apply_one("StackV2", max_size, elem_type=elem_type, name=name)


def push(handle: Tensor, value: Tensor, swap_memory: bool = False) -> Tensor:
    """Pushes a value on the stack; returns the value."""
    return apply_one("StackPushV2", handle, value, swap_memory=swap_memory)


def pop(handle: Tensor, elem_type: Any) -> Tensor:
    """Pops the value that was pushed last."""
    return apply_one("StackPopV2", handle, elem_type=elem_type)
