"""Names of `tensorflow.python.ops.rnn` and `rnn_cell_impl` that programs' own cells use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorfleet as tf
from tensorfleet.core import structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cell import (
    LayerRNNCell as LayerRNNCell,
    check_cell,
    check_dtype as check_supported_dtypes,  # noqa: F401
    check_inputs_and_state,
)
from tensorfleet.rnn.lengths import state_dtype as infer_state_dtype  # noqa: F401
from tensorfleet.rnn.state import zero_states

BIAS_VARIABLE_NAME, WEIGHTS_VARIABLE_NAME = "bias", "kernel"


def like_rnncell(cell: Any) -> bool:
    """Whether an object has what a recurrent cell needs."""
    try:
        check_cell("cell", cell)
    except TypeError:
        return False
    return True


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raises TypeError for an object that is no recurrent cell."""
    check_cell(cell_name, cell)


def check_rnn_cell_input_dtypes(inputs: Any) -> None:
    """Raises ValueError for inputs and states that are not floating point."""
    check_inputs_and_state(*inputs)


def zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for each part of a state, of shape [batch, *size]."""
    return zero_states(state_size, batch_size, dtype)


def transpose_batch_time(x: Any) -> Any:
    """[batch, time, …] for [time, batch, …], and the other way round."""
    x = tf.convert_to_tensor(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        return x
    made = tf.transpose(x, tf.concat([[1, 0], tf.range(2, tf.rank(x))], 0))
    if x.shape.ndims is not None:
        made.set_shape([x.shape[1], x.shape[0], *x.shape[2:]])
    return made


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> Any:
    """The batch size of inputs [time, batch, …]: a number if it is known, else a tensor."""
    for tensor in flat_input:
        if tensor.shape.ndims is not None and tensor.shape.ndims >= 2:
            size = tensor.shape.as_list()[1]
            if size is not None:
                return size
    return tf.shape(flat_input[0])[1]


def concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """The two sizes or shapes behind each other: a tensor, or with `static` a list."""
    if static:
        return [*_dims(prefix), *_dims(suffix)]
    return tf.concat([_vector(prefix), _vector(suffix)], 0)


def _dims(part: Any) -> list[int | None]:
    if isinstance(part, Tensor):
        value = static_value(part)
        if value is None:
            count = 1 if part.shape.ndims == 0 else int(part.shape[0])
            return [None for _ in range(count)]
        return [int(size) for size in value.reshape(-1)]
    shape = TensorShape(part) if isinstance(part, (TensorShape, list, tuple)) else TensorShape([part])
    return shape.as_list()


def _vector(part: Any) -> Tensor:
    if isinstance(part, Tensor):
        return tf.expand_dims(part, 0) if part.shape.ndims == 0 else part
    return tf.constant(_dims(part), tf.int32)


def reverse_seq(input_seq: Any, lengths: Any) -> list[Any]:
    """The inputs of a static RNN in reverse order, each sequence within its length."""
    if lengths is None:
        return list(reversed(input_seq))
    flat = [structures.flatten(step) for step in input_seq]
    columns = []
    for parts in zip(*flat, strict=True):
        turned = tf.reverse_sequence(tf.stack(parts), lengths, seq_axis=0, batch_axis=1)
        columns.append(tf.unstack(turned, num=len(flat)))
    return [
        structures.pack(step, list(parts))
        for step, parts in zip(input_seq, zip(*columns, strict=True), strict=True)
    ]


class Linear:
    """A product of inputs with one matrix, and a bias (`rnn_cell_impl._Linear`).

    Args:
        args: a tensor [batch, n], or several, which are put beside each other.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        self._build_bias = build_bias
        self._is_sequence = isinstance(args, (list, tuple))
        inputs = list(args) if self._is_sequence else [args]
        dtype = inputs[0].dtype.base
        depth = sum(int(x.shape[1]) for x in inputs)
        scope = get_variable_scope()
        with variable_scope(scope) as outer:
            self._weights = get_variable(
                WEIGHTS_VARIABLE_NAME, [depth, output_size], dtype=dtype, initializer=kernel_initializer
            )
            if build_bias:
                with variable_scope(outer) as inner:
                    inner.set_partitioner(None)
                    self._biases = get_variable(
                        BIAS_VARIABLE_NAME,
                        [output_size],
                        dtype=dtype,
                        initializer=bias_initializer or tf.zeros_initializer(dtype=dtype),
                    )

    def __call__(self, args: Any) -> Tensor:
        inputs = list(args) if self._is_sequence else [args]
        product = tf.matmul(inputs[0] if len(inputs) == 1 else tf.concat(inputs, 1), self._weights)
        return tf.nn.bias_add(product, self._biases) if self._build_bias else product
