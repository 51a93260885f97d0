"""Recurrent layers: a cell over time."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.backend.state import variable
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells
from tensorfleet.keras.nest import flatten, to_list
from tensorfleet.keras.serialization import get_registered_name


class RNN(Layer):
    """A cell over time (`tf.keras.layers.RNN`).

    Args:
        cell: a layer with a `state_size` whose `call` takes the inputs of a step and a list of states, and
        gives
            an output and the new states; or a list of such cells.
        return_sequences: whether all outputs are given, not the last one alone.
        return_state: whether the last states are given, too.
        go_backwards: whether time runs from the end.
        stateful: whether a batch begins with the last states of the batch before, which must be as large.
        unroll: whether each step is written out, in place of a loop.
        time_major: whether the first dimension is time.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "call"):
            raise ValueError(f"`cell` should have a `call` method. The RNN was passed: {cell}")
        if not hasattr(cell, "state_size"):
            raise ValueError(
                "The RNN cell should have an attribute `state_size` (tuple of integers, one "
                "integer per RNN state)."
            )
        self._zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll = go_backwards, stateful, unroll
        self.time_major, self.supports_masking = time_major, True
        self._states: list[Any] | None = None
        self._num_constants = 0

    @property
    def states(self) -> list[Any]:
        """The states that a stateful layer keeps, variables."""
        return list(self._states or [None] * len(self._sizes()))

    def _sizes(self) -> list[Any]:
        return [size for size in flatten(self.cell.state_size)]

    def build(self, input_shape: Any) -> None:
        shape = (
            input_shape[0]
            if isinstance(input_shape, (list, tuple)) and not _is_shape(input_shape)
            else input_shape
        )
        sizes = dims_of(shape)
        batch = sizes[1 if self.time_major else 0]
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(TensorShape([batch, *sizes[2:]]))
            self.cell.built = True
        if self.stateful:
            self._make_states(batch)
        self.built = True

    def _make_states(self, batch: int | None) -> None:
        if batch is None:
            raise ValueError(
                "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input "
                "tensors: by `batch_input_shape` of the first layer, or `batch_shape` of Input."
            )
        self._states = [
            variable(np.zeros([batch, *dims_of(size if hasattr(size, "as_list") else [size])]), name="state")
            for size in self._sizes()
        ]

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Zeros for a batch of inputs."""
        batch = ops.shape(inputs)[1 if self.time_major else 0]
        own = getattr(self.cell, "get_initial_state", None)
        if own is not None:
            return flatten(own(inputs=None, batch_size=batch, dtype=inputs.dtype.base))
        return [
            ops.zeros(
                ops.stack([batch, *dims_of(size if hasattr(size, "as_list") else [size])]), inputs.dtype.base
            )
            for size in self._sizes()
        ]

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        given = to_list(initial_state)
        extra = to_list(constants)
        if given or extra:
            # They are inputs, too, so that models know where they come from.
            inputs = [*to_list(inputs), *given, *extra]
            self._num_constants = len(extra)
        return super().__call__(inputs, **kwargs)

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        if isinstance(inputs, (list, tuple)):
            count = self._num_constants
            rest = list(inputs[1:])
            if count:
                constants, rest = rest[-count:], rest[:-count]
            inputs, initial_state = inputs[0], rest or initial_state
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        if initial_state is None:
            if self.stateful and self._states is not None:
                initial_state = [state.read_value() for state in self._states]
            else:
                initial_state = self.get_initial_state(inputs)
        for name in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
            if hasattr(self.cell, name):
                getattr(self.cell, name)()
        parameters = inspect.signature(self.cell.call).parameters
        arguments = {"training": training} if "training" in parameters else {}
        extra = to_list(constants)

        def step(x: Any, states: Any) -> Any:
            own = list(states)
            if extra:
                own, given = own[: -len(extra)], own[-len(extra) :]
                return self.cell.call(x, own, constants=given, **arguments)
            return self.cell.call(x, own, **arguments)

        last, outputs, states = K.rnn(
            step,
            inputs,
            to_list(initial_state),
            go_backwards=self.go_backwards,
            mask=mask,
            constants=extra,
            unroll=self.unroll,
            time_major=self.time_major,
            zero_output_for_mask=self._zero_output_for_mask,
        )
        if self.stateful and self._states is not None:
            for kept, new in zip(self._states, states, strict=True):
                self.add_update(ops.assign(kept, new).op, inputs=True)
        output = outputs if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        own = mask if self.return_sequences else None
        return [own, *[None] * len(self._sizes())] if self.return_state else own

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        sizes = dims_of(shape)
        width = getattr(self.cell, "output_size", None) or self._sizes()[0]
        batch, time = sizes[1 if self.time_major else 0], sizes[0 if self.time_major else 1]
        ahead = [time, batch] if self.time_major else [batch, time]
        output = TensorShape([*ahead, width] if self.return_sequences else [batch, width])
        if not self.return_state:
            return output
        return [output, *(TensorShape([batch, size]) for size in self._sizes())]

    def reset_states(self, states: Any = None) -> None:
        """Sets the states of a stateful layer, by default to zeros.

        Raises:
            AttributeError: the layer is not stateful.
            ValueError: not as many states, or another shape.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if self._states is None:
            raise ValueError("The layer has no states before its first call.")
        values = [np.zeros(s.shape.as_list()) for s in self._states] if states is None else to_list(states)
        if len(values) != len(self._states):
            raise ValueError(
                f"Layer {self.name} expects {len(self._states)} states, but it received "
                f"{len(values)} state values."
            )
        for kept, value in zip(self._states, values, strict=True):
            if tuple(kept.shape.as_list()) != np.shape(value):
                raise ValueError(
                    f"A state of layer {self.name} has shape {kept.shape}, not {np.shape(value)}."
                )
        K.batch_set_value(list(zip(self._states, values, strict=True)))

    def _own_config(self) -> dict[str, Any]:
        return {
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "unroll": self.unroll,
            "time_major": self.time_major,
        }

    def get_config(self) -> dict[str, Any]:
        cell = {"class_name": get_registered_name(type(self.cell)), "config": self.cell.get_config()}
        return {**super().get_config(), **self._own_config(), "cell": cell}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer of `get_config`."""
        config = dict(config)
        if "cell" not in config:
            return cls(**config)
        cell = deserialize(config.pop("cell"), custom_objects=custom_objects)
        return cls(cell, **config)


def _is_shape(value: Any) -> bool:
    """Whether a list or tuple is itself a shape."""
    return all(size is None or isinstance(size, int) for size in value)


class _CellLayer(RNN):
    """A recurrent layer with a cell of one kind, whose settings are the layer's."""

    _cell_class: Any = None

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        activity_regularizer = kwargs.pop("activity_regularizer", None)
        own = {
            name: kwargs.pop(name)
            for name in (
                *("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major"),
                *("name", "trainable", "input_shape", "batch_input_shape", "batch_size", "weights"),
                *("input_dim", "input_length", "zero_output_for_mask"),
            )
            if name in kwargs
        }
        dtype = {"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}
        cell = self._cell_class(units, *args, **kwargs)
        super().__init__(cell, activity_regularizer=activity_regularizer, **own, **dtype)

    def get_config(self) -> dict[str, Any]:
        cell = self.cell.get_config()
        for name in ("name", "trainable", "dtype", "batch_input_shape"):
            cell.pop(name, None)
        return {**Layer.get_config(self), **cell, **self._own_config()}

    def __getattr__(self, name: str) -> Any:
        # Settings and weights of the cell are the layer's, too.
        cell = self.__dict__.get("cell")
        if cell is not None and not name.startswith("_") and hasattr(cell, name):
            return getattr(cell, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class SimpleRNN(_CellLayer):
    """A layer of `SimpleRNNCell` (`tf.keras.layers.SimpleRNN`), whose arguments it takes."""

    _cell_class = SimpleRNNCell


class GRU(_CellLayer):
    """A layer of `GRUCell` (`tf.keras.layers.GRU`), whose arguments it takes."""

    _cell_class = GRUCell


class LSTM(_CellLayer):
    """A layer of `LSTMCell` (`tf.keras.layers.LSTM`), whose arguments it takes."""

    _cell_class = LSTMCell
