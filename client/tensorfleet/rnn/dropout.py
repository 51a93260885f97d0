"""DropoutWrapper: dropout of a cell's inputs, states and outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from tensorfleet.core import structures
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.nn.layers import dropout
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.rnn.state import LSTMStateTuple, size_dims
from tensorfleet.rnn.wrappers import WrapperCell


def _all_but_memory(state: Any) -> Any:
    """The default filter of the parts of a state that get dropout: all but the c of an LSTM."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


class DropoutWrapper(WrapperCell):
    """Dropout around a cell (`tf.nn.rnn_cell.DropoutWrapper`).

    Args:
        input_keep_prob, output_keep_prob, state_keep_prob: the probability that an element is kept: a
            number, or a tensor of rank 0; 1 for no dropout.
        variational_recurrent: whether all steps of a run drop the same elements (Gal, arXiv:1512.05287).
        input_size: the sizes of the inputs, needed for variational dropout of inputs.
        dtype: the dtype of inputs, state and outputs, needed for variational dropout.
        seed: the seed from which the seeds of all random ops are derived.
        dropout_state_filter_visitor: a function from the state, or a part of it, to whether it gets
            dropout; by default all but the c of an LSTMStateTuple.

    Raises:
        TypeError: the filter is not callable, or `cell` is not a cell.
        ValueError: a probability outside of [0, 1], or a missing argument of variational dropout.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError(
                f"dropout_state_filter_visitor must be callable. Received: {dropout_state_filter_visitor}"
            )
        self._filter: Callable[[Any], Any] = dropout_state_filter_visitor or _all_but_memory
        self._seed = seed
        with framework.name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
            self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
            self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
            self._noises: dict[str, Any] | None = None
            if variational_recurrent:
                self._noises = self._variational(cell, input_size, dtype)

    def _variational(self, cell: Any, input_size: Any, dtype: Any) -> dict[str, Any]:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": cell.state_size, "output": cell.output_size}
        if _drops(self._input_keep_prob):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size "
                    "must be provided"
                )
            sizes = {"input": input_size, **sizes}

        def noise(kind: str) -> Callable[[Any], Tensor]:
            number = count()
            return lambda size: random_uniform(
                [1, *size_dims(size)], seed=self._gen_seed(kind, next(number)), dtype=dtype
            )

        return {kind: structures.map_structure(noise(kind), size) for kind, size in sizes.items()}

    def _gen_seed(self, salt_prefix: str, index: int) -> int | None:
        if self._seed is None:
            return None
        salted = f"{self._seed}{salt_prefix}_{index}".encode()
        return int(hashlib.md5(salted, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(
        self, kind: str, values: Any, keep: Any, wanted: Callable[[Any], Any] = lambda _: True
    ) -> Any:
        noises = iter(structures.flatten(self._noises[kind])) if self._noises is not None else None
        return self._drop(values, True, wanted, kind, keep, count(), noises)

    def _drop(
        self,
        value: Any,
        chosen: Any,
        wanted: Callable[[Any], Any],
        kind: str,
        keep: Any,
        number: Iterator[int],
        noises: Iterator[Tensor] | None,
    ) -> Any:
        """`value` with dropout of the parts that the filter `wanted` selects, from the top down."""
        chosen = chosen and wanted(value)
        if chosen is False or not structures.is_nested(value):
            index = next(number)
            noise = [next(noises) for _ in structures.flatten(value)] if noises is not None else []
            if chosen is False:
                return value
            if noise:
                kept = apply_one("Floor", noise[0] + keep)
                result = value / keep * kept
                result.set_shape(value.dims)
                return result
            return dropout(value, rate=1.0 - keep, seed=self._gen_seed(kind, index))
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        flags = [chosen] * len(parts) if isinstance(chosen, bool) else list(chosen)
        done = [
            self._drop(part, flag, wanted, kind, keep, number, noises)
            for part, flag in zip(parts, flags, strict=True)
        ]
        if isinstance(value, dict):
            return type(value)(zip(value, done, strict=True))
        return type(value)(*done) if hasattr(value, "_fields") else type(value)(done)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        if _drops(self._input_keep_prob):
            inputs = self._dropped("input", inputs, self._input_keep_prob)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if _drops(self._state_keep_prob):
            new_state = self._dropped("state", new_state, self._state_keep_prob, self._filter)
        if _drops(self._output_keep_prob):
            output = self._dropped("output", output, self._output_keep_prob)
        return output, new_state


def _probability(name: str, given: Any) -> Any:
    """The probability as a float if it is known, else as a tensor."""
    tensor = convert_to_tensor(given)
    known = static_value(tensor)
    if known is None:
        return tensor
    if known < 0 or known > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1. Received {known}")
    return float(known)


def _drops(keep: Any) -> bool:
    return not isinstance(keep, float) or keep < 1
