"""Linear operators beside TensorFlow's: every method of every class, with static shapes and hints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

RANDOM = np.random.default_rng(7)
MATRIX = RANDOM.normal(size=(3, 3)) + 4 * np.eye(3)
BATCH = RANDOM.normal(size=(2, 3, 3)) + 4 * np.eye(3)
POSITIVE = BATCH @ BATCH.transpose(0, 2, 1)
COMPLEX = RANDOM.normal(size=3) + 1j * RANDOM.normal(size=3)
SPECTRUM = np.fft.fft(np.array([4.0, 1.0, 0.5]))
U = RANDOM.normal(size=(3, 1))

OPERATORS = """
l.LinearOperatorFullMatrix(MATRIX)
l.LinearOperatorFullMatrix(POSITIVE, is_self_adjoint=True, is_positive_definite=True)
l.LinearOperatorFullMatrix(MATRIX[:2])
l.LinearOperatorLowerTriangular(BATCH, is_non_singular=True)
l.LinearOperatorDiag([1.0, 2.0, 3.0], is_positive_definite=True)
l.LinearOperatorDiag(np.stack([COMPLEX, COMPLEX * 2]))
l.LinearOperatorIdentity(3, dtype=np.float64)
l.LinearOperatorIdentity(3, batch_shape=[2], dtype=np.float64)
l.LinearOperatorScaledIdentity(3, np.array([2.0, 3.0]), is_positive_definite=True)
l.LinearOperatorZeros(3, dtype=np.float64)
l.LinearOperatorAdjoint(l.LinearOperatorFullMatrix(MATRIX))
l.LinearOperatorInversion(l.LinearOperatorFullMatrix(MATRIX))
l.LinearOperatorComposition([l.LinearOperatorFullMatrix(MATRIX), l.LinearOperatorDiag(np.array([1.0, 2, 3]))])
l.LinearOperatorKronecker([full(MATRIX[:1, :1]), full(BATCH)])
l.LinearOperatorKronecker([full(MATRIX[:2, :2]), full(MATRIX)])
l.LinearOperatorBlockDiag([full(BATCH[:, :2, :2]), l.LinearOperatorDiag(np.array([2.0]))])
l.LinearOperatorBlockLowerTriangular([[full(MATRIX[:2, :2])], [full(MATRIX[2:, :2]), full(MATRIX[2:, 2:])]])
l.LinearOperatorHouseholder(MATRIX[:2])
l.LinearOperatorPermutation([2, 0, 1], dtype=np.float64)
l.LinearOperatorToeplitz(np.array([4.0, 1.0, 2.0]), np.array([4.0, 0.5, 0.25]))
l.LinearOperatorTridiag(np.array([[1.0, 2, 0], [5, 6, 7], [0, 3, 4]]))
l.LinearOperatorTridiag([np.array([1.0, 2, 0]), np.array([5.0, 6, 7]), np.array([0.0, 3, 4])], "sequence")
l.LinearOperatorTridiag(np.array([[5.0, 1, 0], [3, 6, 2], [0, 4, 7]]), "matrix")
l.LinearOperatorLowRankUpdate(l.LinearOperatorDiag(np.array([1.0, 2, 3]), is_positive_definite=True), U)
l.LinearOperatorLowRankUpdate(l.LinearOperatorFullMatrix(MATRIX), U, diag_update=[0.5], v=2 * U)
l.LinearOperatorCirculant(SPECTRUM, input_output_dtype=np.float64)
l.LinearOperatorCirculant(np.array([1.0, 2.0, 3.0]), input_output_dtype=np.complex128)
l.LinearOperatorCirculant2D(np.array([[1.0, 2.0, 2.0]]), input_output_dtype=np.float64)
l.LinearOperatorCirculant3D(np.array([[[1.0, 2.0, 2.0]]]), input_output_dtype=np.float64)
""".strip().split("\n")
METHODS = """
o.to_dense()
o.shape_tensor()
o.batch_shape_tensor()
o.tensor_rank_tensor()
o.domain_dimension_tensor()
o.range_dimension_tensor()
o.matmul(x)
o.matmul(y, adjoint=True)
o.matmul(x_t, adjoint_arg=True)
o.matvec(x[..., 0])
o.solve(x)
o.solve(x, adjoint=True)
o.solvevec(x[..., 0])
o.determinant()
o.log_abs_determinant()
o.diag_part()
o.trace()
o.add_to_tensor(square)
o.eigvals()
o.cond()
o.adjoint().to_dense()
o.H.matmul(y)
o.inverse().to_dense()
o.cholesky().to_dense()
o.matmul(o).to_dense()
o.solve(o).to_dense()
(o @ l.LinearOperatorIdentity(o.domain_dimension.value, dtype=o.dtype)).to_dense()
""".strip().split("\n")
PLAIN = [
    "dtype",
    "shape",
    "batch_shape",
    "tensor_rank",
    "is_square",
    "is_non_singular",
    "is_self_adjoint",
    "is_positive_definite",
]


def _results(t: Any, expression: str) -> dict[str, Any]:
    names: dict[str, Any] = {"l": t.linalg, "np": np, "MATRIX": MATRIX, "BATCH": BATCH, "POSITIVE": POSITIVE}
    names |= {"COMPLEX": COMPLEX, "SPECTRUM": SPECTRUM, "U": U, "t": t}
    names["full"] = t.linalg.LinearOperatorFullMatrix
    found: dict[str, Any] = {}
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        operator = eval(expression, names)
        for name in PLAIN:
            found[name] = str(getattr(operator, name)).replace("?", "None")
        rows, columns = operator.range_dimension.value, operator.domain_dimension.value
        kind = operator.dtype.as_numpy_dtype
        make = np.random.default_rng(1).normal
        x, y = (make(size=(size, 2)).astype(kind) for size in (columns, rows))
        names |= {"o": operator, "x": x, "y": y, "x_t": np.ascontiguousarray(np.conj(x.T))}
        names["square"] = make(size=(rows, columns)).astype(kind)
        made = {}
        for method in METHODS:
            try:
                made[method] = t.convert_to_tensor(eval(method, names))
            except Exception as error:
                found[method] = type(error).__name__
        for method, tensor in made.items():
            try:
                found[method] = session.run(tensor)
            except t.errors.OpError as error:
                found[method] = type(error).__name__
    return found


@pytest.mark.parametrize("expression", OPERATORS)
def test_methods_give_what_tensorflows_give(expression: str) -> None:
    ours, theirs = _results(tf, expression), _results(tensorflow, expression)
    for name, expected in theirs.items():
        if name in METHODS and isinstance(expected, str) and not isinstance(ours[name], str):
            continue  # TensorFlow's refuses some shapes that can be brought together
        if isinstance(expected, str) or isinstance(ours[name], str):
            assert ours[name] == expected, name
            continue
        if "Circulant" in expression and name.startswith("o.") and ".to_dense" in name:
            # TensorFlow's loses the dtype.
            own = np.asarray(ours[name])
            expected = (expected if own.dtype.kind == "c" else np.real(expected)).astype(own.dtype)
        assert np.asarray(ours[name]).dtype == np.asarray(expected).dtype, name
        np.testing.assert_allclose(ours[name], expected, rtol=2e-5, atol=1e-6, err_msg=name)
