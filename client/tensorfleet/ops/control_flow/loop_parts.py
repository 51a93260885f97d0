"""Parts of gradient loops: counters of iterations, and sums of gradients.

The forward loop counts its iterations, the gradient loop counts them down. The gradient of a value that all
iterations use is the sum over the iterations.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow_contexts import within
from tensorfleet.ops.control_flow.control_flow_nodes import enter, exit_loop, merge, next_iteration, switch
from tensorfleet.ops.gradient_common import ints

if TYPE_CHECKING:
    from tensorfleet.ops.control_flow.loop_gradient import LoopGradient
    from tensorfleet.ops.control_flow.while_context import WhileContext


def count_iterations(context: WhileContext, outer: LoopGradient | None) -> tuple[Tensor, Tensor]:
    """Makes a loop count its iterations; returns their number, and the counter's next value in the loop."""
    count = constant(0, name="f_count")
    if outer is not None:
        # All pushes of one run of an inner loop come before those of its next run.
        count.op._add_control_input(outer.forward_index.op.inputs[0].op)
    assert context.pivot is not None
    with within(context), _beside(context.pivot):
        joined = _joined(context, count, "f_count")
        over, live = switch(joined, context.pivot)
        following = next_iteration(apply_op("AddV2", live, 1, name="Add"))
        joined.op._update_input(1, following)
        total = _left(context, over, "f_count")
    return total, following


def count_down(context: WhileContext, count: Tensor, outer: LoopGradient | None) -> Tensor:
    """Makes a gradient loop run as often as its forward loop did; returns the counter's next value."""
    one = constant(1, name="b_count")
    with within(context), _beside(count):
        joined = _joined(context, count, "b_count")
        context._pivot_for_pred = joined
        context._pivot = apply_op("LoopCond", apply_op("GreaterEqual", joined, one), name="b_count")
        over, live = switch(joined, context._pivot)
        index: Tensor = apply_op("Sub", live, one)
        context._pivot_for_body = index
        following = next_iteration(index)
        joined.op._update_input(1, following)
        end = _left(context, over, "b_count")
    if outer is not None:
        # All pops of one run of an inner loop come before those of its next run.
        outer.grad_sync._add_control_input(end.op)
    return following


def accumulate(context: WhileContext, entered: Operation, grad: Tensor) -> Tensor:
    """The sum of a gradient over all iterations, after the gradient loop.

    Args:
        entered: the Enter of the forward loop that `grad` is the gradient of.
    """
    start = _zeros_outside(context, entered, grad)
    joined = _joined(context, start, "b_acc")
    assert context.pivot is not None
    over, live = switch(joined, context.pivot)
    joined.op._update_input(1, next_iteration(apply_op("AddV2", live, grad, name="Add")))
    return _left(context, over, "b_acc")


def accumulate_slices(context: WhileContext, entered: Operation, grad: IndexedSlices) -> IndexedSlices:
    """`accumulate` for an IndexedSlices: the rows of all iterations."""
    whole, dims, rows_shape = entered.inputs[0], grad.values.dims, grad.dense_shape
    with within(context.grad_state.outside):
        # The loop variable starts with one row of zeros, as rows need a shape even if the loop never runs.
        if dims is not None and None not in dims:
            values = zeros([1, *dims[1:]], grad.values.dtype, name="b_acc")
        else:
            row = apply_one("StridedSlice", _shape_of(whole), [1], [0], [1], end_mask=1)
            values = zeros(apply_one("ConcatV2", [ints([1]), row], 0), grad.values.dtype)
        starts = [values, constant([0], dtype=grad.indices.dtype)]
        known = [None if values.dims is None else (None, *values.dims[1:]), (None,)]
        if rows_shape is not None:
            shape = apply_one("Cast", _shape_of(whole), DstT=rows_shape.dtype)
            starts.append(apply_one("ZerosLike", shape))
            known.append(shape.dims)
    joined = [_joined(context, start, "b_acc", d) for start, d in zip(starts, known, strict=True)]
    assert context.pivot is not None
    switched = [switch(tensor, context.pivot) for tensor in joined]
    following = [
        apply_one("ConcatV2", [switched[0][1], grad.values], 0),
        apply_one("ConcatV2", [switched[1][1], grad.indices], 0),
    ]
    if rows_shape is not None:
        following.append(apply_one("Maximum", rows_shape, switched[2][1]))
    for tensor, value in zip(joined, following, strict=True):
        tensor.op._update_input(1, next_iteration(value))
    return IndexedSlices(*(_left(context, over, "b_acc") for over, _ in switched))


def _beside(tensor: Tensor) -> AbstractContextManager[None]:
    """Colocates a loop's counter with its condition, so that neither waits for a message."""
    return get_default_graph().colocate_with(tensor.op, ignore_existing=True)


_AS_IT_IS: Any = object()


def _joined(context: WhileContext, start: Tensor, name: str, dims: Any = _AS_IT_IS) -> Tensor:
    """A loop variable that starts with `start` and whose next value is still to be set."""
    context.AddName(start.name)
    entered = enter(start, context.name, False, context.parallel_iterations, True, name)
    if dims is not _AS_IT_IS:
        entered.dims = dims
    context.loop_enters.append(entered)
    joined: Tensor = merge([entered, entered], name="b_acc" if name == "b_acc" else None)[0]
    return joined


def _left(context: WhileContext, over: Tensor, name: str) -> Tensor:
    left = exit_loop(over, name)
    context.loop_exits.append(left)
    context.ExitResult([left])
    return left


def _shape_of(tensor: Tensor) -> Tensor:
    """The shape of a tensor's gradient; for a handle, that of its variable."""
    return apply_one("VariableShape" if tensor.dtype.base.name == "resource" else "Shape", tensor)


def _zeros_outside(context: WhileContext, entered: Operation, grad: Tensor) -> Tensor:
    """Zeros of the shape of a gradient, made outside of the gradient loop."""
    state = context.grad_state
    value = entered.inputs[0]
    if grad.dims is not None and None not in grad.dims:
        with within(state.outside):
            return zeros(grad.dims, grad.dtype, name="b_acc")
    if state.outer is None:
        with within(state.outside):
            return zeros(_shape_of(value), grad.dtype)
    # The shape is known only inside of an iteration of the outer loop.
    with within(state.forward_context.outer_context):
        shape = _shape_of(value)
    with within(state.base):
        history = state.outer.record(shape)
    with within(state.outside):
        return zeros(state.outer.replay(history, shape), grad.dtype)
