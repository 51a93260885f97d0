"""Operators of tridiagonal matrices."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import roll
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    shape,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part
from tensorfleet.ops.linalg.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from tensorfleet.ops.math.complex_numbers import conj


class LinearOperatorTridiag(LinearOperator):
    """Tridiagonal matrices (`tf.linalg.LinearOperatorTridiag`)."""

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        """Makes the operator.

        Args:
            diagonals: [..., 3, n] for "compact": superdiagonals, diagonals, subdiagonals; three tensors
                [..., n] for "sequence"; matrices [..., n, n] for "matrix".
            diagonals_format: which of these.
        """
        if diagonals_format not in ("compact", "matrix", "sequence"):
            raise ValueError(
                "Argument `diagonals_format` must be one of compact, matrix, or sequence. "
                f"Found : {diagonals_format}"
            )
        if is_square is False:
            raise ValueError("Only square tridiagonal operators currently supported.")
        with framework.name_scope(name):
            if diagonals_format == "sequence":
                self._given: Any = [convert_to_tensor(each) for each in diagonals]
                dtype = self._given[0].dtype
            else:
                self._given = convert_to_tensor(diagonals, name="diagonals")
                dtype = self._given.dtype
        self._format = diagonals_format
        super().__init__(
            dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"diagonals": diagonals},
        )

    @property
    def diagonals(self) -> Any:
        """The diagonals as they were given."""
        return self._given

    @property
    def diagonals_format(self) -> str:
        """The form of the diagonals."""
        return self._format

    def _rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """Superdiagonal, diagonal, subdiagonal, [..., n]: what lies outside of the matrix is arbitrary."""
        if self._format == "sequence":
            above, middle, below = self._given
            return above, middle, below
        if self._format == "compact":
            return self._given[..., 0, :], self._given[..., 1, :], self._given[..., 2, :]
        matrix = self._given
        return (
            _padded(matrix_diag_part(matrix, k=1), after=True),
            matrix_diag_part(matrix),
            _padded(matrix_diag_part(matrix, k=-1), after=False),
        )

    def _shape(self) -> TensorShape:
        if self._format == "matrix":
            own: TensorShape = self._given.shape
            return own
        if self._format == "compact":
            own = self._given.shape
            return own[:-2].concatenate([own[-1], own[-1]])
        whole = broadcast_static_shape(
            broadcast_static_shape(self._given[0].shape[:-1], self._given[1].shape[:-1]),
            self._given[2].shape[:-1],
        )
        size = self._given[1].shape[-1]
        return whole.concatenate([size, size])

    def _shape_tensor(self) -> Tensor:
        if self._format == "matrix":
            return shape(self._given)
        if self._format == "compact":
            sizes = shape(self._given)
            return concat([sizes[:-2], sizes[-1:], sizes[-1:]], 0)
        whole = broadcast_dynamic_shape(
            broadcast_dynamic_shape(shape(self._given[0]), shape(self._given[1])), shape(self._given[2])
        )
        return concat([whole, whole[-1:]], 0)

    def _compact(self, adjoint: bool) -> Tensor:
        above, middle, below = self._rows()
        whole = broadcast_dynamic_shape(broadcast_dynamic_shape(shape(above), shape(middle)), shape(below))
        above, middle, below = (broadcast_to(each, whole) for each in (above, middle, below))
        if adjoint:
            # The subdiagonal begins at the second row, the superdiagonal ends before the last.
            above, middle, below = conj(roll(below, -1, -1)), conj(middle), conj(roll(above, 1, -1))
        return apply_one("Pack", [above, middle, below], axis=-2)

    def _operands(self, x: Tensor, adjoint: bool) -> tuple[Tensor, Tensor]:
        diagonals = self._compact(adjoint)
        batch = broadcast_dynamic_shape(shape(diagonals)[:-2], shape(x)[:-2])
        return (
            broadcast_to(diagonals, concat([batch, shape(diagonals)[-2:]], 0)),
            broadcast_to(x, concat([batch, shape(x)[-2:]], 0)),
        )

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        diagonals, x = self._operands(adjointed(x, adjoint_arg), adjoint)
        return tridiagonal_matmul(diagonals, x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        diagonals, rhs = self._operands(adjointed(rhs, adjoint_arg), adjoint)
        return tridiagonal_solve(diagonals, rhs)

    def _diag_part(self) -> Tensor:
        return self._rows()[1]

    def _to_dense(self) -> Tensor:
        if self._format == "matrix":
            return self._given  # type: ignore[no-any-return]
        return super()._to_dense()


def _padded(x: Tensor, after: bool) -> Tensor:
    zero = zeros(concat([shape(x)[:-1], [1]], 0), x.dtype.base)
    return concat([x, zero] if after else [zero, x], -1)
