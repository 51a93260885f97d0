"""Operators made of others: adjoints, inverses, products, Kronecker products and block matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, serve
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.linear_operators.diagonals import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    reshape,
    shape,
)
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
            _first(is_non_singular, operator.is_non_singular),
            _first(is_self_adjoint, operator.is_self_adjoint),
            _first(is_positive_definite, operator.is_positive_definite),
            _first(is_square, operator.is_square),
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
            _first(is_non_singular, operator.is_non_singular),
            _first(is_self_adjoint, operator.is_self_adjoint),
            _first(is_positive_definite, operator.is_positive_definite),
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


def _first(own: bool | None, other: bool | None) -> bool | None:
    return other if own is None else own


def _all_or_none(values: Sequence[bool | None]) -> bool | None:
    """True where all are; None where that is not known."""
    return True if all(values) else None


def _checked(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    found = list(operators)
    if not found:
        raise ValueError("Expected a non-empty list of operators. Found: []")
    if any(each.dtype is not found[0].dtype for each in found):
        listed = " ".join(f"({each.name}, {each.dtype})" for each in found)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {listed}")
    return found


def _batch_of(operators: Sequence[LinearOperator]) -> TensorShape:
    return functools.reduce(broadcast_static_shape, (each.batch_shape for each in operators))


def _batch_tensor(operators: Sequence[LinearOperator]) -> Tensor:
    return functools.reduce(broadcast_dynamic_shape, (each._batch_vector() for each in operators))


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
        self._operators = _checked(operators)
        for left, right in zip(self._operators[:-1], self._operators[1:], strict=True):
            a, b = left.domain_dimension.value, right.range_dimension.value
            if a is not None and b is not None and a != b:
                raise ValueError(f"Dimensions {a} and {b} are not compatible")
        regular = _all_or_none([each.is_non_singular for each in self._operators])
        if regular and is_non_singular is False:
            raise ValueError("The composition of non-singular operators is always non-singular.")
        super().__init__(
            self._operators[0].dtype,
            None,
            _first(is_non_singular, regular),
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
        return _batch_of(self._operators).concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        matrix = [self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()]
        return concat([_batch_tensor(self._operators), apply_one("Pack", matrix)], 0)

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
        self._operators = _checked(operators)
        found = self._operators
        super().__init__(
            found[0].dtype,
            None,
            _first(is_non_singular, _all_or_none([each.is_non_singular for each in found])),
            _first(is_self_adjoint, _all_or_none([each.is_self_adjoint for each in found])),
            _first(is_positive_definite, _all_or_none([each.is_positive_definite for each in found])),
            _first(is_square, _all_or_none([each.is_square for each in found])),
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
        return _batch_of(self._operators).concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        sizes = [each.shape_tensor()[-2:] for each in self._operators]
        return concat([_batch_tensor(self._operators), functools.reduce(lambda a, b: a * b, sizes)], 0)

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


def _parts(x: Any, operators: Sequence[LinearOperator], adjoint: bool, adjoint_arg: bool) -> list[Tensor]:
    """The rows of `x` that belong to each block."""
    x = adjointed(x, adjoint_arg)
    known = [(each.range_dimension if adjoint else each.domain_dimension).value for each in operators]
    if None not in known:
        return split(x, known, axis=-2)
    sizes = [
        each.range_dimension_tensor() if adjoint else each.domain_dimension_tensor() for each in operators
    ]
    return split(x, apply_one("Pack", sizes), axis=-2, num=len(operators))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Rows below each other, of batches of one shape."""
    batch = functools.reduce(broadcast_dynamic_shape, (shape(part)[:-2] for part in parts))
    dims = [part.dims for part in parts]
    if all(each is not None and each[:-2] == (dims[0] or ())[:-2] for each in dims):
        return concat(parts, axis=-2)
    return concat([broadcast_to(part, concat([batch, shape(part)[-2:]], 0)) for part in parts], axis=-2)


