"""Operators that are matrices: full and lower triangular ones."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, product_of, serve
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.linalg import linalg
from tensorfleet.ops.linalg.matrix_parts import matrix_band_part, matrix_diag_part
from tensorfleet.ops.math.elementwise import abs, log
from tensorfleet.ops.math.reduction import reduce_prod, reduce_sum


class LinearOperatorFullMatrix(LinearOperator):
    """An operator that is a tensor of matrices (`tf.linalg.LinearOperatorFullMatrix`)."""

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        """Makes the operator of matrices [..., m, n]; see LinearOperator for the hints."""
        with framework.name_scope(name, values=[matrix]):
            self._matrix = convert_to_tensor(matrix, name="matrix")
        _at_least(self._matrix, 2, "matrix")
        super().__init__(
            self._matrix.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            {"matrix": matrix},
        )

    @property
    def matrix(self) -> Tensor:
        """The matrices."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return product_of(self._matrix, x, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """An operator that is the lower triangle of matrices (`tf.linalg.LinearOperatorLowerTriangular`)."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        """Makes the operator of matrices [..., n, n], of which what lies above the diagonal is not used."""
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with framework.name_scope(name, values=[tril]):
            self._given = convert_to_tensor(tril, name="tril")
            _at_least(self._given, 2, "tril")
            self._tril = matrix_band_part(self._given, -1, 0)
            self._diagonal = matrix_diag_part(self._given)
        super().__init__(
            self._tril.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"tril": tril},
        )

    @property
    def tril(self) -> Tensor:
        """The matrices as they were given."""
        return self._given

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return product_of(self._tril, x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = adjointed(rhs, adjoint_arg)
        return linalg.triangular_solve(self._tril, right, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diagonal, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(abs(self._diagonal)), axis=[-1])

    def _diag_part(self) -> Tensor:
        return self._diagonal

    def _to_dense(self) -> Tensor:
        return self._tril

    def _eigvals(self) -> Tensor:
        return self._diagonal

    def _assert_non_singular(self) -> Operation:
        return non_zero(self._diagonal, "Singular operator:  Diagonal contained zero values.")


def _at_least(tensor: Tensor, rank: int, name: str) -> None:
    if tensor.ndim is not None and tensor.ndim < rank:
        raise ValueError(f"Argument `{name}` must have at least {rank} dimensions. Found: {tensor}")


def non_zero(values: Tensor, message: str) -> Operation:
    """An operation that fails the step where one of the values is zero."""
    check = checks.assert_positive(abs(values), message=message)
    return check.op if isinstance(check, Tensor) else check


serve(triangular=LinearOperatorLowerTriangular)
