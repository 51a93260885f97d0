"""Operations on variables in the order in which a function makes them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import ops

# What loops and conditionals give outside of themselves: it runs after what is in them.
_ENDS = ("Merge", "Exit", "If", "While", "StatelessIf", "StatelessWhile")


def in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose operations on resource variables run in the order in which it makes them.

    All of them run whenever its result does: the tensor that it returns, or else an operation."""

    @functools.wraps(function)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        graph = ops.get_default_graph()
        before = len(graph.get_operations())
        found = function(*args, **kwargs)
        done = ops.group(*_chain(graph.get_operations()[before:]))
        if isinstance(found, Tensor):
            with ops.control_dependencies([done]):
                return ops.identity(found)
        return done

    return ordered


def _chain(made: list[Operation]) -> list[Operation]:
    """Lets each use of a variable wait for the changes before it, and each change for the uses before it.

    Returns:
        What is to run."""
    context = made[0]._get_control_flow_context() if made else None
    changed: dict[Tensor, Operation] = {}
    read: dict[Tensor, list[Operation]] = {}
    to_run = []
    for op in made:
        if op._get_control_flow_context() is not context:
            continue
        if op.type in _ENDS or (op.opdef.is_stateful and not op.outputs):
            to_run.append(op)
        for handle in op.inputs:
            if handle.dtype.base != dtypes.resource:
                continue
            before = [changed[handle]] if handle in changed else []
            if op.type in ("ReadVariableOp", "ResourceGather", "ResourceGatherNd"):
                read.setdefault(handle, []).append(op)
            else:
                before += read.pop(handle, [])
                changed[handle] = op
            op._add_control_inputs([other for other in before if other is not op])
    return [*to_run, *changed.values()]
