"""Operators of matrices with a structure: reflections, permutations, bands and updates of low rank."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, require_hints
from tensorfleet.linear_operators.batches import adjointed, solve_dense
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag, LinearOperatorIdentity
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, range, zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import reverse, roll
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    expand_dims,
    shape,
)
from tensorfleet.ops.array.sorting import argsort
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg import linalg
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part
from tensorfleet.ops.linalg.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from tensorfleet.ops.math.complex_numbers import conj
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum


class _Square(LinearOperator):
    """Square operators made of one tensor [..., n]."""

    _tensor: Tensor

    def _shape(self) -> TensorShape:
        own = self._tensor.shape
        return own.concatenate(own[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._tensor)
        return concat([sizes, sizes[-1:]], 0)


class LinearOperatorHouseholder(_Square):
    """Reflections in the hyperplanes that are normal to vectors (`tf.linalg.LinearOperatorHouseholder`)."""

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        """Makes the operator of vectors [..., n]."""
        require_hints(
            "A Householder",
            is_self_adjoint=is_self_adjoint,
            is_non_singular=is_non_singular,
            is_square=is_square,
        )
        with framework.name_scope(name, values=[reflection_axis]):
            self._tensor = convert_to_tensor(reflection_axis, name="reflection_axis")
        super().__init__(
            self._tensor.dtype,
            None,
            is_non_singular,
            True,
            False,
            True,
            name,
            {"reflection_axis": reflection_axis},
        )

    @property
    def reflection_axis(self) -> Tensor:
        """The vectors, [..., n]."""
        return self._tensor

    def _unit(self) -> Tensor:
        axis = self._tensor
        size = reduce_sum(axis * conj(axis), axis=-1, keepdims=True)
        return expand_dims(axis / apply_one("Sqrt", size), -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjointed(x, adjoint_arg)
        unit = self._unit()
        return x - 2 * unit * matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return -ones(self._batch_vector(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_vector(), self.dtype)

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor(), self.dtype) - 2 * ones(self._batch_vector(), self.dtype)

    def _cond(self) -> Tensor:
        return ones(self._batch_vector(), self.dtype)

    def _inverse(self) -> LinearOperator:
        return self


class LinearOperatorPermutation(_Square):
    """Permutations of rows (`tf.linalg.LinearOperatorPermutation`)."""

    def __init__(
        self,
        perm: Any,
        dtype: Any = dtypes.float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        """Makes the operator of permutations [..., n], integers: row i of a product is row `perm[i]`."""
        require_hints("A Permutation", is_non_singular=is_non_singular, is_square=is_square)
        with framework.name_scope(name, values=[perm]):
            self._tensor = convert_to_tensor(perm, name="perm")
        if not self._tensor.dtype.base.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Found: {perm}")
        if self._tensor.ndim == 0:
            raise ValueError(f"Argument `perm` must have at least 1 dimension. Found: {perm}")
        super().__init__(
            dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"perm": perm, "dtype": dtype},
        )

    @property
    def perm(self) -> Tensor:
        """The permutations, [..., n]."""
        return self._tensor

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        perm = argsort(self._tensor, axis=-1) if adjoint else self._tensor
        x = adjointed(x, adjoint_arg)
        batch = broadcast_dynamic_shape(shape(x)[:-2], shape(perm)[:-1])
        perm = broadcast_to(perm, concat([batch, shape(perm)[-1:]], 0))
        x = broadcast_to(x, concat([batch, shape(x)[-2:]], 0))
        flat = apply_one("Reshape", x, concat([[-1], shape(x)[-1:]], 0))
        size = shape(perm)[-1]
        many = apply_one("Prod", batch, [0])
        offsets = expand_dims(range(many) * size, -1)
        places = apply_one("Reshape", cast(perm, dtypes.int32), concat([many[None], size[None]], 0)) + offsets
        result = apply_one("Reshape", apply_one("GatherV2", flat, places, 0), shape(x))
        if x.dims is not None:
            result.set_shape(x.shape)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_vector(), self.dtype)

    def _to_dense(self) -> Tensor:
        size = self.domain_dimension_tensor()
        columns = cast(range(size), self._tensor.dtype.base)
        return cast(apply_one("Equal", expand_dims(self._tensor, -1), columns), self.dtype)

    def _cond(self) -> Tensor:
        return ones(self._batch_vector(), self.dtype)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices whose diagonals are constant (`tf.linalg.LinearOperatorToeplitz`)."""

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        """Makes the operator of first columns and first rows, [..., n]; the corner is the column's."""
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        with framework.name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
        if self._row.dtype.base is not self._col.dtype.base:
            raise TypeError("Argument `col` and `row` must have the same dtype.")
        super().__init__(
            self._row.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"col": col, "row": row},
        )

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _shape(self) -> TensorShape:
        whole = broadcast_static_shape(self._row.shape, self._col.shape)
        return whole.concatenate(whole[-1:])

    def _shape_tensor(self) -> Tensor:
        whole = broadcast_dynamic_shape(shape(self._row), shape(self._col))
        return concat([whole, whole[-1:]], 0)

    def _to_dense(self) -> Tensor:
        whole = self._shape_tensor()[:-1]
        row, col = broadcast_to(self._row, whole), broadcast_to(self._col, whole)
        # From the last of the row backwards to the corner, and down the column.
        line = concat([reverse(row[..., 1:], axis=[-1]), col], -1)
        size = self.domain_dimension_tensor()
        numbers = range(size)
        places = expand_dims(numbers, -1) - numbers + (size - 1)
        result = apply_one("GatherV2", line, places, -1)
        result.set_shape(self.shape)
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _diag_part(self) -> Tensor:
        whole = self._shape_tensor()[:-1]
        return broadcast_to(self._col[..., :1], whole)

    def _trace(self) -> Tensor:
        return reduce_sum(self._diag_part(), axis=-1)


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
