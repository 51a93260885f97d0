"""`K.rnn`: a step function over time."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import nest, ops


def rnn(
    step_function: Any,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:
    """Calls a function for each time step, with the states of the step before.

    Args:
        step_function: from the inputs of a step and a list of states (and constants) to its output and the
        new
            states.
        inputs: (batch, time, …), or nested such tensors.
        go_backwards: whether to begin with the last step; the outputs are in the order of computing.
        mask: (batch, time), false where a step does not count: there states stay, and outputs are those of
            the step before, or zeros.
        unroll: whether to write out each step, in place of a loop.
        time_major: whether the first dimension is time.

    Returns:
        The last output, all outputs, and the last states.
    """
    tensors = [convert_to_tensor(t) for t in nest.flatten(inputs)]
    if not time_major:
        tensors = [_swapped(t) for t in tensors]
    if mask is not None:
        mask = ops.cast(mask, dtypes.bool)
        if len(mask.shape.as_list()) == 2:
            mask = ops.expand_dims(mask, -1)
        if not time_major:
            mask = _swapped(mask)
    if go_backwards:
        tensors = [ops.reverse(t, [0]) for t in tensors]
        mask = None if mask is None else ops.reverse(mask, [0])
    length = tensors[0].shape.as_list()[0]
    extra = list(constants or [])

    def step(slices: list[Any], states: list[Any]) -> tuple[Any, list[Any]]:
        output, new_states = step_function(nest.pack(inputs, slices), [*states, *extra])
        return output, list(nest.flatten(new_states))

    run = _unrolled if unroll else _looped
    if unroll and not length:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    states = [convert_to_tensor(s) for s in nest.flatten(initial_states)]
    last, outputs, states = run(step, tensors, states, mask, zero_output_for_mask)
    outputs = nest.map_structure(lambda o: _with_time(o, length), outputs)
    if not time_major:
        outputs = nest.map_structure(_swapped, outputs)
    return last, outputs, states


def _swapped(x: Any) -> Any:
    """The first two dimensions in the other order."""
    rank = len(x.shape.as_list())
    return ops.transpose(x, [1, 0, *range(2, rank)])


def _with_time(x: Any, length: int | None) -> Any:
    x.set_shape([length, *x.shape.as_list()[1:]])
    return x


def _chosen(mask: Any, new: Any, old: Any) -> Any:
    """The new values where the mask (batch, 1) is true."""
    rank = len(new.shape.as_list())
    for _ in range(rank - 2):
        mask = ops.expand_dims(mask, -1)
    return ops.where_v2(mask if rank > 1 else ops.squeeze(mask, [1]), new, old)


def _after(mask: Any, new: list[Any], old: list[Any]) -> list[Any]:
    if mask is None:
        return new
    return [_chosen(mask, n, o) for n, o in zip(new, old, strict=True)]


def _unrolled(step: Any, tensors: list[Any], states: list[Any], mask: Any, zero: bool) -> Any:
    columns = [ops.unstack(t) for t in tensors]
    masks = [None] * len(columns[0]) if mask is None else ops.unstack(mask)
    rows: list[list[Any]] = []
    output: Any = None
    for slices, masked in zip(zip(*columns, strict=True), masks, strict=True):
        output, new_states = step(list(slices), states)
        flat = nest.flatten(output)
        before = rows[-1] if rows and not zero else [ops.zeros_like(o) for o in flat]
        rows.append(_after(masked, flat, before))
        states = _after(masked, new_states, states)
    stacked = [ops.stack(list(column)) for column in zip(*rows, strict=True)]
    return nest.pack(output, rows[-1]), nest.pack(output, stacked), states


def _looped(step: Any, tensors: list[Any], states: list[Any], mask: Any, zero: bool) -> Any:
    count = ops.shape(tensors[0])[0]
    arrays = [ops.TensorArray(t.dtype, size=count).unstack(t) for t in tensors]
    masks = None if mask is None else ops.TensorArray(dtypes.bool, size=count).unstack(mask)
    first = [t[0] for t in tensors]
    # The kinds of outputs are those of a step outside of the loop, which nothing computes.
    structure, _ = step(first, states)
    kinds = nest.flatten(structure)
    results = [ops.TensorArray(k.dtype, size=count, element_shape=k.shape) for k in kinds]
    before = [ops.zeros_like(k) for k in kinds] if mask is not None else []

    def body(time: Any, written: Any, before: Any, states: Any) -> Any:
        slices = [array.read(time) for array in arrays]
        for part, whole in zip(slices, tensors, strict=True):
            part.set_shape(whole.shape.as_list()[1:])
        output, new_states = step(slices, list(states))
        flat = nest.flatten(output)
        if masks is not None:
            here = masks.read(time)
            here.set_shape(mask.shape.as_list()[1:])
            flat = _after(here, flat, [ops.zeros_like(o) for o in flat] if zero else list(before))
            new_states = _after(here, new_states, list(states))
        for new, old in zip(new_states, states, strict=True):
            new.set_shape(old.shape)
        written = tuple(a.write(time, o) for a, o in zip(written, flat, strict=True))
        return time + 1, written, tuple(flat) if masks is not None else (), tuple(new_states)

    _, written, _, last_states = ops.while_loop(
        lambda time, *_: time < count,
        body,
        (ops.constant(0), tuple(results), tuple(before), tuple(states)),
    )
    stacked = [array.stack() for array in written]
    for whole, kind in zip(stacked, kinds, strict=True):
        whole.set_shape([None, *kind.shape.as_list()])
    last = [ops.gather(whole, count - 1) for whole in stacked]
    for final, kind in zip(last, kinds, strict=True):
        final.set_shape(kind.shape)
    return nest.pack(structure, last), nest.pack(structure, stacked), list(last_states)
