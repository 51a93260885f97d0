"""Functions of matrices that take LinearOperators, beside TensorFlow's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

SPD = np.float32([[4, 1, 0], [1, 5, 2], [0, 2, 6]])
X = np.float32([[1, 2], [3, 4], [5, 6]])
CASES: list[Callable[[Any, Any], Any]] = [
    lambda tf, a: tf.matmul(a, X),
    lambda tf, a: tf.matmul(X.T, a),
    lambda tf, a: tf.matmul(X, a, adjoint_a=True),
    lambda tf, a: tf.matmul(a, X.T, adjoint_a=True, adjoint_b=True),
    lambda tf, a: tf.matmul(a, a).to_dense(),
    lambda tf, a: tf.linalg.solve(a, X),
    lambda tf, a: tf.linalg.inv(a).to_dense(),
    lambda tf, a: tf.linalg.inv(a, adjoint=True).to_dense(),
    lambda tf, a: tf.linalg.det(a),
    lambda tf, a: tf.linalg.logdet(a),
    lambda tf, a: tf.linalg.adjoint(a).to_dense(),
    lambda tf, a: tf.linalg.cholesky(a).to_dense(),
    lambda tf, a: tf.linalg.trace(a),
    lambda tf, a: tf.linalg.diag_part(a),
    lambda tf, a: tf.matmul(a, X, transpose_a=True),
    lambda tf, a: tf.linalg.solve(X, a),
]


@pytest.mark.parametrize("plain", [False, True])
def test_functions_of_operators(plain: bool) -> None:
    """All of them at once: each library builds one graph."""
    found = []
    for tf in (fleet, real):
        with tf.Graph().as_default(), tf.Session() as session:
            hints = {} if plain else {"is_self_adjoint": True, "is_positive_definite": True}
            operator = tf.linalg.LinearOperatorFullMatrix(SPD, **hints)
            results: list[Any] = []
            for case in CASES:
                try:
                    results.append(session.run(case(tf, operator)))
                except ValueError as error:
                    results.append(type(error).__name__)
            found.append(results)
    for ours, theirs in zip(*found, strict=True):
        if isinstance(theirs, str):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
