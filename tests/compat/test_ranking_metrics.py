"""Metrics at k beside TensorFlow's: names of variables, values and updates after each of several batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

tensorflow.disable_v2_behavior()

BATCHES = 3
_RANDOM = np.random.default_rng(7)
SCORES = _RANDOM.normal(size=(BATCHES, 4, 6)).astype(np.float32)
DEEP = _RANDOM.normal(size=(BATCHES, 2, 3, 6)).astype(np.float32)
IDS = np.argsort(-SCORES, axis=-1)[..., :3]
LABELS = _RANDOM.integers(0, 6, (BATCHES, 4, 2))
ONE = _RANDOM.integers(0, 6, (BATCHES, 4))
DEEP_LABELS = _RANDOM.integers(0, 6, (BATCHES, 2, 3, 2))
WEIGHTS = _RANDOM.uniform(0, 2, (BATCHES, 4))

CASES = (
    "m.recall_at_k(d(LABELS), d(SCORES), 2)",
    "m.recall_at_k(d(ONE), d(SCORES), 2)",
    "m.recall_at_k(d(LABELS), d(SCORES), 2, weights=d(WEIGHTS))",
    "m.recall_at_k(d(LABELS), d(SCORES), 2, weights=2.0)",
    "m.recall_at_k(d(LABELS), d(SCORES), 3, class_id=1)",
    "m.recall_at_k(d(LABELS), d(SCORES), 3, class_id=9)",
    "m.recall_at_k(d(LABELS), d(SCORES), 3, name='mine')",
    "m.recall_at_k(sparse(), d(SCORES), 3)",
    "m.recall_at_k(sparse(), d(SCORES), 3, class_id=1)",
    "m.recall_at_k(d(DEEP_LABELS), d(DEEP), 3)",
    "m.recall_at_k(d(LABELS), d(SCORES), 9)",
    "m.recall_at_k(d(DEEP_LABELS), d(SCORES), 2)",
    "m.recall_at_k(d(LABELS.astype(np.int32)), d(SCORES), 2)",
    "m.recall_at_k(d(LABELS), d(SCORES), 2, weights=d(WEIGHTS[:, :3]))",
    "m.recall_at_top_k(d(LABELS), d(IDS))",
    "m.recall_at_top_k(d(LABELS), d(IDS), 3, class_id=2)",
    "m.precision_at_k(d(LABELS), d(SCORES), 2)",
    "m.precision_at_k(d(ONE), d(SCORES), 2, weights=d(WEIGHTS))",
    "m.precision_at_k(d(LABELS), d(SCORES), 3, class_id=1)",
    "m.precision_at_k(sparse(), d(SCORES), 3)",
    "m.precision_at_top_k(d(LABELS), d(IDS), name='mine')",
    "m.sparse_precision_at_k(d(LABELS), d(SCORES), 2)",
    "m.average_precision_at_k(d(LABELS), d(SCORES), 3)",
    "m.average_precision_at_k(d(ONE), d(SCORES), 3)",
    "m.average_precision_at_k(d(ONE), d(SCORES), 3, weights=d(WEIGHTS))",
    "m.average_precision_at_k(sparse(), d(SCORES), 2)",
    "m.average_precision_at_k(d(DEEP_LABELS), d(DEEP), 4)",
    "m.average_precision_at_k(d(LABELS), d(SCORES), 0)",
    "m.sparse_average_precision_at_k(d(LABELS), d(SCORES), 3)",
    "m.average_precision_at_k(d(LABELS), d(SCORES), 3, metrics_collections=['a'], updates_collections=['b'])",
)


def _outcome(t: Any, expression: str) -> Any:
    fed: list[tuple[Any, Any]] = []

    def data(array: Any) -> Any:
        fed.append((t.placeholder(t.as_dtype(array.dtype), array.shape[1:]), array))
        return fed[-1][0]

    def sparse() -> Any:
        return t.SparseTensor([[0, 0], [0, 1], [2, 0]], np.array([1, 4, 3], np.int64), [4, 2])

    with t.Graph().as_default() as graph, t.Session() as session:
        try:
            value, update = eval(expression, {"m": t.metrics, "d": data, "sparse": sparse, **globals()})
            session.run(t.local_variables_initializer())
            values = [session.run(value)]
            for i in range(BATCHES):
                feed = {placeholder: array[i] for placeholder, array in fed}
                values += [session.run(update, feed), session.run(value)]
        except Exception as error:
            return type(error).__name__
        variables = graph.get_collection("metric_variables")
        assert len(graph.get_collection("a")) == len(graph.get_collection("b"))
        # A check of labels that TensorFlow 1.15 does not have takes the first name there.
        names = [(v.name.replace("max_1", "max"), v.dtype.name) for v in variables]
        return names, value.name, update.name.rsplit("/", 1)[0], values


@pytest.mark.parametrize("expression", CASES)
def test_the_same_as_tensorflow(expression: str) -> None:
    theirs, ours = _outcome(tensorflow, expression), _outcome(tf, expression)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    assert ours[:3] == theirs[:3]
    np.testing.assert_allclose(ours[3], theirs[3], rtol=1e-6)
