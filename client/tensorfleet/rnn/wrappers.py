"""Cells made of other cells: MultiRNNCell, ResidualWrapper and DeviceWrapper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import structures
from tensorfleet.graph import framework
from tensorfleet.layers.base import Layer
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.cell import RNNCell, check_cell


class MultiRNNCell(RNNCell):
    """Stacked cells: the output of each is the input of the next one (`tf.nn.rnn_cell.MultiRNNCell`).

    Args:
        cells: the cells, the lowest first. Their variables are in the scopes `cell_0`, `cell_1`, …
        state_is_tuple: whether the state is a tuple of the cells' states, instead of one tensor.

    Raises:
        TypeError: `cells` is not a list or tuple.
        ValueError: there is no cell, or the states of the cells do not fit one tensor.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not structures.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but received: {cells}.")
        self._cells, self._state_is_tuple = cells, state_is_tuple
        if not state_is_tuple and any(structures.is_nested(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. State sizes "
                f"are: {[c.state_size for c in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of all cells that optimizers change."""
        return [v for cell in self._layers() for v in cell.trainable_weights] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of all cells that optimizers do not change."""
        frozen = [v for cell in self._layers() for v in cell.non_trainable_weights]
        if self.trainable:
            return frozen
        return [v for cell in self._layers() for v in cell.trainable_weights] + frozen

    def _layers(self) -> list[Layer]:
        return [cell for cell in self._cells if isinstance(cell, Layer)]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with framework.name_scope(type(self).__name__ + "ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> Any:
        if self._state_is_tuple and not structures.is_nested(state):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}"
            )
        states: list[Any] = []
        begin = 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    old = state[number]
                else:
                    old = apply_one("Slice", state, [0, begin], [-1, cell.state_size])
                    begin += cell.state_size
                inputs, new = cell(inputs, old)
                states.append(new)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)


class WrapperCell(RNNCell):
    """The base class of cells that wrap another one, whose variables keep their names."""

    def __init__(self, cell: Any, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, **kwargs)
        check_cell("cell", cell)
        self.cell = cell

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        raise NotImplementedError

    def __call__(  # type: ignore[override]
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        return self._call_wrapped_cell(inputs, state, self.cell.__call__, scope=scope, **kwargs)

    @property
    def wrapped_cell(self) -> Any:
        return self.cell

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        return list(getattr(self.cell, "trainable_weights", ()))

    @property
    def non_trainable_weights(self) -> list[Any]:
        return list(getattr(self.cell, "non_trainable_weights", ()))

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with framework.name_scope(type(self).__name__ + "ZeroState"):
            return self.cell.zero_state(batch_size, dtype)


class ResidualWrapper(WrapperCell):
    """Adds the inputs to the outputs (`tf.nn.rnn_cell.ResidualWrapper`).

    Args:
        residual_fn: a function from (inputs, outputs) to the new outputs, in place of the sum.

    Raises:
        ValueError: in a call: inputs and outputs differ in structure or shape.
    """

    def __init__(self, cell: Any, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)
        combined = (self._residual_fn or _sum)(inputs, outputs)
        for before, after in zip(structures.flatten(outputs), structures.flatten(combined), strict=True):
            before.shape.assert_is_compatible_with(after.shape)
        return combined, new_state


def _sum(inputs: Any, outputs: Any) -> Any:
    structures.assert_same_structure(inputs, outputs)
    for before, after in zip(structures.flatten(inputs), structures.flatten(outputs), strict=True):
        before.shape.assert_is_compatible_with(after.shape)
    return structures.map_structure(lambda x, y: identity(x) + identity(y), inputs, outputs)


class DeviceWrapper(WrapperCell):
    """A cell placed on a device (`tf.nn.rnn_cell.DeviceWrapper`).

    Args:
        device: as for `tf.device`.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with framework.device(self._device):
            return super().zero_state(batch_size, dtype)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        with framework.device(self._device):
            return cell_call_fn(inputs, state, **kwargs)
