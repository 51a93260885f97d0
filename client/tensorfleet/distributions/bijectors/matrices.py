"""Bijectors to and of triangular matrices, and of vectors in order."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.bijectors.base import Bijector
from tensorfleet.distributions.bijectors.composed import Chain
from tensorfleet.distributions.bijectors.numbers import AffineScalar, Softplus
from tensorfleet.distributions.triangles import fill_triangular, fill_triangular_inverse, triangle_size
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import eye, range as number_range, zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.linalg.linalg import cholesky, matrix_triangular_solve
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part, matrix_set_diag
from tensorfleet.ops.math.elementwise import abs, exp, log
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.scan import cumsum


class FillTriangular(Bijector):
    """A vector as a triangular matrix, filled clockwise (`bijectors.FillTriangular`).

    Args:
        upper: whether the matrix is upper triangular.
    """

    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        self._upper = upper
        super().__init__(
            is_constant_jacobian=True,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            name=name,
        )

    def _forward(self, x: Tensor) -> Tensor:
        return fill_triangular(x, self._upper)

    def _inverse(self, y: Tensor) -> Tensor:
        return fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return zeros(shape(x)[:-1], x.dtype)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return zeros(shape(y)[:-2], y.dtype)

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        *first, last = input_shape.as_list()
        size = None if last is None else triangle_size(last)
        return TensorShape([*first, size, size])

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        *first, rows, columns = output_shape.as_list()
        if rows != columns:
            raise ValueError(f"Matrix must be square, not {rows} x {columns}.")
        return TensorShape([*first, None if rows is None else rows * (rows + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        count = cast(input_shape[-1:], "float64")
        size = cast((-1.0 + (1.0 + 8.0 * count) ** 0.5) / 2.0 + 0.5, "int32")
        return concat([input_shape[:-1], size, size], 0)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        size = output_shape[-1:]
        return concat([output_shape[:-2], size * (size + 1) // 2], 0)


class CholeskyOuterProduct(Bijector):
    """x @ x^T, for a lower triangular matrix with a positive diagonal (`bijectors.CholeskyOuterProduct`)."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=2, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return matmul(x, x, transpose_b=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return cholesky(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        # The element of row i is a product of as many others as rows follow, and of itself.
        diagonal = matrix_diag_part(x)
        size = shape(diagonal)[-1]
        powers = cast(size - number_range(size), x.dtype)
        return math.log(2.0) * cast(size, x.dtype) + reduce_sum(powers * log(diagonal), -1)


class MatrixInverseTriL(Bijector):
    """The inverse of a lower triangular matrix (`bijectors.MatrixInverseTriL`)."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=2, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        size = shape(x)[-1]
        identity = eye(size, batch_shape=shape(x)[:-2], dtype=x.dtype)
        found = matrix_triangular_solve(x, identity)
        found.set_shape(x.shape)
        return found

    def _inverse(self, y: Tensor) -> Tensor:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        size = cast(shape(x)[-1] + 1, x.dtype)
        return -size * reduce_sum(log(abs(matrix_diag_part(x))), -1)


class TransformDiagonal(Bijector):
    """A bijector of the diagonals of matrices (`bijectors.TransformDiagonal`).

    Args:
        diag_bijector: of numbers, or of vectors.
    """

    def __init__(
        self, diag_bijector: Bijector, validate_args: bool = False, name: str = "transform_diagonal"
    ) -> None:
        self._diag_bijector = diag_bijector
        super().__init__(
            is_constant_jacobian=diag_bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=diag_bijector.dtype,
            forward_min_event_ndims=2,
            name=name,
        )

    def _forward(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, self._diag_bijector.forward(matrix_diag_part(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        return matrix_set_diag(y, self._diag_bijector.inverse(matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return self._diag_bijector.forward_log_det_jacobian(matrix_diag_part(x), 1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return self._diag_bijector.inverse_log_det_jacobian(matrix_diag_part(y), 1)


class ScaleTriL(Chain):
    """A vector as a lower triangular matrix with a positive diagonal (`bijectors.ScaleTriL`).

    Args:
        diag_bijector: of the diagonal, `Softplus` by default.
        diag_shift: added to the diagonal then; None for nothing.
    """

    def __init__(
        self,
        diag_bijector: Bijector | None = None,
        diag_shift: Any = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        diagonal: Bijector = Softplus(validate_args=validate_args) if diag_bijector is None else diag_bijector
        if diag_shift is not None:
            diagonal = Chain([AffineScalar(shift=diag_shift), diagonal])
        parts = [TransformDiagonal(diagonal), FillTriangular(validate_args=validate_args)]
        super().__init__(parts, validate_args=validate_args, name=name)


class Ordered(Bijector):
    """The differences of an increasing vector: its first element, and the logarithms of by how much each
    next one is greater (`bijectors.Ordered`)."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=1, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return concat([x[..., :1], log(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return cumsum(concat([y[..., :1], exp(y[..., 1:])], -1), -1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return reduce_sum(y[..., 1:], -1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -reduce_sum(log(x[..., 1:] - x[..., :-1]), -1)
