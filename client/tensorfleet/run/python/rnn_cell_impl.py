"""What is private in `tensorflow.python.ops.rnn_cell_impl`, for cells of programs' own."""

from __future__ import annotations

from typing import Any

import tensorfleet as tf
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cell import check_cell, check_inputs_and_state

# What the error for an object that is no cell says.
ASSERT_LIKE_RNNCELL_ERROR_REGEXP = "is not an RNNCell"

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
