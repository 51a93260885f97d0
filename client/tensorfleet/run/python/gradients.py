"""`tensorflow.python.ops.parallel_for.gradients`, and what is private in `gradients_impl`."""

from __future__ import annotations

from typing import Any

import tensorfleet as tf
from tensorfleet.graph.tensor import Tensor


def hessian_vector_product(ys: Any, xs: list[Any], v: list[Any]) -> list[Any]:
    """The products of the Hessian of `ys` in `xs` with a vector, whose parts are like `xs`."""
    if len(xs) != len(v):
        raise ValueError("xs and v must have the same length.")
    products = [
        tf.multiply(gradient, tf.stop_gradient(part))
        for gradient, part in zip(tf.gradients(ys, xs), v, strict=True)
        if gradient is not None
    ]
    return tf.gradients(products, xs)


def jacobian(output: Any, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """The derivatives of each element of `output` in each of the inputs, of shape [*output, *input]."""
    flat = tf.reshape(output, [-1])
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]

    def of(x: Any) -> Tensor:
        rows = tf.map_fn(
            lambda at: tf.gradients(flat[at], [x])[0],
            tf.range(tf.shape(flat)[0]),
            dtype=x.dtype.base,
            parallel_iterations=parallel_iterations or 10,
        )
        made = tf.reshape(rows, tf.concat([tf.shape(output), tf.shape(x)], 0))
        made.set_shape(output.shape.concatenate(x.shape))
        return made

    found = [of(x) for x in given]
    return found if isinstance(inputs, (list, tuple)) else found[0]


def batch_jacobian(
    output: Any, inp: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Tensor:
    """The derivatives of each row of `output` in the same row of the input: [batch, *output, *input]."""
    size = tf.shape(output)[0]
    flat = tf.reshape(output, [size, -1])
    columns = tf.map_fn(
        lambda at: tf.gradients(flat[:, at], [inp])[0],
        tf.range(tf.shape(flat)[1]),
        dtype=inp.dtype.base,
        parallel_iterations=parallel_iterations or 10,
    )
    rank = tf.rank(inp)
    by_row = tf.transpose(columns, tf.concat([[1, 0], tf.range(2, rank + 1)], 0))
    made = tf.reshape(by_row, tf.concat([tf.shape(output), tf.shape(inp)[1:]], 0))
    made.set_shape(output.shape.concatenate(inp.shape[1:]))
    return made


def is_trainable(tensor_or_variable: Any) -> bool:
    """Whether there are gradients of its dtype."""
    kinds = (*(tf.float16, tf.float32, tf.float64, tf.bfloat16), *(tf.complex64, tf.complex128))
    return tensor_or_variable.dtype.base_dtype in (*kinds, tf.resource, tf.variant)
