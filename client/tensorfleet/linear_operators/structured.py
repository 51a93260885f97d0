"""Operators of matrices with a structure: reflections, permutations, bands and updates of low rank."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, require_hints
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, range, zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import reverse
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    expand_dims,
    shape,
)
from tensorfleet.ops.array.sorting import argsort
from tensorfleet.ops.common import apply_one
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
