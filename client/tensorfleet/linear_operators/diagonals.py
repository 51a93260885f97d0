"""Operators by their diagonals: diagonal matrices, identities, multiples of these, and zeros."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, op_of, require_hints
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.linear_operators.matrices import non_zero
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.linalg.matrix_parts import matrix_diag, matrix_diag_part, matrix_set_diag
from tensorfleet.ops.math.complex_numbers import conj, real
from tensorfleet.ops.math.elementwise import abs, log, sqrt
from tensorfleet.ops.math.reduction import reduce_max, reduce_min, reduce_prod, reduce_sum


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices by their diagonals (`tf.linalg.LinearOperatorDiag`)."""

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        """Makes the operator of diagonals [..., n]."""
        with framework.name_scope(name, values=[diag]):
            self._diag = convert_to_tensor(diag, name="diag")
        if self._diag.ndim == 0:
            raise ValueError(f"Argument `diag` must have at least 1 dimension.  Found: {diag}")
        if not self._diag.dtype.base.is_complex:
            require_hints("A real diagonal", is_self_adjoint=is_self_adjoint)
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(
            self._diag.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"diag": diag},
        )

    @property
    def diag(self) -> Tensor:
        """The diagonals, [..., n]."""
        return self._diag

    def _shape(self) -> TensorShape:
        own = self._diag.shape
        return own.concatenate(own[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._diag)
        return concat([sizes, sizes[-1:]], 0)

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._column(adjoint) * adjointed(x, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return adjointed(rhs, adjoint_arg) / self._column(adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        total = reduce_sum(log(abs(self._diag)), axis=[-1])
        return cast(total, self.dtype) if self.dtype.is_complex else total

    def _diag_part(self) -> Tensor:
        return self._diag

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, matrix_diag_part(x) + self._diag)

    def _eigvals(self) -> Tensor:
        return self._diag

    def _cond(self) -> Tensor:
        sizes = abs(self._diag)
        return reduce_max(sizes, axis=-1) / reduce_min(sizes, axis=-1)

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(
            conj(self._diag), self.is_non_singular, None, self.is_positive_definite, True
        )

    def _inverse(self) -> LinearOperator:
        inverse = apply_one("Reciprocal", self._diag)
        return LinearOperatorDiag(inverse, True, self.is_self_adjoint, self.is_positive_definite, True)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(sqrt(self._diag), True, True, True, True)

    def _assert_non_singular(self) -> Operation:
        return non_zero(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        message = "Operator is not positive definite: its diagonal has values that are not positive."
        return op_of(checks.assert_positive(real(self._diag), message=message))

    def _assert_self_adjoint(self) -> Operation:
        imaginary = self._diag - conj(self._diag)
        return op_of(
            checks.assert_equal(imaginary, imaginary * 0, message="The diagonal has imaginary parts")
        )
