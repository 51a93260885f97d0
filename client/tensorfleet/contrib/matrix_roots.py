"""Roots of symmetric positive definite matrices by iterations of matrix products
(`tensorflow.contrib.opt.python.training.matrix_functions`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.ops.array.constants import eye
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_max, reduce_sum


def _norm(matrix: Any) -> Any:
    return apply_one("Sqrt", reduce_sum(matrix * matrix))


def square_root(mat_a: Any, mat_a_size: int, iter_count: int = 100, ridge_epsilon: float = 1e-4) -> Any:
    """The square root of a matrix, by the coupled Newton-Schulz iteration.

    It ends once the error no longer falls, and returns the iterate before the last.

    Args:
        mat_a: float32 [size, size].
        iter_count: the most iterations.
        ridge_epsilon: added to the diagonal.
    """
    identity = eye(mat_a_size)
    given = mat_a + ridge_epsilon * identity
    norm = _norm(given)

    def goes_on(i: Any, y: Any, old_y: Any, z: Any, error: Any, old_error: Any) -> Any:
        return apply_one("LogicalAnd", apply_one("Less", i, iter_count), apply_one("Less", error, old_error))

    def iterate(i: Any, y: Any, old_y: Any, z: Any, error: Any, old_error: Any) -> Any:
        factor = 0.5 * (3.0 * identity - matmul(z, y))
        new_y = matmul(y, factor)
        root = new_y * apply_one("Sqrt", norm)
        return i + 1, new_y, y, matmul(factor, z), _norm(given - matmul(root, root)) / norm, error

    start = given / norm
    found = while_loop(goes_on, iterate, [0, start, start, identity, norm, norm + 1.0])
    return found[2] * apply_one("Sqrt", norm)


def inverse_pth_root(
    mat_g: Any,
    mat_g_size: int,
    alpha: float,
    iter_count: int = 100,
    epsilon: float = 1e-6,
    ridge_epsilon: float = 1e-6,
) -> Any:
    """mat_g to the power of alpha, by the coupled Newton iteration of Guo and Higham (2006).

    Args:
        mat_g: float32 [size, size].
        alpha: -1 / p, with p a whole number.
        iter_count: the most iterations.
        epsilon: the error of an element at which it ends.
        ridge_epsilon: added to the diagonal.

    Raises:
        ValueError: -1 / alpha is no positive whole number.
    """
    if mat_g_size == 1:
        return apply_one("Pow", mat_g + ridge_epsilon, alpha)
    order = -1.0 / alpha
    if order <= 0 or order != int(order):
        raise ValueError(f"-1 / alpha must be a positive whole number, not {order}")
    identity = eye(mat_g_size)
    damped = mat_g + ridge_epsilon * identity
    scale = (1 - 1 / alpha) / (2 * _norm(damped))

    def to_order(matrix: Any) -> Any:
        left, power = int(order), None
        while left:
            if left % 2:
                power = matrix if power is None else matmul(matrix, power)
            left //= 2
            if left:
                matrix = matmul(matrix, matrix)
        return power

    def goes_on(i: Any, m: Any, x: Any) -> Any:
        error = reduce_max(apply_one("Abs", m - identity))
        return apply_one("LogicalAnd", apply_one("Less", i, iter_count), apply_one("Greater", error, epsilon))

    def iterate(i: Any, m: Any, x: Any) -> Any:
        factor = (1 - alpha) * identity + alpha * m
        return i + 1, matmul(to_order(factor), m), matmul(x, factor)

    start = [0, damped * scale, identity * apply_one("Pow", scale, -alpha)]
    return while_loop(goes_on, iterate, start)[2]
