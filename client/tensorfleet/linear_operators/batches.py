"""Matrices in batches, whose shapes are brought together."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import broadcast_dynamic_shape, broadcast_to, shape
from tensorfleet.ops.linalg import linalg


def constant_vector(values: list[Any]) -> Tensor:
    """An int32 vector."""
    return constant(values, dtypes.int32, [len(values)])


def adjointed(x: Tensor, adjoint: bool) -> Tensor:
    """The matrices, or their adjoints."""
    return linalg.adjoint(x) if adjoint else x


def broadcast_batches(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors of matrices, repeated so that there are as many matrices of each."""
    if a.dims is not None and b.dims is not None and a.dims[:-2] == b.dims[:-2] and None not in a.dims[:-2]:
        return a, b
    batch = broadcast_dynamic_shape(shape(a)[:-2], shape(b)[:-2])

    def repeated(x: Tensor) -> Tensor:
        return broadcast_to(x, concat([batch, shape(x)[-2:]], 0))

    return repeated(a), repeated(b)


def solve_dense(
    matrix: Tensor, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False, by_cholesky: bool = False
) -> Tensor:
    """The X of matrix · X = rhs, of batches that need not have one shape."""
    matrix, right = broadcast_batches(matrix, adjointed(rhs, adjoint_arg))
    if by_cholesky:
        return linalg.cholesky_solve(linalg.cholesky(matrix), right)
    return linalg.solve(matrix, right, adjoint=adjoint)
