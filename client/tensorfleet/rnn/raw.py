"""`tf.nn.raw_rnn`: a loop over a cell, with inputs from a function of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.math.reduction import reduce_all
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.cell import check_cell
from tensorfleet.rnn.lengths import known_batch, select, share_reads
from tensorfleet.rnn.state import size_dims, zeros_of

LoopFunction = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]


def raw_rnn(
    cell: Any,
    loop_fn: LoopFunction,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Runs a cell on inputs from a function until the whole batch is finished (`tf.nn.raw_rnn`).

    Args:
        loop_fn: a function of (time, cell_output, cell_state, loop_state), called first with time 0 and None
            for the others. It returns (finished, bool [batch]; the next input; the next state; the value to
            emit; the next loop_state). The first value to emit determines the shapes of elements and the
            dtypes; None stands for those of the cell's outputs.
        parallel_iterations, swap_memory: as in `tf.while_loop`.
        scope: the variable scope, by default "rnn".

    Returns:
        TensorArrays of the emitted values, zeros after an element's end; the last state; the last
        loop_state.

    Raises:
        TypeError: `cell` is not a cell, or `loop_fn` not a function.
        ValueError: the structure of the results of `loop_fn` changes.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"Argument `loop_fn` must be a callable. Received: {loop_fn}.")
    with variable_scope(scope or "rnn") as opened:
        share_reads(opened)
        time = constant(0, dtypes.int32)
        finished, inputs, state, emitted, first_loop_state = loop_fn(time, None, None, None)
        structures.assert_same_structure(state, cell.state_size)
        state = structures.map_structure(convert_to_tensor, state)
        flat_inputs = structures.flatten(inputs)
        batch = known_batch(flat_inputs, 0)
        for x in flat_inputs:
            TensorShape([batch]).assert_is_compatible_with(x.shape[:1])
        batch_size: Any = apply_one("Shape", flat_inputs[0])[0] if batch is None else batch
        if emitted is None:
            like = cell.output_size
            dtype = structures.flatten(state)[0].dtype.base
            shapes = [(size_dims(size), dtype) for size in structures.flatten(like)]
        else:
            like = emitted
            shapes = [(t.shape.as_list(), t.dtype.base) for t in structures.flatten(like)]
        arrays = [
            TensorArray(
                dtype,
                size=0,
                dynamic_size=True,
                element_shape=[batch, *dims],
                name=f"rnn_output_{i}",
            )
            for i, (dims, dtype) in enumerate(shapes)
        ]
        zeros = [zeros_of(TensorShape(dims), batch_size, dtype) for dims, dtype in shapes]
        body = _Body(cell, loop_fn, structures.pack(like, zeros))
        loop_state = constant(0, dtypes.int32) if first_loop_state is None else first_loop_state
        _, _, _, emit, last_state, last_loop_state = while_loop(
            lambda _, finished, *rest: apply_one("LogicalNot", reduce_all(finished)),
            body.step,
            [time, finished, inputs, structures.pack(like, arrays), state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return emit, last_state, None if first_loop_state is None else last_loop_state


class _Body:
    """One iteration of the loop."""

    def __init__(self, cell: Any, loop_fn: LoopFunction, zeros: Any) -> None:
        self.cell, self.loop_fn, self.zeros = cell, loop_fn, zeros

    def step(self, time: Any, finished: Any, inputs: Any, arrays: Any, state: Any, loop_state: Any) -> Any:
        output, cell_state = self.cell(inputs, state)
        structures.assert_same_structure(state, cell_state)
        structures.assert_same_structure(self.cell.output_size, output)
        next_time = time + 1
        now_finished, next_inputs, next_state, emitted, next_loop_state = self.loop_fn(
            next_time, output, cell_state, loop_state
        )
        structures.assert_same_structure(state, next_state)
        structures.assert_same_structure(inputs, next_inputs)
        structures.assert_same_structure(arrays, emitted)

        def chosen(old: Any, new: Any) -> Any:
            return select(finished, old, new)

        emitted = structures.map_structure(chosen, self.zeros, emitted)
        return (
            next_time,
            apply_one("LogicalOr", finished, now_finished),
            next_inputs,
            structures.map_structure(lambda array, value: array.write(time, value), arrays, emitted),
            structures.map_structure(chosen, state, next_state),
            loop_state if next_loop_state is None else next_loop_state,
        )
