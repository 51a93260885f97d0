"""Operators of identity matrices, scaled ones, and zeros."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, op_of, require_hints
from tensorfleet.linear_operators.batches import adjointed, constant_vector
from tensorfleet.linear_operators.matrices import non_zero
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import broadcast_dynamic_shape, broadcast_static_shape, expand_dims, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part, matrix_set_diag
from tensorfleet.ops.math.complex_numbers import conj, real
from tensorfleet.ops.math.elementwise import abs, log, sqrt


class _Sized(LinearOperator):
    """What identities and zeros share: the numbers of rows and columns, and the shape of the batch."""

    def _set_sizes(self, rows: Any, columns: Any, batch: Any, name: str) -> None:
        with framework.name_scope(name):
            self._rows = _size(rows, "num_rows")
            self._columns = self._rows if columns is None else _size(columns, "num_columns")
            self._batch = None if batch is None else _integers(batch, "batch_shape")
            if self._batch is not None and self._batch.ndim not in (None, 1):
                raise ValueError("Argument `batch_shape` must be a 1-D Tensor.")

    def _shape(self) -> TensorShape:
        batch = TensorShape([]) if self._batch is None else TensorShape(static_dims(self._batch))
        return batch.concatenate([_static(self._rows), _static(self._columns)])

    def _shape_tensor(self) -> Tensor:
        matrix = apply_one("Pack", [self._rows, self._columns])
        return matrix if self._batch is None else concat([self._batch, matrix], 0)

    def _broadcast(self, x: Tensor) -> Tensor:
        """`x`, repeated for the batch."""
        if self._batch is None:
            return x
        batch = concat([self._batch_vector(), constant_vector([1, 1])], 0)
        return x + zeros(batch, x.dtype.base)


def _integers(value: Any, name: str) -> Tensor:
    tensor = convert_to_tensor(value, name=name, dtype_hint=dtypes.int32)
    if not tensor.dtype.base.is_integer:
        raise TypeError(f"Argument `{name}` must be integer dtype. Found: {value}")
    return cast(tensor, dtypes.int32)


def _size(value: Any, name: str) -> Tensor:
    tensor = _integers(value, name)
    if tensor.ndim not in (None, 0):
        raise ValueError(f"Argument `{name}` must be a 0-D Tensor. Found: {value}")
    known = static_value(tensor)
    if known is not None and known < 0:
        raise ValueError(f"Argument `{name}` must be non-negative. Found: {value}")
    return tensor


def _static(tensor: Tensor) -> int | None:
    value = static_value(tensor)
    return None if value is None else int(value)


class LinearOperatorIdentity(_Sized):
    """The identity, in batches where a batch shape is given (`tf.linalg.LinearOperatorIdentity`)."""

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        """Makes the operator; float32 by default."""
        _all_true(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._set_sizes(num_rows, None, batch_shape, name)
        kind = dtypes.as_dtype(dtype or dtypes.float32)
        super().__init__(kind, None, True, True, True, True, name, {"num_rows": num_rows})

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._broadcast(adjointed(x, adjoint_arg))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return ones(self._batch_vector(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_vector(), self.dtype)

    def _diag_part(self) -> Tensor:
        return (
            ones(self._shape_tensor()[:-1], self.dtype)
            if self._batch is not None
            else ones(apply_one("Pack", [self._rows]), self.dtype)
        )

    def _trace(self) -> Tensor:
        return cast(self._rows, self.dtype) * ones(self._batch_vector(), self.dtype)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, matrix_diag_part(x) + 1)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _cond(self) -> Tensor:
        return ones(self._batch_vector(), self.dtype)

    def _inverse(self) -> LinearOperator:
        return self

    def _cholesky(self) -> LinearOperator:
        return self

    def _assert_non_singular(self) -> Operation:
        return _nothing()

    _assert_positive_definite = _assert_self_adjoint = _assert_non_singular


def _nothing() -> Operation:
    return apply_none("NoOp")


def _all_true(non_singular: Any, self_adjoint: Any, positive_definite: Any, square: Any) -> None:
    require_hints(
        "An identity",
        is_self_adjoint=self_adjoint,
        is_non_singular=non_singular,
        is_positive_definite=positive_definite,
        is_square=square,
    )


class LinearOperatorScaledIdentity(_Sized):
    """Multiples of the identity (`tf.linalg.LinearOperatorScaledIdentity`)."""

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        """Makes the operator of multipliers of the batch's shape."""
        self._set_sizes(num_rows, None, None, name)
        with framework.name_scope(name, values=[multiplier]):
            self._multiplier = convert_to_tensor(multiplier, name="multiplier")
        if not self._multiplier.dtype.base.is_complex:
            require_hints("A real diagonal", is_self_adjoint=is_self_adjoint)
            is_self_adjoint = True
        require_hints("A ScaledIdentity", is_square=is_square)
        super().__init__(
            self._multiplier.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"num_rows": num_rows, "multiplier": multiplier},
        )

    @property
    def multiplier(self) -> Tensor:
        """The multipliers, of the batch's shape."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        size = _static(self._rows)
        return self._multiplier.shape.concatenate([size, size])

    def _shape_tensor(self) -> Tensor:
        return concat([shape(self._multiplier), apply_one("Pack", [self._rows, self._rows])], 0)

    def _of_matrices(self, adjoint: bool) -> Tensor:
        scale = conj(self._multiplier) if adjoint else self._multiplier
        return expand_dims(expand_dims(scale, -1), -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return adjointed(x, adjoint_arg) * self._of_matrices(adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return adjointed(rhs, adjoint_arg) / self._of_matrices(adjoint)

    def _determinant(self) -> Tensor:
        return self._multiplier ** cast(self._rows, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(self._rows, self.dtype.real_dtype) * log(abs(self._multiplier))

    def _diag_part(self) -> Tensor:
        column = expand_dims(self._multiplier, -1)
        return column * ones(concat([shape(self._multiplier), self._rows[None]], 0), self.dtype)

    def _trace(self) -> Tensor:
        return cast(self._rows, self.dtype) * self._multiplier

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        whole = broadcast_dynamic_shape(shape(x), self._shape_tensor())
        x = apply_one("BroadcastTo", x, whole)
        return matrix_set_diag(x, matrix_diag_part(x) + expand_dims(self._multiplier, -1))

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _cond(self) -> Tensor:
        return ones(shape(self._multiplier), self.dtype)

    def _adjoint(self) -> LinearOperator:
        return self._like(conj(self._multiplier))

    def _inverse(self) -> LinearOperator:
        return self._like(1.0 / self._multiplier)

    def _cholesky(self) -> LinearOperator:
        return self._like(sqrt(self._multiplier))

    def _like(self, multiplier: Tensor) -> LinearOperator:
        return LinearOperatorScaledIdentity(
            self._rows, multiplier, self.is_non_singular, None, self.is_positive_definite
        )

    def _assert_non_singular(self) -> Operation:
        return non_zero(self._multiplier, "LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        message = "LinearOperator was not positive definite."
        return op_of(checks.assert_positive(real(self._multiplier), message=message))

    def _assert_self_adjoint(self) -> Operation:
        off = self._multiplier - conj(self._multiplier)
        return op_of(checks.assert_equal(off, off * 0, message="LinearOperator was not self-adjoint"))


class LinearOperatorZeros(_Sized):
    """Matrices of zeros (`tf.linalg.LinearOperatorZeros`)."""

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        """Makes the operator; square unless `num_columns` says else."""
        if is_self_adjoint is False and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        self._set_sizes(num_rows, num_columns, batch_shape, name)
        kind = dtypes.as_dtype(dtype or dtypes.float32)
        rows, columns = _static(self._rows), _static(self._columns)
        if is_square and rows != columns:
            raise ValueError(
                "LinearOperatorZeros initialized as is_square=True, but got num_rows != num_columns"
            )
        super().__init__(kind, None, False, is_self_adjoint, False, is_square, name, {"num_rows": num_rows})

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjointed(x, adjoint_arg)
        sizes = shape(x)
        batch = broadcast_dynamic_shape(sizes[:-2], self._batch_vector())
        rows = self._columns if adjoint else self._rows
        result = zeros(concat([batch, rows[None], sizes[-1:]], 0), self.dtype)
        if x.dims is not None:
            outer = broadcast_static_shape(TensorShape(x.dims[:-2]), self.batch_shape)
            result.set_shape(outer.concatenate([_static(rows), x.dims[-1]]))
        return result

    def _determinant(self) -> Tensor:
        return zeros(self._batch_vector(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch_vector(), self.dtype) - float("inf")

    def _trace(self) -> Tensor:
        return zeros(self._batch_vector(), self.dtype)

    def _diag_part(self) -> Tensor:
        least = apply_one("Minimum", self._rows, self._columns)
        return zeros(concat([self._batch_vector(), least[None]], 0), self.dtype)

    def _to_dense(self) -> Tensor:
        return zeros(self.shape_tensor(), self.dtype)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._broadcast(x)

    def _eigvals(self) -> Tensor:
        return self._diag_part()

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorZeros(
            self._columns, self._rows, self._batch, self.dtype, is_self_adjoint=None, is_square=self.is_square
        )

    def _assert_non_singular(self) -> Operation:
        raise ValueError("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise ValueError("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return _nothing()
