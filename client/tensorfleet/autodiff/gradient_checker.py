"""`tf.test.compute_gradient`: derivatives by `tf.gradients` beside those by finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.tensor import Tensor

Array = np.ndarray[Any, Any]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: dict[Any, Any] | None = None,
) -> Any:
    """The Jacobian of y by x twice: by backpropagation and by central differences
    (`tf.test.compute_gradient`).

    Runs in the default session.

    Args:
        x: a tensor that may be fed, or a list of them.
        x_shape: its shape, or a list of shapes.
        y: a tensor that depends on x.
        y_shape: its shape.
        x_init_value: where to differentiate, an array or a list of them; by default random numbers in [0, 1).
        delta: the step of the differences.
        init_targets: operations to run first.
        extra_feed_dict: what else to feed.

    Returns:
        (by backpropagation, by differences): matrices of as many rows as x has elements, and as many
        columns as y has; complex elements count as two, the real part first. A list of such pairs if x is a
        list.

    Raises:
        TypeError: x or y is neither floating nor complex.
        ValueError: no default session.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: use `with session.as_default():`.")
    is_list = isinstance(x, list)
    xs = x if is_list else [x]
    x_shapes = x_shape if is_list else [x_shape]
    for tensor in (*xs, y):
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
            raise TypeError(f"{tensor.name} has dtype {tensor.dtype.name}, which has no derivatives.")
    if init_targets is not None:
        session.run(init_targets)
    given = x_init_value if is_list else [x_init_value]
    values = [
        _random(shape, tensor) if value is None else np.asarray(value, tensor.dtype.base.as_numpy_dtype)
        for tensor, shape, value in zip(xs, x_shapes, given or [None] * len(xs), strict=True)
    ]
    feeds = {**(extra_feed_dict or {}), **dict(zip(xs, values, strict=True))}
    pairs = []
    for tensor, value in zip(xs, values, strict=True):
        symbolic = _symbolic(session, tensor, value, y, tuple(y_shape), feeds)
        pairs.append((symbolic, _numeric(session, tensor, value, y, tuple(y_shape), feeds, delta)))
    return pairs if is_list else pairs[0]


def _random(shape: Any, x: Tensor) -> Array:
    value = np.random.random_sample(tuple(shape))
    if x.dtype.is_complex:
        value = value + 1j * np.random.random_sample(tuple(shape))
    return value.astype(x.dtype.base.as_numpy_dtype)


def _reals(value: Any) -> Array:
    """The elements as a vector of real numbers, which writes through to a contiguous array."""
    flat: Array = np.ascontiguousarray(value).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _symbolic(
    session: Any, x: Tensor, value: Array, y: Tensor, y_shape: tuple[int, ...], feeds: dict[Any, Any]
) -> Array:
    seed = np.zeros(y_shape, y.dtype.base.as_numpy_dtype)
    seed_tensor = convert_to_tensor(seed, name="Const")
    grad = gradients(y, x, seed_tensor)[0]
    count = _reals(seed).size
    result = np.zeros((_reals(value).size, count), _reals(value).dtype)
    if grad is None:
        return result
    grad = convert_to_tensor(grad)
    for column in range(count):
        _reals(seed)[column] = 1
        result[:, column] = _reals(session.run(grad, {**feeds, seed_tensor: seed}))
        _reals(seed)[column] = 0
    return result


def _numeric(
    session: Any,
    x: Tensor,
    value: Array,
    y: Tensor,
    y_shape: tuple[int, ...],
    feeds: dict[Any, Any],
    delta: float,
) -> Array:
    moved = np.array(value)
    elements = _reals(moved)
    rows = []
    for row in range(elements.size):
        there = elements[row]
        elements[row] = there + delta
        after = _reals(session.run(y, {**feeds, x: moved}))
        elements[row] = there - delta
        before = _reals(session.run(y, {**feeds, x: moved}))
        elements[row] = there
        rows.append((after - before) / (2 * delta))
    count = _reals(np.zeros(y_shape, y.dtype.base.as_numpy_dtype)).size
    return np.array(rows, elements.dtype).reshape(elements.size, count)


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: dict[Any, Any] | None = None,
) -> float:
    """The greatest difference between the two Jacobians of `compute_gradient`
    (`tf.test.compute_gradient_error`); arguments as there.
    """
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return float(max((np.abs(a - b).max(initial=0) for a, b in pairs), default=0))
