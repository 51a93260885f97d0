"""`tf.sets` beside TensorFlow's: values, static shapes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

tensorflow.disable_v2_behavior()

CASES = (
    "t.sets.size(s([[0, 0], [0, 1], [2, 0]], [1, 1, 3], [4, 2]))",
    "t.sets.size(s([[0, 0], [0, 1], [2, 0]], ['a', 'b', ''], [4, 2]))",
    "t.sets.size(s([[0, 1], [0, 0]], [1, 2], [1, 2]))",
    "t.sets.size(s([[0, 1], [0, 0]], [1, 2], [1, 2]), validate_indices=False)",
    "t.sets.size(s([[0, 0]], [1.0], [1, 2]))",
    "t.sets.size(s([[0]], [1], [2]))",
    "t.sets.size([[1]])",
    "t.sets.union([[1, 2, 2], [5, 3, 5]], [[3, 1, 0], [3, 3, 3]])",
    "t.sets.intersection([[1, 2, 2], [5, 3, 5]], [[3, 1, 0], [3, 3, 3]])",
    "t.sets.intersection([[1], [5]], [[3], [3]])",
    "t.sets.difference([[1, 2, 2], [5, 3, 5]], [[3, 1, 0], [3, 3, 3]])",
    "t.sets.difference([[1, 2, 2], [5, 3, 5]], [[3, 1, 0], [3, 3, 3]], aminusb=False)",
    "t.sets.difference([['a', 'b']], [['b', '']])",
    "t.sets.union([[1, 2]], s([[0, 0], [0, 2]], [7, 1], [1, 3]))",
    "t.sets.union(s([[0, 0], [0, 2]], [7, 1], [1, 3]), [[1, 2]])",
    "t.sets.difference(s([[0, 0], [0, 2]], [7, 1], [1, 3]), [[1, 2]])",
    "t.sets.difference(s([[0, 0], [0, 2]], [7, 1], [1, 3]), [[1, 2]], aminusb=False)",
    "t.sets.difference([[1, 2]], s([[0, 0], [0, 2]], [7, 1], [1, 3]))",
    "t.sets.intersection(s([[0, 0], [2, 0]], [7, 1], [3, 1]), s([[2, 1], [2, 4]], [1, 7], [3, 5]))",
    "t.sets.union(s([[0, 0, 0]], [7], [1, 2, 1]), s([[0, 1, 4]], [1], [1, 2, 5]))",
    "t.sets.union([[[1], [2]]], [[[2, 3], [2, 2]]])",
    "t.sets.union([1, 2], [2, 3])",
    "t.sets.union([[1]], [[2], [3]])",
    "t.sets.union([[1]], [['a']])",
    "t.sets.union([[1.0]], [[2.0]])",
    "t.sets.union(s([[0, 1], [0, 0]], [1, 2], [1, 2]), s([[0, 0]], [1], [1, 2]))",
    "t.sets.union(s([[0, 0]], [1], [2, 2]), s([[0, 0]], [1], [1, 2]))",
    "t.sets.union(t.placeholder_with_default([[1]], None), [[2]])",
)


def _outcome(t: Any, expression: str) -> Any:
    with t.Graph().as_default(), t.Session() as session:
        try:
            made = eval(expression, {"t": t, "s": t.SparseTensor})
            is_sparse = isinstance(made, t.SparseTensor)
            parts = [made.indices, made.values, made.dense_shape] if is_sparse else [made]
            return [
                (str(x.shape), v.dtype, v.tolist()) for x, v in zip(parts, session.run(parts), strict=True)
            ]
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("expression", CASES)
def test_the_same_as_tensorflow(expression: str) -> None:
    assert _outcome(tf, expression) == _outcome(tensorflow, expression)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_sets(data: Any) -> None:
    rows, widths = data.draw(st.integers(1, 3)), [data.draw(st.integers(0, 4)) for _ in range(2)]
    dtype = data.draw(st.sampled_from([np.int8, np.uint16, np.int64]))
    arrays = [
        np.array(data.draw(st.lists(st.integers(0, 5), min_size=rows * w, max_size=rows * w)), dtype)
        for w in widths
    ]
    first, second = (array.reshape(rows, w) for array, w in zip(arrays, widths, strict=True))
    operation = data.draw(st.sampled_from(["union", "intersection", "difference"]))

    def result(t: Any) -> Any:
        with t.Graph().as_default(), t.Session() as session:
            return [part.tolist() for part in session.run(getattr(t.sets, operation)(first, second))]

    assert result(tf) == result(tensorflow)
