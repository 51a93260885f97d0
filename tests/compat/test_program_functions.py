"""Functions that programs are built of, beside TensorFlow's: templates, branches, checks, transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

X = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
SQUARE = np.random.default_rng(0).normal(size=(2, 3, 3)) + 2 * np.eye(3)


def _shared_layer(t: Any) -> Any:
    def layer(x: Any, scale: float) -> Any:
        return x * t.get_variable("w", [], initializer=t.constant_initializer(2.0)) * scale

    template = t.make_template("layer", layer, scale=3.0)
    first, second = template(t.constant(1.0)), template(t.constant(5.0))
    return [first, second, t.constant([v.op.name for v in t.global_variables()]), t.constant(template.name)]


def _recomputed(t: Any) -> Any:
    with t.variable_scope("block", use_resource=True, reuse=t.AUTO_REUSE):

        def block(x: Any) -> Any:
            w = t.get_variable("w", [4], initializer=t.constant_initializer(0.5))
            return t.tanh(x * w)

        x = t.constant(X)
        y = t.recompute_grad(block)(x)
    return [y, *t.gradients(y, [x, t.trainable_variables()[0]])]


def _switch(t: Any) -> Any:
    branches: list[Callable[[], Any]] = [lambda: t.constant(1), lambda: t.constant(2)]
    numbers = [t.switch_case(t.constant(i), branches) for i in (-1, 0, 1, 2)]
    return [*numbers, t.switch_case(t.constant(7), {0: branches[0]}, default=branches[1])]


def _windows(t: Any) -> Any:
    return [
        t.signal.rfft(t.constant(X), [6]),
        t.signal.irfft(t.signal.rfft(t.constant(X))),
        t.signal.irfft(t.cast(X, t.complex64), [9]),
        t.signal.rfft2d(t.constant(X), [2, 7]),
        t.signal.irfft2d(t.cast(X, t.complex64), [5, 4]),
        t.signal.rfft(t.placeholder_with_default(X, None), [7]),
        t.signal.irfft(t.placeholder_with_default(X.astype(np.complex64), [None, None])),
        t.fft(t.cast(X, t.complex64)),
    ]


CASES: dict[str, Callable[[Any], Any]] = {
    "template": _shared_layer,
    "recompute_grad": _recomputed,
    "switch_case": _switch,
    "fft": _windows,
    "stateless random numbers": lambda t: [
        t.random.stateless_uniform([5], [1, 2]),
        t.random.stateless_uniform([5], [1, 2], 3.0, 5.0, t.float64),
        t.random.stateless_uniform([5], [1, 2], 3, 50, t.int32),
        t.random.stateless_uniform([5], [1, 2], None, None, t.int64),
        t.random.stateless_normal([5], [1, 2], 3.0, 0.5),
        t.random.stateless_truncated_normal([5], [1, 2]),
        t.random.stateless_categorical(X, 3, [1, 2]),
        t.random.stateless_multinomial(X, 3, [1, 2], t.int32),
        t.random.split([1, 2], 3),
        t.random.fold_in([1, 2], 3),
    ],
    "factors": lambda t: [
        t.linalg.lu_solve(*t.linalg.lu(t.constant(SQUARE)), t.constant(SQUARE[..., :2])),
        t.linalg.lu_matrix_inverse(*t.linalg.lu(t.constant(SQUARE))),
        t.linalg.lu_reconstruct(*t.linalg.lu(t.constant(SQUARE))),
        t.linalg.lu_reconstruct(*t.linalg.lu(t.constant(SQUARE[0]))),
        t.linalg.expm(t.constant(SQUARE)),
        t.linalg.expm(t.constant(SQUARE * 9 - 8)),
        t.linalg.expm(t.cast(SQUARE, t.complex128) * 1j),
        t.linalg.pinv(t.constant(X.astype(np.float64))),
        t.linalg.matrix_rank(t.constant(X)),
        t.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]),
        *t.linalg.normalize(t.constant(X)),
        *t.linalg.normalize(t.constant(X), ord=1, axis=1),
        t.matrix_solve_ls(t.constant(SQUARE[..., :2]), t.constant(SQUARE[..., :1])),
        t.matrix_solve_ls(t.constant(SQUARE[..., :2, :]), t.constant(SQUARE[..., :2, :1])),
        t.matrix_solve_ls(t.constant(SQUARE[..., :2]), t.constant(SQUARE[..., :1]), 0.5),
        t.matrix_solve_ls(t.constant(SQUARE[..., :2]), t.constant(SQUARE[..., :1]), fast=False),
        *t.gradients(
            t.linalg.expm(t.constant(SQUARE, name="a")), t.get_default_graph().get_tensor_by_name("a:0")
        ),
    ],
    "increasing": lambda t: [
        t.is_strictly_increasing([1, 2, 2]),
        t.is_non_decreasing([1, 2, 2]),
        t.is_strictly_increasing([1.0]),
        t.is_non_decreasing([[1, 3], [2, 4]]),
    ],
    "finite": lambda t: t.verify_tensor_all_finite(t.constant(X), "bad"),
    "not finite": lambda t: t.verify_tensor_all_finite(t.constant([np.inf, 1.0]), "bad"),
    "check_numerics": lambda t: [t.log(t.constant(0.0), name="logarithm"), t.add_check_numerics_ops()],
    "einsum of three": lambda t: t.einsum("ij,jk,kl->il", X, X.T, X),
    "einsum of four, by names that broadcast": lambda t: t.einsum("...a,ab,bc,...c->...", X, X.T, X, X),
    "sort": lambda t: [
        t.sort(t.constant(X), direction="DESCENDING"),
        t.argsort(t.constant(X), axis=0),
        t.sort(t.constant([3, -5, 2**31 - 1, -(2**31)])),
        t.sort(t.constant([3, 1, 200], t.uint8), axis=0),
    ],
    "searchsorted": lambda t: t.searchsorted(t.constant([1, 3, 5]), t.constant([0, 3, 9]), side="right"),
    "repeat": lambda t: [t.repeat(X, 2, axis=1), t.repeat(X, [0, 2, 1], axis=0), t.repeat([3, 4], 2)],
    "bincount": lambda t: [t.bincount([1, 1, 4]), t.bincount([[1, 1, 4]], minlength=7, dtype=t.float32)],
    "blocks": lambda t: t.batch_to_space_nd(
        t.space_to_batch_nd(t.reshape(t.constant(X), [1, 3, 4, 1]), [2, 2], [[0, 1], [0, 0]]),
        [2, 2],
        [[0, 1], [0, 0]],
    ),
    "blocks that do not fit": lambda t: t.space_to_batch_nd(
        t.placeholder_with_default(X.reshape(1, 3, 4), None),
        [2],
        t.placeholder_with_default([[0, 0]], [1, 2]),
    ),
}


def _outcome(t: Any, build: Callable[[Any], Any]) -> Any:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        made = build(t)
        session.run(t.global_variables_initializer())
        try:
            return session.run(made)
        except t.errors.OpError as error:
            return type(error).__name__


@pytest.mark.parametrize("name", CASES)
def test_same_results(name: str) -> None:
    tensorflow.disable_v2_behavior()
    theirs, ours = _outcome(tensorflow, CASES[name]), _outcome(tf, CASES[name])
    if isinstance(theirs, str):
        assert ours == theirs
        return
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, list) else [(ours, theirs)]
    for mine, expected in pairs:
        if np.asarray(expected).dtype.kind in "fc":
            np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(mine, expected)
        assert np.asarray(mine).dtype == np.asarray(expected).dtype
        assert np.shape(mine) == np.shape(expected)


def test_a_template_makes_no_variables_in_a_later_call() -> None:
    numbers = iter(range(3))
    with tf.Graph().as_default():
        template = tf.make_template("layer", lambda: tf.get_variable(f"w{next(numbers)}", []))
        template()
        with pytest.raises(ValueError, match="w1"):
            template()


def test_one_floating_point_dtype() -> None:
    with tf.Graph().as_default():
        assert tf.assert_same_float_dtype([tf.constant(1.0), None]) is tf.float32
        assert tf.assert_same_float_dtype(dtype=tf.float64) is tf.float64
        with pytest.raises(ValueError, match="must be of type"):
            tf.assert_same_float_dtype([tf.constant(1.0), tf.constant(1.0, tf.float64)])
        with pytest.raises(ValueError, match="floating point"):
            tf.assert_same_float_dtype([tf.constant(1)])
