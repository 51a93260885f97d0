"""Iterative solutions of linear equations, by operators (`tf.contrib.solvers`).

An operator has `shape`, `dtype` and `apply`, a function of columns `[n, 1]`, and for least squares
`apply_adjoint`; see `create_operator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.ops.array.constants import ones_like, zeros, zeros_like
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import expand_dims, shape, squeeze
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.math.comparison import greater, less, logical_and
from tensorfleet.ops.math.complex_numbers import conj, real
from tensorfleet.ops.math.elementwise import sqrt
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum


class Operator(NamedTuple):
    """A matrix by what it does to columns."""

    shape: Any
    dtype: Any
    apply: Callable[[Any], Any]
    apply_adjoint: Callable[[Any], Any]


class SolverState(NamedTuple):
    """Where a solver is: the number of its steps, the solution, the residual, the direction of the next step,
    and the squared norm of the residual as the solver measures it."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


def _sizes(matrix: Any) -> Any:
    return matrix.shape.as_list() if matrix.shape.is_fully_defined() else shape(matrix)


def create_operator(matrix: Any) -> Operator:
    """The operator of a matrix (`tf.contrib.solvers.util.create_operator`)."""
    matrix = convert_to_tensor(matrix, name="A")
    return Operator(
        _sizes(matrix),
        matrix.dtype,
        lambda v: matmul(matrix, v),
        lambda v: matmul(matrix, v, adjoint_a=True),
    )


def identity_operator(matrix: Any) -> Operator:
    """The identity of a matrix's shape (`tf.contrib.solvers.util.identity_operator`)."""
    matrix = convert_to_tensor(matrix, name="A")
    return Operator(_sizes(matrix), matrix.dtype, lambda v: v, lambda v: v)


def dot(x: Any, y: Any) -> Any:
    """The sum of conj(x) · y."""
    return reduce_sum(conj(x) * y)


def l2norm_squared(v: Any) -> Any:
    """The squared norm, of the dtype of `v`."""
    return dot(v, v)


def l2norm(v: Any) -> Any:
    """The norm, of the dtype of `v`."""
    return sqrt(l2norm_squared(v))


def l2normalize(v: Any) -> tuple[Any, Any]:
    """The vector divided by its norm, 0 if it is 0, and the norm."""
    v = convert_to_tensor(v)
    norm = l2norm(v)
    is_positive = greater(real(norm), 0)
    return where_v2(is_positive, v / where_v2(is_positive, norm, ones_like(norm)), zeros_like(v)), norm


def _solved(
    name: str,
    operator: Any,
    start: Callable[[Any, Any], tuple[SolverState, Any]],
    step: Callable[[SolverState], SolverState],
    size_of: Callable[[SolverState], Any],
    rhs: Any,
    x: Any,
    max_iter: int,
) -> SolverState:
    """Runs the steps of a solver until what `size_of` measures is below a limit, or they are too many."""
    with name_scope(name):
        rhs = expand_dims(rhs, -1)
        x = zeros([operator.shape[1], 1], rhs.dtype.base_dtype) if x is None else expand_dims(x, -1)
        begin, limit = start(rhs, x)
        found = while_loop(
            lambda *state: logical_and(
                less(state[0], max_iter), greater(real(size_of(SolverState(*state))), real(limit))
            ),
            lambda *state: tuple(step(SolverState(*state))),
            tuple(begin),
        )
        i, x, r, p, gamma = found
        return SolverState(i, squeeze(x, [-1]), squeeze(r, [-1]), squeeze(p, [-1]), gamma)


def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: Any = 1e-4,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> SolverState:
    """The solution of A · x = rhs for a selfadjoint, positive definite matrix
    (`tf.contrib.solvers.linear_equations.conjugate_gradient`).

    Args:
        operator: of A.
        rhs: `[n]`.
        preconditioner: an operator that is about the inverse of A.
        x: `[n]`, where to begin; 0 by default.
        tol: by which factor the residual's norm is to shrink.
        max_iter: the limit of the number of steps.
    """

    def towards(r: Any) -> Any:
        return r if preconditioner is None else preconditioner.apply(r)

    def start(rhs: Any, x: Any) -> tuple[SolverState, Any]:
        r = rhs - operator.apply(x)
        p = towards(r)
        return SolverState(constant(0, dtypes.int32), x, r, p, dot(r, p)), tol * l2norm(r)

    def step(state: SolverState) -> SolverState:
        z = operator.apply(state.p)
        alpha = state.gamma / dot(state.p, z)
        r = state.r - alpha * z
        q = towards(r)
        gamma = dot(r, q)
        direction = q + gamma / state.gamma * state.p
        return SolverState(state.i + 1, state.x + alpha * state.p, r, direction, gamma)

    return _solved(name, operator, start, step, lambda state: l2norm(state.r), rhs, x, max_iter)


def cgls(operator: Any, rhs: Any, tol: Any = 1e-6, max_iter: int = 20, name: str = "cgls") -> SolverState:
    """The x with the least |A · x - rhs| (`tf.contrib.solvers.least_squares.cgls`).

    Args:
        operator: of A, with its adjoint.
        rhs: `[m]`.
        tol: by which factor the norm of the adjoint of the residual is to shrink.
        max_iter: the limit of the number of steps.
    """

    def start(rhs: Any, x: Any) -> tuple[SolverState, Any]:
        s = operator.apply_adjoint(rhs)
        gamma = l2norm_squared(s)
        return SolverState(constant(0, dtypes.int32), x, rhs, s, gamma), tol * tol * gamma

    def step(state: SolverState) -> SolverState:
        q = operator.apply(state.p)
        alpha = state.gamma / l2norm_squared(q)
        r = state.r - alpha * q
        s = operator.apply_adjoint(r)
        gamma = l2norm_squared(s)
        direction = s + gamma / state.gamma * state.p
        return SolverState(state.i + 1, state.x + alpha * state.p, r, direction, gamma)

    return _solved(name, operator, start, step, lambda state: state.gamma, rhs, None, max_iter)
