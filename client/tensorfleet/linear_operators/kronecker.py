"""Kronecker products of linear operators."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.linear_operators.parts import all_or_none, batch_of, batch_tensor, checked, first_known
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    reshape,
    shape,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import add


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators (`tf.linalg.LinearOperatorKronecker`)."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Makes the product of operators, the first has the largest blocks."""
        self._operators = checked(operators)
        found = self._operators
        super().__init__(
            found[0].dtype,
            None,
            first_known(is_non_singular, all_or_none([each.is_non_singular for each in found])),
            first_known(is_self_adjoint, all_or_none([each.is_self_adjoint for each in found])),
            first_known(is_positive_definite, all_or_none([each.is_positive_definite for each in found])),
            first_known(is_square, all_or_none([each.is_square for each in found])),
            name or "_x_".join(each.name for each in found),
            {"operators": operators},
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> TensorShape:
        rows, columns = (
            functools.reduce(lambda a, b: a * b, (each.shape[place] for each in self._operators))
            for place in (-2, -1)
        )
        return batch_of(self._operators).concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        sizes = [each.shape_tensor()[-2:] for each in self._operators]
        return concat([batch_tensor(self._operators), functools.reduce(lambda a, b: a * b, sizes)], 0)

    def _applied(self, x: Tensor, adjoint: bool, solve: bool) -> Tensor:
        """[batch, rows · columns]: each factor acts on the dimension of `x` that belongs to it."""
        batch = broadcast_dynamic_shape(shape(x)[:-2], self._batch_vector())
        sizes = [
            each.range_dimension_tensor() if adjoint != solve else each.domain_dimension_tensor()
            for each in self._operators
        ]
        total = broadcast_to(x, concat([batch, shape(x)[-2:]], 0))
        # What stands right of the factor's dimension: at first, the columns of x.
        after = shape(x)[-1:]
        for place in reversed(range(len(self._operators))):
            outer = apply_one("Prod", apply_one("Pack", [1, *sizes[:place]]), [0], keep_dims=True)
            blocks = reshape(total, concat([batch, outer, sizes[place][None], after], 0))
            made = self._on_blocks(self._operators[place], blocks, adjoint, solve)
            after = shape(made)[-2:-1] * after
            total = reshape(made, concat([batch, outer * after], 0))
        return total

    def _on_blocks(self, each: LinearOperator, blocks: Tensor, adjoint: bool, solve: bool) -> Tensor:
        """The factor applied to [batch, left, n, r], whose matrices are one beside the other for it."""
        sizes = shape(blocks)
        rank = apply_one("Rank", blocks)
        front = apply_one("Range", 0, rank - 3, 1)
        order = concat([front, apply_one("Pack", [rank - 2, rank - 3, rank - 1])], 0)
        wide = reshape(
            apply_one("Transpose", blocks, order),
            concat([sizes[:-3], sizes[-2:-1], sizes[-3:-2] * sizes[-1:]], 0),
        )
        made = each._solve(wide, adjoint) if solve else each._matmul(wide, adjoint)
        parted = reshape(made, concat([shape(made)[:-1], sizes[-3:-2], sizes[-1:]], 0))
        return apply_one("Transpose", parted, order)

    def _whole(self, x: Tensor, adjoint: bool, adjoint_arg: bool, solve: bool) -> Tensor:
        x = adjointed(x, adjoint_arg)
        total = self._applied(x, adjoint, solve)
        sizes, columns = shape(total), shape(x)[-1:]
        result = reshape(total, concat([sizes[:-1], sizes[-1:] // columns, columns], 0))
        if x.dims is not None:
            rows = self.shape[-1] if adjoint != solve else self.shape[-2]
            batch = broadcast_static_shape(TensorShape(x.dims[:-2]), self.batch_shape)
            result.set_shape(batch.concatenate([rows, x.dims[-1]]))
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._whole(x, adjoint, adjoint_arg, solve=False)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._whole(rhs, adjoint, adjoint_arg, solve=True)

    def _determinant(self) -> Tensor:
        total = self.domain_dimension_tensor()
        factors = []
        for each in self._operators:
            power = cast(total // each.domain_dimension_tensor(), each.dtype)
            factors.append(each._determinant() ** power)
        return functools.reduce(lambda a, b: a * b, factors)

    def _log_abs_determinant(self) -> Tensor:
        total = self.domain_dimension_tensor()
        parts = []
        for each in self._operators:
            value = each._log_abs_determinant()
            parts.append(value * cast(total // each.domain_dimension_tensor(), value.dtype.base))
        return functools.reduce(add, parts)

    def _trace(self) -> Tensor:
        return functools.reduce(lambda a, b: a * b, (each._trace() for each in self._operators))

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorKronecker([each.adjoint() for each in self._operators], self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorKronecker([each.inverse() for each in self._operators], True)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorKronecker([each.cholesky() for each in self._operators], True)
