"""The states of recurrent cells: sizes, zeros, `LSTMStateTuple`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims


class _State(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_State):
    """The state of an LSTM cell, or the sizes of its parts (`tf.nn.rnn_cell.LSTMStateTuple`).

    Attributes:
        c: the cell's memory.
        h: the last output.
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both parts.

        Raises:
            TypeError: the parts have different dtypes.
        """
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


def size_dims(size: Any) -> list[int | None]:
    """The shape of one element of a batch, from a state's size: a number or a shape."""
    return size.as_list() if isinstance(size, TensorShape) else [int(size)]


def zeros_of(size: Any, batch_size: Any, dtype: Any) -> Tensor:
    """Zeros of shape [batch, *size].

    Args:
        batch_size: a number, or an int32 tensor of rank 0.
    """
    rest = size_dims(size)
    if None in rest:
        raise ValueError(f"The size of a state must be known. Received: {size}")
    known = batch_size if not isinstance(batch_size, Tensor) else static_value(batch_size)
    if known is not None:
        return zeros([int(known), *rest], dtype)
    shape = concat([expand_dims(batch_size, 0), convert_to_tensor(rest, dtypes.int32)], 0)
    made = zeros(shape, dtype)
    made.set_shape([None, *rest])
    return made


def zero_states(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for every part of a state, in the structure of its sizes."""
    return structures.map_structure(lambda size: zeros_of(size, batch_size, dtype), state_size)
