"""The order in which operations that act happen in a body that was written as a sequence of statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.stateful import READS, SAMPLERS
from tensorfleet.graph.tensor import Tensor

_SILENT = SAMPLERS | {"Placeholder", "VarHandleOp", "VariableV2", "Variable"}
_PASSING = frozenset(("Identity", "Switch", "RefSwitch", "Enter", "RefEnter", "Merge", "NextIteration"))
_ENTERS = frozenset(("Enter", "RefEnter"))
_EXITS = frozenset(("Exit", "RefExit"))
_ENDS = frozenset(("Merge", "RefMerge", "Exit", "RefExit"))


class _Order:
    """What has acted so far, in one context."""

    def __init__(self) -> None:
        self.writes: dict[Any, Operation] = {}
        self.reads: dict[Any, list[Operation]] = {}
        self.must_run: dict[Operation, None] = {}

    def add(self, op: Operation, key: Any, is_read: bool) -> None:
        before = [self.writes[key]] if key in self.writes else []
        if is_read:
            self.reads.setdefault(key, []).append(op)
        else:
            before += self.reads.pop(key, [])
            self.writes[key] = op
            self.must_run[op] = None
        _wait(op, before)

    def add_whole(self, op: Operation) -> None:
        """Adds the end of a conditional or loop in which something acts."""
        for key in [*self.writes, *self.reads]:
            self.writes[key] = op
        self.reads.clear()
        self.must_run[op] = None

    def latest(self) -> list[Operation]:
        return list(
            dict.fromkeys([*self.writes.values(), *(op for ops in self.reads.values() for op in ops)])
        )


def in_order(operations: Sequence[Operation], context: Any) -> list[Operation]:
    """Adds control inputs, so that operations act in the order in which they were made.

    Those that use one resource follow each other, reads among themselves apart; so do those that act without
    a resource, such as prints. What acts inside of a conditional or loop is inside of what ends that one.

    Args:
        operations: of one body, in their order; those of other contexts are in conditionals and loops in it.
        context: the conditional or loop whose body it is, or None.

    Returns:
        The operations of the context that have to run, whether or not somebody takes their values.
    """
    order = _Order()
    acts_within = False
    for op in operations:
        level = _level(op)
        if op.type in _ENTERS:
            enters_itself = context is not None and op.attrs["frame_name"] == context.name.encode()
            if not enters_itself and not _is_in_loop(level, context):
                _wait(op, order.latest())
        elif level is not context:
            if _acts(op):
                if not _is_in_loop(level, context):
                    _wait(op, order.latest())
                acts_within = True
        elif op.type in _ENDS:
            if acts_within:
                order.add_whole(op)
        elif _acts(op):
            handles = [_root(tensor) for tensor in op.inputs if tensor.dtype.base is dtypes.resource]
            for key in dict.fromkeys(handles) or [None]:
                order.add(op, key, op.type in READS)
    return list(order.must_run)


def _acts(op: Operation) -> bool:
    if op.type in _SILENT or op.type in _PASSING or op.type in _ENDS:
        return False
    return op.opdef.is_stateful


def _level(op: Operation) -> Any:
    """The context in which an operation stands; the ends and beginnings of a loop stand outside of it."""
    context = op._control_flow_context
    if context is not None and (op.type in _EXITS or op.type in _ENTERS) and context.IsWhileContext():
        name = context.name.encode()
        if op.type in _EXITS or op.attrs["frame_name"] == name:
            return context.outer_context
    return context


def _is_in_loop(context: Any, outer: Any) -> bool:
    """Whether a context is a loop within another one, or lies in one."""
    while context is not None and context is not outer:
        if context.IsWhileContext():
            return True
        context = context.outer_context
    return False


def _root(handle: Tensor) -> Tensor:
    """The tensor that a handle came from."""
    while handle.op.type in _PASSING and handle.op.inputs:
        handle = handle.op.inputs[0]
    return handle


def _wait(op: Operation, before: Iterable[Operation]) -> None:
    known = {*op.control_inputs, *(tensor.op for tensor in op.inputs)}
    op._add_control_inputs([each for each in before if each is not op and each not in known])
