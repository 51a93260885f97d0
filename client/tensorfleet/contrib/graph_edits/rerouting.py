"""`tf.contrib.graph_editor`: other inputs for operations that are there."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.graph_edits.choosing import (
    make_list_of_op,
    make_list_of_t,
    make_placeholder_from_tensor,
)
from tensorfleet.contrib.graph_edits.views import SubGraphView, make_view
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor


def _replace(old: Tensor, new: Tensor, can_modify: set[Operation] | None, cannot: set[Operation]) -> int:
    """Gives the consumers of a tensor another one; returns how many inputs that were."""
    if not old.dtype.base.is_compatible_with(new.dtype.base):
        raise ValueError(f"{new.name} of {new.dtype.name} cannot stand for {old.name} of {old.dtype.name}.")
    count = 0
    for op in set(old.consumers()):
        if op in cannot or (can_modify is not None and op not in can_modify):
            continue
        for index, tensor in enumerate(op.inputs):
            if tensor is old:
                op._update_input(index, new)
                count += 1
    return count


def _sets(can_modify: Any, cannot_modify: Any) -> tuple[set[Operation] | None, set[Operation]]:
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    return allowed, set() if cannot_modify is None else set(make_list_of_op(cannot_modify))


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Gives all operations that take `ts1` the tensors `ts0` instead, one for one
    (`tf.contrib.graph_editor.reroute_ts`).

    Args:
        can_modify, cannot_modify: the operations that may be changed, and those that may not.

    Returns:
        How many inputs were changed.
    """
    new, old = make_list_of_t(list(ts0)), make_list_of_t(list(ts1))
    if len(new) != len(old):
        raise ValueError(f"{len(new)} tensors cannot stand for {len(old)}.")
    allowed, cannot = _sets(can_modify, cannot_modify)
    return sum(_replace(before, after, allowed, cannot) for after, before in zip(new, old, strict=True))


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Exchanges tensors for the operations that take them (`tf.contrib.graph_editor.swap_ts`)."""
    first, second = make_list_of_t(list(ts0)), make_list_of_t(list(ts1))
    allowed, cannot = _sets(can_modify, cannot_modify)
    count = 0
    for a, b in zip(first, second, strict=True):
        takers = set(b.consumers())
        own = takers if allowed is None else takers & allowed
        before = set(a.consumers())
        moved = [(op, i) for op in own - cannot for i, t in enumerate(op.inputs) if t is b]
        count += _replace(a, b, before if allowed is None else before & allowed, cannot)
        for op, index in moved:
            op._update_input(index, a)
        count += len(moved)
    return count


def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """The operations of the second view take the inputs of the first one
    (`tf.contrib.graph_editor.reroute_inputs`)."""
    first, second = make_view(sgv0), make_view(sgv1)
    reroute_ts(first.inputs, second.inputs, can_modify=second.ops)
    return first, SubGraphView(second.ops)


def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Who takes the outputs of the second view gets those of the first one
    (`tf.contrib.graph_editor.reroute_outputs`)."""
    first, second = make_view(sgv0), make_view(sgv1)
    reroute_ts(first.outputs, second.outputs, cannot_modify=[*first.ops, *second.ops])
    return first, second


def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """`reroute_inputs` and `reroute_outputs`."""
    first, second = make_view(sgv0), make_view(sgv1)
    reroute_outputs(first, second)
    return reroute_inputs(first, second)


def add_control_inputs(op: Operation, cops: Any) -> None:
    """Lets an operation run after others (`tf.contrib.graph_editor.add_control_inputs`)."""
    op._add_control_inputs(make_list_of_op(cops, allow_graph=False))


def remove_control_inputs(op: Operation, cops: Any) -> None:
    """Lets an operation run without regard to others (`tf.contrib.graph_editor.remove_control_inputs`).

    Raises:
        ValueError: it does not wait for one of them.
    """
    for control in make_list_of_op(cops, allow_graph=False):
        if control not in op.control_inputs:
            raise ValueError(f"{op.name} is not a control_input of {control.name}")
        op._remove_control_input(control)


def detach_inputs(sgv: Any) -> tuple[SubGraphView, list[Tensor]]:
    """Puts placeholders in the place of a view's inputs (`tf.contrib.graph_editor.detach_inputs`).

    Returns:
        The view, and the placeholders.
    """
    view = make_view(sgv)
    assert view.graph is not None
    with view.graph.as_default():
        made = [make_placeholder_from_tensor(tensor) for tensor in view.inputs]
    reroute_ts(made, view.inputs, can_modify=view.ops)
    return SubGraphView(view.ops), made


def bypass(sgv: Any) -> tuple[SubGraphView, list[Tensor]]:
    """Gives those who take a view's outputs its inputs instead (`tf.contrib.graph_editor.bypass`).

    Returns:
        The view, and the placeholders that are its inputs now.
    """
    view = make_view(sgv)
    given = list(view.inputs)
    detached, made = detach_inputs(view)
    reroute_ts(given, view.outputs, cannot_modify=view.ops)
    return detached, made


def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """Gives the operations of the second view the outputs of the first one as inputs
    (`tf.contrib.graph_editor.connect`)."""
    first, second = make_view(sgv0), make_view(sgv1)
    reroute_ts(first.outputs, second.inputs, can_modify=second.ops)
    return first, SubGraphView(second.ops)