class _Blocks(LinearOperator):
    """What operators of square blocks share: arguments may be lists, with an item for each block."""

    _diagonal: list[LinearOperator]

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product, as `LinearOperator.matmul`; a list with an item for each block gives such a list."""
        if not isinstance(x, (list, tuple)) or isinstance(x, LinearOperator):
            return super().matmul(x, adjoint, adjoint_arg, name)
        with self._scope(name):
            whole = _joined([adjointed(self._argument(each, "x"), adjoint_arg) for each in x])
            return _parts(self._matmul(whole, adjoint), self._diagonal, not adjoint, False)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The product with vectors; a list with an item for each block gives such a list."""
        if not isinstance(x, (list, tuple)):
            return super().matvec(x, adjoint, name)
        columns = [apply_one("ExpandDims", self._argument(each, "x"), -1) for each in x]
        return [
            apply_one("Squeeze", each, squeeze_dims=[-1]) for each in self.matmul(columns, adjoint, name=name)
        ]

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The solution, as `LinearOperator.solve`; a list with an item for each block gives such a list."""
        if not isinstance(rhs, (list, tuple)) or isinstance(rhs, LinearOperator):
            return super().solve(rhs, adjoint, adjoint_arg, name)
        with self._scope(name):
            whole = _joined([adjointed(self._argument(each, "rhs"), adjoint_arg) for each in rhs])
            return _parts(self._solve(whole, adjoint), self._diagonal, adjoint, False)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The solution for vectors; a list with an item for each block gives such a list."""
        if not isinstance(rhs, (list, tuple)):
            return super().solvevec(rhs, adjoint, name)
        columns = [apply_one("ExpandDims", self._argument(each, "rhs"), -1) for each in rhs]
        return [
            apply_one("Squeeze", each, squeeze_dims=[-1]) for each in self.solve(columns, adjoint, name=name)
        ]

    def _determinant(self) -> Tensor:
        return functools.reduce(lambda a, b: a * b, (each._determinant() for each in self._diagonal))

    def _log_abs_determinant(self) -> Tensor:
        return functools.reduce(add, (each._log_abs_determinant() for each in self._diagonal))

    def _trace(self) -> Tensor:
        return functools.reduce(add, (each._trace() for each in self._diagonal))

    def _shape(self) -> TensorShape:
        rows, columns = (
            functools.reduce(lambda a, b: a + b, (each.shape[place] for each in self._diagonal))
            for place in (-2, -1)
        )
        return _batch_of(self._all()).concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        sizes = [each.shape_tensor()[-2:] for each in self._diagonal]
        return concat([_batch_tensor(self._all()), functools.reduce(add, sizes)], 0)

    def _all(self) -> list[LinearOperator]:
        return self._diagonal


class LinearOperatorBlockDiag(_Blocks):
    """Operators along a diagonal (`tf.linalg.LinearOperatorBlockDiag`)."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        """Makes the operator of blocks."""
        self._diagonal = found = _checked(operators)
        super().__init__(
            found[0].dtype,
            None,
            _first(is_non_singular, _all_or_none([each.is_non_singular for each in found])),
            _first(is_self_adjoint, _all_or_none([each.is_self_adjoint for each in found])),
            _first(is_positive_definite, _all_or_none([each.is_positive_definite for each in found])),
            is_square,
            name or "_ds_".join(each.name for each in found),
            {"operators": operators},
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return self._diagonal

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = _parts(x, self._diagonal, adjoint, adjoint_arg)
        return _joined(
            [each._matmul(part, adjoint) for each, part in zip(self._diagonal, parts, strict=True)]
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = _parts(rhs, self._diagonal, not adjoint, adjoint_arg)
        return _joined([each._solve(part, adjoint) for each, part in zip(self._diagonal, parts, strict=True)])

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorBlockDiag([each.adjoint() for each in self._diagonal], self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorBlockDiag([each.inverse() for each in self._diagonal], True)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorBlockDiag([each.cholesky() for each in self._diagonal], True)


class LinearOperatorBlockLowerTriangular(_Blocks):
    """Operators as the lower triangle of a matrix (`tf.linalg.LinearOperatorBlockLowerTriangular`)."""

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        """Makes the operator of rows of blocks: the first row has one, each other one more."""
        self._rows = [list(row) for row in operators]
        if any(len(row) != i + 1 for i, row in enumerate(self._rows)):
            raise ValueError("Argument `operators` must be a list of rows with 1, 2, 3, … operators.")
        self._diagonal = [row[-1] for row in self._rows]
        _checked([each for row in self._rows for each in row])
        if any(each.is_square is False for each in self._diagonal):
            raise ValueError("Matrices on the diagonal must be square.")
        super().__init__(
            self._diagonal[0].dtype,
            None,
            _first(is_non_singular, _all_or_none([each.is_non_singular for each in self._diagonal])),
            is_self_adjoint,
            is_positive_definite,
            _first(is_square, True),
            name,
            {"operators": operators},
        )

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of blocks."""
        return self._rows

    def _all(self) -> list[LinearOperator]:
        return [each for row in self._rows for each in row]

    def _column(self, i: int) -> list[tuple[int, LinearOperator]]:
        return [(j, self._rows[j][i]) for j in range(i, len(self._rows))]

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = _parts(x, self._diagonal, adjoint, adjoint_arg)
        results = []
        for i, row in enumerate(self._rows):
            terms = self._column(i) if adjoint else list(enumerate(row))
            results.append(functools.reduce(add, (each._matmul(parts[j], adjoint) for j, each in terms)))
        return _joined(results)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        parts = _parts(rhs, self._diagonal, not adjoint, adjoint_arg)
        found: dict[int, Tensor] = {}
        order = range(len(self._rows))
        for i in reversed(order) if adjoint else order:
            terms = self._column(i)[1:] if adjoint else list(enumerate(self._rows[i][:-1]))
            right = parts[i]
            for j, each in terms:
                right = right - each._matmul(found[j], adjoint)
            found[i] = self._diagonal[i]._solve(right, adjoint)
        return _joined([found[i] for i in order])


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
        "is_non_singular": _all_or_none([left.is_non_singular, right.is_non_singular]),
        "is_square": _all_or_none([left.is_square, right.is_square]),
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
        both = _all_or_none([left.is_positive_definite, right.is_positive_definite])
        return LinearOperatorDiag(a * b, hints["is_non_singular"], is_positive_definite=both, is_square=True)
    return LinearOperatorComposition([left, right], **hints)


serve(adjoint=LinearOperatorAdjoint, inverse=LinearOperatorInversion, product=product)
