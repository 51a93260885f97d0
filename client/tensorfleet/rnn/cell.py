"""`tf.nn.rnn_cell.RNNCell`, the base class of recurrent cells."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, structures
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.base import Layer
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.state import zero_states


class RNNCell(Layer):
    """A layer from an input [batch, …] and a state to an output and the next state
    (`tf.nn.rnn_cell.RNNCell`).

    A subclass implements `state_size`, `output_size` and `call(inputs, state)`. Variables that `call` makes
    by `tf.get_variable` belong to the cell, too.
    """

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._outer_scope: Any = None

    def __call__(  # type: ignore[override]
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """The output and the next state.

        Args:
            scope: the variable scope, by default one named after the class.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._own) as opened:
                return super().__call__(inputs, state, *args, scope=opened, **kwargs)
        if self._outer_scope is None:
            self._outer_scope = variable_scope(get_variable_scope(), custom_getter=self._own)
        with self._outer_scope:
            return super().__call__(inputs, state, *args, **kwargs)

    def _own(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        self._keep(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The sizes of the state: a number or a shape, or a structure of them.

        Raises:
            NotImplementedError: the class does not implement it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output.

        Raises:
            NotImplementedError: the class does not implement it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement output_size.")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The initial state of zeros, for the batch of `inputs` or for one of `batch_size`.

        Raises:
            ValueError: batch size or dtype are not known, or contradict `inputs`.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            batch_size, dtype = _batch_of(inputs, batch_size, dtype)
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros of shape [batch_size, size] for every part of the state."""
        with framework.name_scope(type(self).__name__ + "ZeroState"):
            return zero_states(self.state_size, batch_size, dtype)


class LayerRNNCell(RNNCell):
    """The base class of cells that make their variables in `build`, as layers do."""

    def __call__(  # type: ignore[override]
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _check_build(self, input_shape: Any) -> int:
        """The depth of the inputs.

        Raises:
            ValueError: the depth is not known, or the cell's dtype is not floating point.
        """
        depth = input_shape.as_list()[-1]
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, received shape: {input_shape}")
        check_dtype(self.dtype)
        return int(depth)


def check_dtype(dtype: Any) -> None:
    """Raises ValueError for a dtype that cells cannot compute in."""
    if dtype is None:
        return
    found = dtypes.as_dtype(dtype)
    if not (found.is_floating or found.is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but received dtype: {found!r}")


def check_inputs_and_state(*values: Any) -> None:
    """Raises ValueError if an input or a part of the state is not floating point."""
    for tensor in structures.flatten(values):
        check_dtype(tensor.dtype.base)


def check_cell(name: str, cell: Any) -> None:
    """Raises TypeError for an argument that is not a cell."""
    lacking = [
        a for a in ("output_size", "state_size") if not hasattr(type(cell), a) and not hasattr(cell, a)
    ]
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        lacking.append("zero_state")
    if lacking or not callable(cell):
        what = "is not callable" if not lacking else f"has no {lacking}"
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: it {what}.")


def _batch_of(inputs: Tensor, batch_size: Any, dtype: Any) -> tuple[Any, Any]:
    known = None if inputs.dims is None else inputs.dims[0]
    if batch_size is not None:
        wanted = static_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
        if known != wanted:
            raise ValueError(
                "batch size from input tensor is different from the input param. Input tensor batch: "
                f"{known}, batch_size: {batch_size}"
            )
    if dtype is not None and inputs.dtype.base is not dtypes.as_dtype(dtype).base:
        raise ValueError(
            "dtype from input tensor is different from the input param. Input tensor dtype: "
            f"{inputs.dtype!r}, dtype: {dtype!r}"
        )
    return (apply_one("Shape", inputs)[0] if known is None else known), inputs.dtype.base
