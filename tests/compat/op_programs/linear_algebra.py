"""Least squares, tridiagonal and banded systems, eigenvalues, and bands of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

PROGRAM_SETTINGS: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}
random = np.random.RandomState(5)
CLOSE = {"rtol": 2e-3, "atol": 1e-4}
I = np.int32  # noqa: E741


def values(*shape: int, dtype: Any = np.float64) -> Any:
    made = random.uniform(-1, 1, shape)
    return (made + 1j * random.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


for _dtype in (np.float32, np.float64, np.complex128):
    for _shape in ((4, 3), (3, 4), (2, 3, 3)):
        for _fast in (True, False):
            _rhs = values(*_shape[:-1], 2, dtype=_dtype)
            node(
                *("MatrixSolveLs", values(*_shape, dtype=_dtype), _rhs, np.float64(0.1 if _fast else 0)),
                fast=_fast,
                settings=CLOSE,
            )
    _size = 5
    for _pivots in (True, False):
        node(
            *("TridiagonalSolve", values(2, 3, _size, dtype=_dtype), values(2, _size, 2, dtype=_dtype)),
            partial_pivoting=_pivots,
            settings=CLOSE,
        )
    node(
        *("TridiagonalMatMul", *(values(2, 1, _size, dtype=_dtype) for _ in range(3))),
        values(2, _size, 3, dtype=_dtype),
        settings=CLOSE,
    )
    for _lower in (True, False):
        for _adjoint in (True, False):
            node(
                *(
                    "BandedTriangularSolve",
                    values(2, 3, _size, dtype=_dtype) + 2,
                    values(_size, 2, dtype=_dtype),
                ),
                lower=_lower,
                adjoint=_adjoint,
                settings=CLOSE,
            )
node("MatrixSolveLs", np.ones((3, 2)), np.ones((3, 1)), np.float64(0), settings=CLOSE)
node("MatrixSolveLs", values(3, 2), values(2, 1), np.float64(0))
node("MatrixSolveLs", values(3, 2), values(3, 1), np.float64(-1))
node("TridiagonalSolve", np.zeros((3, 3)), values(3, 1))
node("TridiagonalSolve", values(2, 3), values(3, 1))
node("TridiagonalSolve", values(3, 3), values(4, 1))
node("TridiagonalMatMul", values(1, 3), values(1, 3), values(1, 4), values(3, 1))
node("BandedTriangularSolve", values(4, 3), values(3, 1))
node("BandedTriangularSolve", np.zeros((2, 3)), values(3, 1))
node("CholeskyGrad", np.tril(values(2, 3, 3)) + 2 * np.eye(3), values(2, 3, 3), settings=CLOSE)
node("CholeskyGrad", values(2, 3), values(2, 3))
node("Eig", values(3, 2), Tout="complex128")


@program("Eig", **PROGRAM_SETTINGS)
def eigenvalues(make: Maker) -> Any:
    tf = make.tf
    x = tf.constant(np.diag([3.0, 2, 1]) + 0.1 * np.arange(9).reshape(3, 3))
    e, v = make("Eig", x, Tout="complex128")
    alone, _ = make("Eig", x, Tout="complex128", compute_v=False)
    return [
        make("MatMul", tf.cast(x, tf.complex128), v) - v * e,
        tf.real(tf.reduce_sum(e)),
        tf.real(tf.reduce_sum(alone)),
    ]


@program("Eig", **PROGRAM_SETTINGS)
def gradients_of_eigenvalues(make: Maker) -> Any:
    tf = make.tf
    x = tf.constant(np.diag([3.0, 2, 1]) + 0.1 * np.arange(9).reshape(3, 3))
    e, v = make("Eig", x, Tout="complex128")
    alone, _ = make("Eig", x, Tout="complex128", compute_v=False)
    return [
        *tf.gradients(tf.reduce_sum(tf.abs(e) ** 3) + tf.reduce_sum(tf.abs(v) ** 4), x),
        *tf.gradients(tf.reduce_sum(tf.abs(alone) ** 3), x),
    ]


def _gradients(name: str, *inputs: Any, **attrs: Any) -> None:
    def made(make: Maker) -> Any:
        xs = [make.tf.constant(x) for x in inputs]
        y = make(name, *xs, **attrs)
        return make.tf.gradients(make.tf.reduce_sum(y**3), [x for x in xs if x.shape.ndims])

    made.__name__ = f"gradients_of_{name}_{len(_made)}"
    _made.append(name)
    program(name, **PROGRAM_SETTINGS)(made)


_made: list[str] = []
for _shape in ((4, 3), (2, 3, 4)):
    _gradients("MatrixSolveLs", values(*_shape), values(*_shape[:-1], 2), np.float64(0.3))
_gradients("TridiagonalSolve", values(2, 3, 5) + 2, values(2, 5, 2))
_gradients("TridiagonalMatMul", *(values(2, 1, 5) for _ in range(3)), values(2, 5, 3))
for _lower in (True, False):
    for _adjoint in (True, False):
        _gradients(
            "BandedTriangularSolve", values(2, 3, 5) + 2, values(2, 5, 2), lower=_lower, adjoint=_adjoint
        )
        _gradients("BandedTriangularSolve", values(3, 5) + 2, values(2, 5, 2), lower=_lower, adjoint=_adjoint)

for _k in ([0], [1], [-1, 1], [-2, 0]):
    _number = I(_k)
    node("MatrixDiagPartV2", values(2, 3, 4), _number, np.float64(7))
    _rows = 1 if len(_k) == 1 else _k[1] - _k[0] + 1
    _diagonals = values(2, 3) if len(_k) == 1 else values(2, _rows, 3)
    node("MatrixDiagV2", _diagonals, _number, I(-1), I(-1), np.float64(7))
    node("MatrixSetDiagV2", values(2, 3, 3), values(2, _rows, 3)[:, 0] if _k == [0] else _diagonals, _number)
node("MatrixDiagV2", values(2, 3), I([3, 1]), I(-1), I(-1), np.float64(7))
