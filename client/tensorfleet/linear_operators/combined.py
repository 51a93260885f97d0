"""Operators made of others: adjoints, inverses, products, Kronecker products and block matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, serve
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag
from tensorfleet.linear_operators.identities import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from tensorfleet.linear_operators.parts import all_or_none, batch_of, batch_tensor, checked, first_known
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import add
from tensorfleet.ops.math.complex_numbers import conj


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator (`tf.linalg.LinearOperatorAdjoint`)."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Makes the adjoint, with the operator's hints where none are given."""
        self._operator = operator
        super().__init__(
            operator.dtype,
            None,
            first_known(is_non_singular, operator.is_non_singular),
            first_known(is_self_adjoint, operator.is_self_adjoint),
            first_known(is_positive_definite, operator.is_positive_definite),
            first_known(is_square, operator.is_square),
            name or f"{operator.name}_adjoint",
            {"operator": operator},
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator whose adjoint it is."""
        return self._operator

    def _shape(self) -> TensorShape:
        own = self._operator.shape
        return own[:-2].concatenate([own[-1], own[-2]])

    def _shape_tensor(self) -> Tensor:
        sizes = self._operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(x, not adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(rhs, not adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return conj(self._operator._determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator._log_abs_determinant()

    def _trace(self) -> Tensor:
        return conj(self._operator._trace())

    def _to_dense(self) -> Tensor:
        return adjointed(self._operator._to_dense(), True)

    def _adjoint(self) -> LinearOperator:
        return self._operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator (`tf.linalg.LinearOperatorInversion`)."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Makes the inverse, with the operator's hints where none are given."""
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError("operator and supplied hints must have `is_non_singular` equal to True or None.")
        if operator.is_square is False or is_square is False:
            raise ValueError("operator must be square.")
        self._operator = operator
        super().__init__(
            operator.dtype,
            None,
            first_known(is_non_singular, operator.is_non_singular),
            first_known(is_self_adjoint, operator.is_self_adjoint),
            first_known(is_positive_definite, operator.is_positive_definite),
            True,
            name or f"{operator.name}_inv",
            {"operator": operator},
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator whose inverse it is."""
        return self._operator

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1.0 / self._operator._determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self._operator._log_abs_determinant()

    def _inverse(self) -> LinearOperator:
        return self._operator


class LinearOperatorComposition(LinearOperator):
    """The product of operators (`tf.linalg.LinearOperatorComposition`)."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Makes the product of operators, the first stands on the left."""
        self._operators = checked(operators)
        for left, right in zip(self._operators[:-1], self._operators[1:], strict=True):
            a, b = left.domain_dimension.value, right.range_dimension.value
            if a is not None and b is not None and a != b:
                raise ValueError(f"Dimensions {a} and {b} are not compatible")
        regular = all_or_none([each.is_non_singular for each in self._operators])
        if regular and is_non_singular is False:
            raise ValueError("The composition of non-singular operators is always non-singular.")
        super().__init__(
            self._operators[0].dtype,
            None,
            first_known(is_non_singular, regular),
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name or "_o_".join(each.name for each in self._operators),
            {"operators": operators},
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors, from left to right."""
        return self._operators

    def _shape(self) -> TensorShape:
        matrix = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return batch_of(self._operators).concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        matrix = [self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()]
        return concat([batch_tensor(self._operators), apply_one("Pack", matrix)], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result = adjointed(x, adjoint_arg)
        for each in self._operators if adjoint else reversed(self._operators):
            result = each._matmul(result, adjoint)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result = adjointed(rhs, adjoint_arg)
        for each in reversed(self._operators) if adjoint else self._operators:
            result = each._solve(result, adjoint)
        return result

    def _determinant(self) -> Tensor:
        if any(each.is_square is not True for each in self._operators):
            return super()._determinant()
        return functools.reduce(lambda a, b: a * b, (each._determinant() for each in self._operators))

    def _log_abs_determinant(self) -> Tensor:
        if any(each.is_square is not True for each in self._operators):
            return super()._log_abs_determinant()
        return functools.reduce(add, (each._log_abs_determinant() for each in self._operators))


def product(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The product of two operators, as simple as their classes allow."""
    if isinstance(left, LinearOperatorIdentity):
        return right
    if isinstance(right, LinearOperatorIdentity):
        return left
    if isinstance(left, LinearOperatorZeros) and left.is_square:
        return left
    if isinstance(right, LinearOperatorZeros) and right.is_square:
        return right
    hints: dict[str, Any] = {
        "is_non_singular": all_or_none([left.is_non_singular, right.is_non_singular]),
        "is_square": all_or_none([left.is_square, right.is_square]),
    }
    scalars = (LinearOperatorDiag, LinearOperatorScaledIdentity)
    if isinstance(left, scalars) and isinstance(right, scalars):
        a, b = (
            each.diag if isinstance(each, LinearOperatorDiag) else each.multiplier[..., None]
            for each in (left, right)
        )
        if isinstance(left, LinearOperatorScaledIdentity) and isinstance(right, LinearOperatorScaledIdentity):
            return LinearOperatorScaledIdentity(
                left._rows, left.multiplier * right.multiplier, hints["is_non_singular"]
            )
        both = all_or_none([left.is_positive_definite, right.is_positive_definite])
        return LinearOperatorDiag(a * b, hints["is_non_singular"], is_positive_definite=both, is_square=True)
    return LinearOperatorComposition([left, right], **hints)


serve(adjoint=LinearOperatorAdjoint, inverse=LinearOperatorInversion, product=product)
