"""`tf.image` beside TensorFlow's: values, dtypes, static shapes, gradients, random draws, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf
from tests.compat.image_cases import CALLS, DIFFERENTIABLE, RANDOM, RESIZES, Build


def _flat(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _outcome(t: Any, build: Build, steps: int = 1) -> Any:
    """The static shapes and the values of some steps, or the class of the error."""
    graph = t.Graph()
    with graph.as_default(), t.Session(graph=graph) as session:
        try:
            made = _flat(build(t))
            shapes = [None if x.shape.ndims is None else x.shape.as_list() for x in made]
            return shapes, [session.run(made) for _ in range(steps)]
        except (t.errors.OpError, ValueError, TypeError, AttributeError) as error:
            return type(error).__name__


def _check(ours: Any, theirs: Any, rtol: float = 2e-6, atol: float = 2e-6) -> None:
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    for own_step, other_step in zip(ours[1], theirs[1], strict=True):
        for a, b in zip(own_step, other_step, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert np.shape(a) == np.shape(b)
            if np.asarray(a).dtype.kind in "fc":
                half = 4e-3 if np.asarray(a).dtype == np.float16 else 0
                np.testing.assert_allclose(a, b, rtol=rtol + half, atol=atol + half)
            else:
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", RESIZES)
def test_resized_as_by_tensorflow(case: str) -> None:
    build = RESIZES[case]
    scale = 256 if " of " in case and "float" not in case else 1
    exact = case.startswith(("bilinear", "nearest"))
    _check(
        _outcome(tf, build), _outcome(tensorflow, build), 0 if exact else 2e-6, 0 if exact else 1e-6 * scale
    )


@pytest.mark.parametrize("case", CALLS)
def test_the_same_as_tensorflow(case: str) -> None:
    _check(_outcome(tf, CALLS[case]), _outcome(tensorflow, CALLS[case]), 1e-5, 3e-6)


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_the_same_gradient(case: str) -> None:
    function, value = DIFFERENTIABLE[case]

    def build(t: Any) -> Any:
        x = t.constant(value)
        y = function(t, x)
        weights = np.random.RandomState(3).rand(*y.shape.as_list()).astype(np.float32)
        return [y, t.gradients(y * weights, x)[0]]

    _check(_outcome(tf, build), _outcome(tensorflow, build), 1e-5, 1e-5)


@pytest.mark.parametrize("case", RANDOM)
def test_the_same_draws(case: str) -> None:
    _check(_outcome(tf, RANDOM[case], 3), _outcome(tensorflow, RANDOM[case], 3), 1e-5, 3e-6)


# Those in which no other function makes fewer nodes than TensorFlow's.
_OTHER_NODES = (
    "unknown",
    "no rank",
    "in the run",
    "rot90",
    "ssim",
    "nms",
    "random",
    "True",
    "of bytes",
    "of a batch",
    "sobel",
)


@pytest.mark.parametrize(
    "case", [c for c in (*CALLS, *RANDOM) if not any(part in c for part in _OTHER_NODES)]
)
def test_the_same_nodes(case: str) -> None:
    def nodes(t: Any) -> Any:
        with t.Graph().as_default() as graph:
            try:
                (CALLS.get(case) or RANDOM[case])(t)
            except (ValueError, TypeError) as error:
                return type(error).__name__
            return [(node.name, node.op, list(node.input)) for node in graph.as_graph_def().node]

    assert nodes(tf) == nodes(tensorflow)
