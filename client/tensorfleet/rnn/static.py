"""`tf.nn.static_rnn`: a cell run over a list of inputs, with a copy of its ops for each step."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat, stack, unstack
from tensorfleet.ops.array.rearranging import reverse_sequence
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.cell import check_cell
from tensorfleet.rnn.lengths import (
    initial_state_of,
    lengths_of,
    masked_step,
    share_reads,
    state_dtype,
    step_of,
    zero_outputs,
)


def _check_inputs(inputs: Any) -> None:
    if not structures.is_nested(inputs):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")


def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """The outputs of a cell for a list of inputs, and its last state (`tf.nn.static_rnn`).

    Args:
        inputs: a tensor [batch, …], or a structure of such tensors, for each step.
        initial_state: the initial state, by default zeros.
        dtype: the dtype of the state, needed if `initial_state` is not given.
        sequence_length: the number of steps of each element of the batch; after them its output is zero and
            its state constant.
        scope: the variable scope, by default "rnn".

    Raises:
        TypeError: `inputs` is not a list, or `cell` not a cell.
        ValueError: `inputs` is empty, or shapes and dtypes are incompatible or not known.
    """
    check_cell("cell", cell)
    _check_inputs(inputs)
    outputs: list[Any] = []
    with variable_scope(scope or "rnn") as opened:
        share_reads(opened)
        flat = structures.flatten(inputs)
        batch = _batch_of(flat)
        batch_size: Any = apply_one("Shape", flat[0])[0] if batch is None else batch
        state = initial_state_of(cell, initial_state, batch_size, dtype)
        call_cell = step_of(cell)
        lengths = zeros = None
        if sequence_length is not None:
            lengths = lengths_of(sequence_length)
            zeros = zero_outputs(cell, batch_size, state_dtype(dtype, state))
        for time, step_input in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            if lengths is None:
                output, state = call_cell(step_input, state)
            else:

                def step(step_input: Any = step_input, state: Any = state) -> Any:
                    return call_cell(step_input, state)

                output, state = masked_step(time, lengths, zeros, state, step)
            outputs.append(output)
    return outputs, state


def _batch_of(flat: list[Any]) -> int | None:
    """The static size of the batch, if known; the other dimensions of the inputs must be known."""
    batch: int | None = None
    for tensor in flat:
        if tensor.dims is not None and len(tensor.dims) == 1:
            rest: Any = ()
            found = tensor.dims[0]
        else:
            dims = tensor.shape.with_rank_at_least(2).as_list()
            found, rest = dims[0], dims[1:]
        for i, size in enumerate(rest):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {i} of input {tensor}) must be accessible via shape inference, "
                    "but saw value None."
                )
        TensorShape([batch]).assert_is_compatible_with(TensorShape([found]))
        batch = found if batch is None else batch
    return batch


def static_state_saving_rnn(
    cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """`static_rnn` whose state is kept between runs (`tf.nn.static_state_saving_rnn`).

    Args:
        state_saver: an object with `state(name)`, a tensor, and `save_state(name, value)`, an operation.
        state_name: a name for each part of the cell's state.

    Raises:
        ValueError: the names do not fit the state.
    """
    size = cell.state_size
    if structures.is_nested(size) != structures.is_nested(state_name):
        raise ValueError(
            "Argument `state_name` should be the same type as `cell.state_size`. Received: "
            f"state_name={state_name!s}, cell.state_size={size!s}."
        )
    names = structures.flatten(state_name)
    if len(names) != len(structures.flatten(size)):
        raise ValueError(
            "Number of elements in argument `state_name` and `cell.state_size` are mismatched. Received "
            f"state_name={state_name} with {len(names)} elements and cell.state_size={size} with "
            f"{len(structures.flatten(size))} elements."
        )
    initial = structures.pack(size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=initial, sequence_length=sequence_length, scope=scope
    )
    parts = structures.flatten(state)
    saved = [state_saver.save_state(name, part) for name, part in zip(names, parts, strict=True)]
    with framework.control_dependencies(saved):
        outputs[-1] = structures.map_structure(identity, outputs[-1])
        state = structures.map_structure(identity, state)
    return outputs, state


def _reversed(sequence: Any, lengths: Any) -> list[Any]:
    """The steps in reverse order; with lengths, each element's own steps, followed by the rest."""
    if lengths is None:
        return list(reversed(sequence))
    columns = zip(*(structures.flatten(step) for step in sequence), strict=True)
    turned = [unstack(reverse_sequence(stack(column), lengths, 0, 1)) for column in columns]
    return [
        structures.pack(step, parts) for step, parts in zip(sequence, zip(*turned, strict=True), strict=True)
    ]


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Two cells run over a list of inputs, forwards and backwards (`tf.nn.static_bidirectional_rnn`).

    Returns:
        For each step the concatenated outputs of both; the last state of each cell.

    Raises:
        TypeError, ValueError: as in `static_rnn`.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    _check_inputs(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as scope_fw:
            outputs_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=scope_fw
            )
        with variable_scope("bw") as scope_bw:
            backwards, state_bw = static_rnn(
                cell_bw,
                _reversed(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                scope=scope_bw,
            )
    outputs_bw = _reversed(backwards, sequence_length)
    outputs = [
        structures.map_structure(lambda x, y: concat([x, y], 1), forwards, other)
        for forwards, other in zip(outputs_fw, outputs_bw, strict=True)
    ]
    return outputs, state_fw, state_bw
