"""The versions of tf's functions for LinearOperators; importing the module registers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.dispatch import register_version
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.ops.linalg import linalg, matrix_parts
from tensorfleet.ops.math import matmul as products


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    scope = name or "matmul"
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint_a, adjoint_b, scope)
    # A tensor times an operator: the adjoint of the operator's adjoint times the tensor's.
    return linalg.adjoint(b.matmul(a, not adjoint_b, not adjoint_a, scope))


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not isinstance(matrix, LinearOperator):
        text = "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported."
        raise ValueError(text)
    return matrix.solve(rhs, adjoint, name=name or "solve")


def _inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    inverse = input.inverse(name or "inverse")
    return inverse.adjoint() if adjoint else inverse


def _log_determinant(matrix: Any, name: str | None = None) -> Any:
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        raise ValueError("Expected matrix to be self-adjoint positive definite.")
    return matrix.log_abs_determinant(name or "log_abs_det")


def _diagonal(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    return input.diag_part(name)


def _register() -> None:
    versions: dict[Callable[..., Any], Callable[..., Any]] = {
        products.matmul: _matmul,
        linalg.matrix_solve: _solve,
        linalg.matrix_inverse: _inverse,
        linalg.logdet: _log_determinant,
        linalg.adjoint: lambda matrix, name=None: matrix.adjoint(name or "adjoint"),
        linalg.cholesky: lambda input, name=None: input.cholesky(name or "cholesky"),
        linalg.matrix_determinant: lambda input, name=None: input.determinant(name or "det"),
        matrix_parts.trace: lambda x, name=None: x.trace(name or "trace"),
        matrix_parts.matrix_diag_part: _diagonal,
    }
    for function, version in versions.items():
        register_version(function, LinearOperator, version)


_register()
