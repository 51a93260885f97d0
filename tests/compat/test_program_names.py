"""Generators, stateless numbers, assertions and helpers of losses beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

# G is a Generator of seed 1. Numbers of several items are drawn in their order.
CASES = """
[G.normal([3])]
[G.normal([2, 2], 1.0, 2.0, t.float64)]
[G.uniform([3])]
[G.uniform([3], 1, 10, t.int32)]
[G.uniform([2], None, None, t.int64)]
[G.uniform([2], 1, None, t.int64)]
[G.uniform_full_int([2], t.uint32)]
[G.truncated_normal([5])]
[G.make_seeds(3)]
[G.skip(5)]
[G.key]
[G.normal([3]), G.uniform([2]), G.normal([1], dtype=t.float16)]
[t.random.Generator.from_state([1, 2, 3], "philox").normal([2])]
[t.random.Generator.from_key_counter(2**63 + 5, [1, 2], t.random.Algorithm.PHILOX).normal([2])]
[t.random.Generator.from_seed([3, 4], "philox").uniform([2])]
[t.random.Generator.from_seed(2**64 + 2**63 + 7).normal([2])]
[t.random.Generator.from_seed(1, "none")]
[t.random.create_rng_state(2**130 + 5, "philox")]
[t.random.create_rng_state([7], t.random.Algorithm.PHILOX)]
[t.random.stateless_gamma([4, 2], [1, 2], [0.5, 3.0])]
[t.random.stateless_gamma([3, 2], [1, 2], [0.5, 3.0], beta=[[2.0], [3.0], [4.0]], dtype=t.float64)]
[t.random.stateless_poisson([5], [1, 2], 3.0)]
[t.random.stateless_poisson([5, 2], [1, 2], [3.0, 30.0], dtype=t.float32)]
[t.random.experimental.stateless_shuffle(np.arange(8), [1, 2])]
[t.random.experimental.stateless_split([1, 2], 3)]
[t.random.experimental.stateless_fold_in([1, 2], 3)]
[t.math.special.dawsn([0.5, 2.0]), t.math.special.bessel_j0([0.5])]
[t.nn.compute_average_loss([1.0, 2.0, 3.0])]
[t.nn.compute_average_loss([1.0, 2.0, 3.0], [1, 0, 2], 6)]
[t.nn.compute_average_loss([1.0, 2.0, 3.0], global_batch_size=[6])]
[t.nn.compute_average_loss([1.0, 2.0, 3.0], global_batch_size=6.5)]
[t.nn.compute_average_loss(1.0)]
[t.nn.scale_regularization_loss([1.0, 2.0])]
[*t.ragged_fill_empty_rows([0, 2, 2], [1.0, 2.0, 3.0], 4, -1.0)]
[*t.ragged_fill_empty_rows_grad([0, 2], [1.0, 2.0, 3.0])]
[t.debugging.assert_all_finite([1.0], "m")]
[t.debugging.assert_all_finite([np.inf], "m")]
[t.linalg.eigh_tridiagonal([1.0, 2.0, 3.0], [0.5, 0.25])]
[t.abs(t.linalg.eigh_tridiagonal([1.0, 2.0, 3.0], [0.5, 0.25], eigvals_only=False)[1])]
[t.linalg.eigh_tridiagonal([1.0, 2.0, 3.0], [0.5, 0.25], select="i", select_range=[1, 2])]
[t.linalg.eigh_tridiagonal([1.0, 2.0, 3.0], [0.5, 0.25], select="v", select_range=[1.0, 2.5])]
[t.linalg.eigh_tridiagonal([1.0, 2.0, 3.0], [0.5, 0.25], select="x")]
[t.linalg.tridiagonal_matmul(C([[1.0, 2, 0], [4, 5, 6], [0, 7, 8]]), [[1.0], [2], [3]])]
[t.linalg.tridiagonal_matmul((C([1.0, 2, 0]), C([4.0, 5, 6]), C([0.0, 7, 8])), [[1.0], [2], [3]], "sequence")]
[t.linalg.tridiagonal_matmul(C([[4.0, 1, 0], [7, 5, 2], [0, 8, 6]]), [[1.0], [2], [3]], "matrix")]
[t.linalg.tridiagonal_solve(C([[1.0, 2, 0], [4, 5, 6], [0, 7, 8]]), C([[1.0], [2], [3]]))]
[t.linalg.tridiagonal_solve(C([[1.0, 2, 0], [4, 5, 6], [0, 7, 8]]), C([1.0, 2, 3]))]
[t.linalg.tridiagonal_solve(C([[1.0, 2, 0], [4, 5, 6], [0, 7, 8]]), C([[1.0, 2, 3]]), transpose_rhs=True)]
[t.linalg.tridiagonal_solve(C([[4.0, 1, 0], [7, 5, 2], [0, 8, 6]]), C([1.0, 2, 3]), "matrix")]
"""
# Assertions about shapes: X [2, 3], Y [3], U of an unknown shape that is [2, 3] in the step.
SHAPES = """
[(X, ("N", "Q")), (Y, ("Q",))]
[(X, ("N", "N"))]
[(X, ("N", 3)), (Y, (3,))]
[(X, ("N", 4))]
[(X, ("N",))]
[(X, ("*", "Q")), (Y, ("Q",))]
[(X, (2, "*"))]
[(X, ("*", "Q", "*"))]
{X: "NQ"}
[(U, ("N", "Q")), (X, ("N", "Q"))]
[(U, ("N", "N"))]
[(U, ("N", "Q")), (Y, ("N",))]
[(U, ("N",))]
[(X, (None, "."))]
[(X, (2, ...))]
[(X, (..., 4))]
"""


def _run(t: Any, made: list[Any], session: Any) -> Any:
    try:
        session.run(t.global_variables_initializer())
        return session.run(made)
    except t.errors.OpError as error:
        return type(error).__name__


def _outcome(t: Any, case: str) -> Any:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        try:
            made = eval(case, {"t": t, "np": np, "C": t.constant, "G": t.random.Generator.from_seed(1)})
        except Exception as error:
            return type(error).__name__
        return _run(t, made, session)


@pytest.mark.parametrize("case", [case for case in CASES.strip().split("\n") if case.count("G.") < 2])
def test_values_are_tensorflows(case: str) -> None:
    ours, theirs = _outcome(tf, case), _outcome(tensorflow, case)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    for own, other in zip(ours, theirs, strict=True):
        assert np.asarray(own).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("t", [tf, tensorflow], ids=["ours", "theirs"])
def test_a_generator_goes_on_where_the_step_before_ended(t: Any) -> None:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        generator = t.random.Generator.from_seed(3)
        numbers, first = generator.normal([2]), generator.state.read_value()
        session.run(t.global_variables_initializer())
        before = session.run(first)
        drawn = [session.run(numbers) for _ in range(2)]
        assert not np.array_equal(*drawn)
        assert not np.array_equal(session.run(first), before)


@pytest.mark.parametrize("case", SHAPES.strip().split("\n"))
def test_assertions_about_shapes_are_tensorflows(case: str) -> None:
    found = []
    for t in (tf, tensorflow):
        with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
            unknown = t.placeholder_with_default(np.zeros((2, 3), np.float32), None)
            names = {"X": t.zeros([2, 3]), "Y": t.zeros([3]), "U": unknown}
            try:
                check = t.debugging.assert_shapes(
                    eval(case, names) if "{" not in case else [(names["X"], "NQ")]
                )
            except Exception as error:
                found.append(type(error).__name__)
                continue
            found.append("ran" if _run(t, [check], session) == [None] else "failed")
    assert found[0] == found[1]


def test_traceback_filtering_is_a_switch() -> None:
    assert tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    try:
        assert not tf.debugging.is_traceback_filtering_enabled()
    finally:
        tf.debugging.enable_traceback_filtering()
