"""Common parts of static and dynamic RNNs: batch sizes, sequence lengths, steps after a sequence's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from tensorfleet.core import dtypes, structures
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.weight_values import WeightValues
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow_contexts import ControlFlowContext
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.state.variable_scope import VariableScope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.state import zeros_of


def share_reads(scope: VariableScope) -> None:
    """Lets all steps share one read of each variable, on the device of the first reader; not in a loop."""
    context: ControlFlowContext | None = get_default_graph()._scopes.control_flow
    inside = context is not None and context.GetWhileContext() is not None
    if not inside and scope.caching_device is None:
        scope.set_caching_device(lambda op: op.device)


def _is_keras_cell(cell: Any) -> bool:
    """Whether a cell takes and returns a state of one tensor as a list, as those of Keras do."""
    return (
        isinstance(cell, WeightValues) and not isinstance(cell, RNNCell) and not hasattr(cell, "zero_state")
    )


def _alone(state: Any) -> Any:
    """The one part of a state in a list of one; another state as it is."""
    return state[0] if isinstance(state, (list, tuple)) and len(state) == 1 else state


def step_of(cell: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A step of a cell, from inputs and a state to an output and a state: a tensor if it is only one."""
    if not _is_keras_cell(cell):
        return cast("Callable[[Any, Any], tuple[Any, Any]]", cell)

    def step(inputs: Any, state: Any) -> tuple[Any, Any]:
        output, new_state = cell(inputs, state if structures.is_nested(state) else [state])
        return output, _alone(new_state)

    return step


def initial_state_of(cell: Any, initial_state: Any, batch_size: Any, dtype: Any) -> Any:
    """The initial state, given or zeros.

    Raises:
        ValueError: neither state nor dtype are given.
    """
    found = _given_or_zeros(cell, initial_state, batch_size, dtype)
    return _alone(found) if _is_keras_cell(cell) else found


def _given_or_zeros(cell: Any, initial_state: Any, batch_size: Any, dtype: Any) -> Any:
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def state_dtype(dtype: Any, state: Any) -> Any:
    """The dtype of outputs: the given one, else the common one of all parts of the state.

    Raises:
        ValueError: the parts of the state have different dtypes, or there are none.
    """
    if dtype is not None:
        return dtype
    found = [element.dtype.base for element in structures.flatten(state)]
    if not found:
        raise ValueError(f"Unable to infer dtype from argument state={state}.")
    if any(other is not found[0] for other in found):
        raise ValueError(
            f"Argument state={state} has tensors of different inferred dtypes. Unable to infer a single "
            f"representative dtype. Dtypes received: {found}"
        )
    return found[0]


def zero_outputs(cell: Any, batch_size: Any, dtype: Any) -> Any:
    """The output after the end of a sequence: zeros."""
    return structures.map_structure(lambda size: zeros_of(size, batch_size, dtype), cell.output_size)


def lengths_of(sequence_length: Any) -> Tensor:
    """The lengths as int32 [batch].

    Raises:
        ValueError: the lengths are not a vector.
    """
    from tensorfleet.ops.array.casting import cast

    lengths: Tensor = cast(sequence_length, dtypes.int32)
    if lengths.ndim not in (None, 1):
        raise ValueError(
            "Argument sequence_length must be a vector of length batch_size. Received "
            f"sequence_length={lengths} of shape: {lengths.shape}"
        )
    return lengths


def masked_step(
    time: Any, lengths: Tensor, zero_output: Any, state: Any, step: Callable[[], tuple[Any, Any]]
) -> tuple[Any, Any]:
    """A step, with zeros and the old state for sequences that have ended.

    Args:
        time: the number of the step.
        lengths: the lengths of the sequences, int32 [batch].
        step: a function that returns (output, state).

    Raises:
        ValueError, TypeError: the structure of the cell's output or state is not that of its sizes.
    """
    over = apply_one("GreaterEqual", time, lengths)
    output, new_state = step()
    structures.assert_same_structure(zero_output, output)
    structures.assert_same_structure(state, new_state)

    def chosen(old: Any, new: Any) -> Any:
        return select(over, old, new)

    return (
        structures.map_structure(chosen, zero_output, output),
        structures.map_structure(chosen, state, new_state),
    )


def select(finished: Tensor, old: Any, new: Any) -> Any:
    """`old` for finished elements of the batch, else `new`; TensorArrays and scalars are always `new`."""
    if isinstance(old, TensorArray) or old.ndim == 0:
        return new
    with framework.colocate_with(new.op):
        result = apply_one("Select", finished, old, new)
    result.set_shape(old.dims)
    return result


def known_batch(tensors: Sequence[Tensor], axis: int) -> int | None:
    """The static size of the batch, if a tensor has it."""
    for tensor in tensors:
        if tensor.dims is not None and tensor.dims[axis] is not None:
            return tensor.dims[axis]
    return None
