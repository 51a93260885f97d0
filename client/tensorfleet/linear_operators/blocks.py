"""Matrices of blocks, each of which is a linear operator."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.linear_operators.parts import all_or_none, batch_of, batch_tensor, checked, first_known
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_to,
    shape,
)
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import add


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
        with self._name_scope(name):
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
        with self._name_scope(name):
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
        return batch_of(self._all()).concatenate([rows, columns])

    def _shape_tensor(self) -> Tensor:
        sizes = [each.shape_tensor()[-2:] for each in self._diagonal]
        return concat([batch_tensor(self._all()), functools.reduce(add, sizes)], 0)

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
        self._diagonal = found = checked(operators)
        super().__init__(
            found[0].dtype,
            None,
            first_known(is_non_singular, all_or_none([each.is_non_singular for each in found])),
            first_known(is_self_adjoint, all_or_none([each.is_self_adjoint for each in found])),
            first_known(is_positive_definite, all_or_none([each.is_positive_definite for each in found])),
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
        checked([each for row in self._rows for each in row])
        if any(each.is_square is False for each in self._diagonal):
            raise ValueError("Matrices on the diagonal must be square.")
        super().__init__(
            self._diagonal[0].dtype,
            None,
            first_known(is_non_singular, all_or_none([each.is_non_singular for each in self._diagonal])),
            is_self_adjoint,
            is_positive_definite,
            first_known(is_square, True),
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
