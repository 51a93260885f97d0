"""Operators with an update of low rank."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.linear_operators.batches import adjointed, solve_dense
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag
from tensorfleet.linear_operators.identities import LinearOperatorIdentity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    shape,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg import linalg
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum


class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U · D · Vᴴ with a diagonal D, U and V of few columns (`tf.linalg.LinearOperatorLowRankUpdate`)."""

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        """Makes the operator.

        Args:
            base_operator: L.
            u: [..., m, k].
            diag_update: the diagonal of D, [..., k]; the identity by default.
            v: [..., n, k]; u by default.
            is_diag_update_positive: whether D is known to be positive.
        """
        dtype = base_operator.dtype
        with framework.name_scope(name):
            self._base = base_operator
            self._u = convert_to_tensor(u, dtype, "u")
            self._v = self._u if v is None else convert_to_tensor(v, dtype, "v")
            if diag_update is None:
                is_diag_update_positive = True
                self._diag_update: Tensor | None = None
                sizes = shape(self._u)
                self._update: LinearOperator = LinearOperatorIdentity(
                    sizes[-1] if self._u.dims is None or self._u.dims[-1] is None else self._u.dims[-1],
                    dtype=dtype,
                )
            else:
                self._diag_update = convert_to_tensor(diag_update, dtype, "diag_update")
                self._update = LinearOperatorDiag(
                    self._diag_update, is_positive_definite=is_diag_update_positive
                )
        self._is_positive = is_diag_update_positive
        symmetric = v is None
        if symmetric and base_operator.is_self_adjoint and not dtype.is_complex:
            is_self_adjoint = True
            if base_operator.is_positive_definite and is_diag_update_positive:
                is_positive_definite = True
        super().__init__(
            dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            {"base_operator": base_operator, "u": u, "diag_update": diag_update, "v": v},
        )

    @property
    def base_operator(self) -> LinearOperator:
        """The L of L + U · D · Vᴴ."""
        return self._base

    @property
    def u(self) -> Tensor:
        """The U of L + U · D · Vᴴ."""
        return self._u

    @property
    def v(self) -> Tensor:
        """The V of L + U · D · Vᴴ."""
        return self._v

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of D, or None for the identity."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """D as an operator."""
        return self._update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is known to be positive."""
        return self._is_positive

    def _shape(self) -> TensorShape:
        batch = broadcast_static_shape(self._base.batch_shape, self._u.shape[:-2])
        batch = broadcast_static_shape(batch, self._v.shape[:-2])
        batch = broadcast_static_shape(batch, self._update.batch_shape)
        return batch.concatenate(self._base.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        batch = broadcast_dynamic_shape(self._base._batch_vector(), shape(self._u)[:-2])
        batch = broadcast_dynamic_shape(batch, shape(self._v)[:-2])
        batch = broadcast_dynamic_shape(batch, self._update._batch_vector())
        return concat([batch, self._base.shape_tensor()[-2:]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjointed(x, adjoint_arg)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = self._update._matmul(matmul(right, x, adjoint_a=True), adjoint)
        return self._base._matmul(x, adjoint) + matmul(left, inner)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # By the Woodbury identity: only a matrix of the size of D is solved for beside L.
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        of_base = self._base._solve(adjointed(rhs, adjoint_arg), adjoint)
        small = adjointed(self._capacitance(), adjoint)
        inner = solve_dense(small, matmul(right, of_base, adjoint_a=True))
        return of_base - self._base._solve(matmul(left, inner), adjoint)

    def _capacitance(self) -> Tensor:
        """D⁻¹ + Vᴴ · L⁻¹ · U."""
        product = matmul(self._v, self._base._solve(self._u), adjoint_a=True)
        return self._update.inverse().add_to_tensor(product)

    def _determinant(self) -> Tensor:
        return linalg.det(self._capacitance()) * self._update._determinant() * self._base._determinant()

    def _log_abs_determinant(self) -> Tensor:
        small = linalg.slogdet(self._capacitance())[1]
        return small + self._update._log_abs_determinant() + self._base._log_abs_determinant()  # type: ignore[no-any-return]

    def _diag_part(self) -> Tensor:
        scaled = self._update._matmul(adjointed(self._v, True))
        return self._base._diag_part() + reduce_sum(
            self._u * apply_one("Conj", adjointed(scaled, True))
            if (self.dtype.is_complex)
            else self._u * adjointed(scaled, True),
            axis=-1,
        )
