"""Systems of equations by conjugate gradients: `tf.linalg.experimental.conjugate_gradient`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import broadcast_dynamic_shape, broadcast_to, expand_dims, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.linalg.linalg import norm
from tensorfleet.ops.math.complex_numbers import conj
from tensorfleet.ops.math.reduction import reduce_any, reduce_sum


class CGState(NamedTuple):
    """Where the search ended.

    Attributes:
        i: the number of steps, int32.
        x: the solution, [..., n].
        r: the residual, [..., n].
        p: the last direction, [..., n].
        gamma: the square of the residual's norm, [...].
    """

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return reduce_sum(conj(a) * b, -1)


def conjugate_gradient(
    operator: LinearOperator,
    rhs: Any,
    preconditioner: LinearOperator | None = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solves A x = rhs, for an A that is self-adjoint and positive definite
    (`tf.linalg.experimental.conjugate_gradient`).

    Args:
        operator: A, [..., n, n], declared to be both.
        rhs: [..., n].
        preconditioner: an approximation of the inverse of A.
        x: the first guess, [..., n]; zeros by default.
        tol: the search ends when the norm of the residual is at most this part of that of rhs.
        max_iter: the most steps.

    Raises:
        ValueError: the operator is not declared self-adjoint and positive definite.
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    with name_scope(name):
        target = convert_to_tensor(rhs, operator.dtype, "rhs")
        batch = broadcast_dynamic_shape(shape(target)[:-1], operator.batch_shape_tensor())
        if preconditioner is not None:
            batch = broadcast_dynamic_shape(batch, preconditioner.batch_shape_tensor())
        full = concat([batch, shape(target)[-1:]], 0)
        residual = broadcast_to(target, full)
        limit = norm(residual, axis=-1) * tol
        if x is None:
            guess: Tensor = zeros(full, target.dtype.base)
        else:
            guess = broadcast_to(convert_to_tensor(x, target.dtype.base, "x"), full)
            residual = residual - operator.matvec(guess)

        def preconditioned(r: Tensor) -> Tensor:
            return r if preconditioner is None else preconditioner.matvec(r)

        def goes_on(state: CGState) -> Tensor:
            is_far = reduce_any(apply_one("Greater", norm(state.r, axis=-1), limit))
            return apply_one("LogicalAnd", apply_one("Less", state.i, max_iter), is_far)

        def step(state: CGState) -> list[CGState]:
            image = operator.matvec(state.p)
            length = expand_dims(state.gamma / _dot(state.p, image), -1)
            r = state.r - length * image
            q = preconditioned(r)
            gamma = _dot(r, q)
            p = q + expand_dims(gamma / state.gamma, -1) * state.p
            return [CGState(state.i + 1, state.x + length * state.p, r, p, gamma)]

        direction = preconditioned(residual)
        first = CGState(constant(0), guess, residual, direction, _dot(residual, direction))
        found = while_loop(goes_on, step, [first])
        state: CGState = found[0] if isinstance(found, list) else found
        return state
