"""`tf.nn.dynamic_rnn`: a cell run over a tensor of inputs, in a loop whose length may differ between runs."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, structures
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range as range_of
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import reverse, reverse_sequence, transpose
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.reduction import reduce_max
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.cell import check_cell
from tensorfleet.rnn.lengths import (
    initial_state_of,
    known_batch,
    lengths_of,
    masked_step,
    share_reads,
    state_dtype,
    step_of,
    zero_outputs,
)
from tensorfleet.rnn.state import size_dims


def transposed(x: Tensor) -> Tensor:
    """The tensor with its first two dimensions, batch and time, exchanged."""
    if x.dims is not None and len(x.dims) < 2:
        return x
    if x.dims is not None:
        return transpose(x, [1, 0, *range(2, len(x.dims))])
    rest = range_of(2, apply_one("Rank", x))
    return transpose(x, concat([[1, 0], rest], 0))


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """The outputs of a cell for all steps of its inputs, and its last state (`tf.nn.dynamic_rnn`).

    Args:
        inputs: [batch, time, …], or a structure of such tensors; [time, batch, …] if `time_major`.
        sequence_length: the number of steps of each element of the batch; after them its output is zero and
            its state constant. The loop ends with the longest sequence.
        initial_state: the initial state, by default zeros.
        dtype: the dtype of the state, needed if `initial_state` is not given.
        parallel_iterations, swap_memory: as in `tf.while_loop`.
        scope: the variable scope, by default "rnn".

    Returns:
        The outputs, batch and time in the order of the inputs; the state after each element's last step.

    Raises:
        TypeError: `cell` is not a cell.
        ValueError: shapes and dtypes are incompatible or not known.
        InvalidArgumentError: in a run: the number of lengths is not the size of the batch.

    Example:
        >>> cell = tf.nn.rnn_cell.LSTMCell(4)
        >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.zeros([2, 5, 3]), dtype=tf.float32)
        >>> outputs.shape.as_list(), state.h.shape.as_list()
        ([2, 5, 4], [2, 4])
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn") as opened:
        share_reads(opened)
        flat = [convert_to_tensor(x) for x in structures.flatten(inputs)]
        if not time_major:
            flat = [transposed(x) for x in flat]
        batch = known_batch(flat, 1)
        batch_size: Any = apply_one("Shape", flat[0])[1] if batch is None else batch
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = _checked(identity(lengths_of(sequence_length), name="sequence_length"), batch_size)
        loop = _Loop(cell, structures.pack(inputs, flat), state, lengths, batch_size, dtype)
        outputs, final_state = loop.run(parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = structures.map_structure(transposed, outputs)
        return outputs, final_state


def _checked(lengths: Tensor, batch_size: Any) -> Tensor:
    shape = apply_one("Shape", lengths)
    wanted = apply_one("Pack", [batch_size])
    right = apply_one("All", apply_one("Equal", shape, wanted), [0])
    text = [f"Expected shape for Tensor {lengths.name} is ", wanted, " but saw shape: ", shape]
    with framework.control_dependencies([Assert(right, text)]):
        return identity(lengths, name="CheckSeqLen")


class _Loop:
    """A cell, its inputs [time, batch, …], and the TensorArrays of its inputs and outputs."""

    def __init__(
        self, cell: Any, inputs: Any, state: Any, lengths: Tensor | None, batch_size: Any, dtype: Any
    ) -> None:
        self.cell, self.inputs, self.state, self.lengths = cell, inputs, state, lengths
        self.call_cell = step_of(cell)
        flat = structures.flatten(inputs)
        self.time, self.batch = _time_and_batch(flat)
        self.steps = apply_one("Shape", flat[0])[0]
        self.dtype = state_dtype(dtype, state)
        self.zeros = None
        if lengths is not None:
            self.zeros = zero_outputs(cell, batch_size, self.dtype)
        with framework.name_scope("dynamic_rnn") as base:
            self.base_name = base
        self.inputs_read = [
            self._array(f"input_{i}", x.dims[1:], x.dtype.base).unstack(x) for i, x in enumerate(flat)
        ]

    def _array(self, name: str, dims: Any, dtype: Any) -> TensorArray:
        return TensorArray(
            dtype, size=self.steps, element_shape=dims, tensor_array_name=self.base_name + name
        )

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        sizes = structures.flatten(self.cell.output_size)
        outputs = tuple(
            self._array(f"output_{i}", [self.batch, *size_dims(size)], self.dtype)
            for i, size in enumerate(sizes)
        )
        bound = self.steps
        if self.lengths is not None:
            longest = reduce_max(self.lengths)
            bound = apply_one("Minimum", self.steps, apply_one("Maximum", 1, longest))
        _, filled, state = while_loop(
            lambda time, *_: apply_one("Less", time, bound),
            self._step,
            (constant(0, dtypes.int32, name="time"), outputs, self.state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=self.steps,
            swap_memory=swap_memory,
        )
        stacked = [array.stack() for array in filled]
        for tensor, size in zip(stacked, sizes, strict=True):
            tensor.set_shape([self.time, self.batch, *size_dims(size)])
        return structures.pack(self.cell.output_size, stacked), state

    def _step(self, time: Tensor, outputs: tuple[TensorArray, ...], state: Any) -> Any:
        inputs = structures.pack(self.inputs, [array.read(time) for array in self.inputs_read])
        if self.lengths is None:
            output, new_state = self.call_cell(inputs, state)
        else:
            output, new_state = masked_step(
                time, self.lengths, self.zeros, state, lambda: self.call_cell(inputs, state)
            )
        written = [a.write(time, o) for a, o in zip(outputs, structures.flatten(output), strict=True)]
        return time + 1, tuple(written), new_state


def _time_and_batch(flat: list[Tensor]) -> tuple[int | None, int | None]:
    """The sizes of the first two dimensions, which all inputs must share."""
    shapes = [x.shape.with_rank_at_least(3).as_list() for x in flat]
    first = shapes[0]
    for x, shape in zip(flat, shapes, strict=True):
        if None in shape[2:]:
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None for "
                f"input={x}."
            )
        if shape[0] != first[0]:
            raise ValueError(
                "Time steps is not the same for all the elements in the input in a batch. Received time "
                f"steps={shape[0]} for input={x}."
            )
        if shape[1] != first[1]:
            raise ValueError(
                "Batch_size is not the same for all the elements in the input. Received batch "
                f"size={shape[1]} for input={x}."
            )
    return first[0], first[1]


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two cells run over a tensor of inputs, forwards and backwards (`tf.nn.bidirectional_dynamic_rnn`).

    Returns:
        (forward outputs, backward outputs), both in the order of the inputs; (the last state of each).

    Raises:
        TypeError, ValueError: as in `dynamic_rnn`.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    time_axis = 0 if time_major else 1

    def turned(x: Any) -> Tensor:
        if sequence_length is None:
            return reverse(x, [time_axis])
        return reverse_sequence(x, sequence_length, seq_axis=time_axis, batch_axis=1 - time_axis)

    def run(cell: Any, values: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        return dynamic_rnn(
            cell,
            values,
            sequence_length=sequence_length,
            initial_state=state,
            dtype=dtype,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
            time_major=time_major,
            scope=scope,
        )

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as scope_fw:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, scope_fw)
        with variable_scope("bw") as scope_bw:
            backwards, state_bw = run(
                cell_bw, structures.map_structure(turned, inputs), initial_state_bw, scope_bw
            )
    return (output_fw, structures.map_structure(turned, backwards)), (state_fw, state_bw)
