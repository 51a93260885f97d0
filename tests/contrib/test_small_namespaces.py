"""Namespaces of tf.contrib that are small, or whose names are those of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf


def nearest(z: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex, by bisection for the threshold."""
    low, high = z.min() - 1.0, z.max()
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(z - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(z - low, 0)


def test_sparsemax_and_its_loss() -> None:
    logits = np.random.default_rng(2).normal(size=(6, 5)) * 2
    labels = np.eye(5)[[0, 1, 2, 3, 4, 0]]
    z = tf.constant(logits)
    p = tf.contrib.sparsemax.sparsemax(z)
    loss = tf.contrib.sparsemax.sparsemax_loss(z, p, labels)
    with tf.Session() as session:
        found, losses = session.run([p, loss])
        [slope] = session.run(tf.gradients(loss, z, stop_gradients=[p]))
    expected = np.array([nearest(row) for row in logits])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (found == 0).any()
    threshold = (logits - found)[np.arange(6), found.argmax(1)]
    squares = np.where(found > 0, logits**2 - threshold[:, None] ** 2, 0).sum(1)
    np.testing.assert_allclose(losses, 0.5 * squares + 0.5 - (labels * logits).sum(1), atol=1e-9)
    # The mean is taken off the logits, and so of the slopes: they add up to zero in any case.
    np.testing.assert_allclose(slope, expected - labels, atol=1e-9)


def test_a_saved_model_is_a_function(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        v = tf.Variable(3.0)
        y = x * v
        session.run(v.initializer)
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
        name = y.name
    from_saved_model = tf.contrib.predictor.from_saved_model
    predict = from_saved_model(str(tmp_path / "model"))
    assert predict({"x": [1.0, 2.0]})["y"].tolist() == [3.0, 6.0]
    with pytest.raises(ValueError, match="unexpected keys in input_dict: z"):
        predict({"z": [1.0]})
    predict.close()
    named = from_saved_model(str(tmp_path / "model"), input_names={"in": "x:0"}, output_names={"out": name})
    assert named({"in": [2.0]})["out"].tolist() == [6.0]
    named.close()
    with pytest.raises(ValueError, match="Available signatures are serving_default"):
        from_saved_model(str(tmp_path / "model"), "other")
    with pytest.raises(ValueError, match="must both be given"):
        from_saved_model(str(tmp_path / "model"), input_names={"in": "x:0"})


def test_names_of_others() -> None:
    assert tf.contrib.hooks.ProfilerHook is tf.train.ProfilerHook
    assert tf.contrib.signal.stft is tf.signal.stft
    assert tf.contrib.stateless.stateless_random_uniform is tf.random.stateless_uniform
    found = tf.contrib.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec({"ps": ["a:1"]}))
    assert found.cluster_spec().as_dict() == {"ps": ["a:1"]}


def test_older_places_of_keras_and_of_linear_operators() -> None:
    assert tf.contrib.keras.layers.Dense is tf.keras.layers.Dense
    assert tf.contrib.keras.models.Sequential is tf.keras.models.Sequential
    assert tf.contrib.linalg.LinearOperatorDiag is tf.linalg.LinearOperatorDiag


def match(distances: np.ndarray, rows: int, most: int) -> tuple[list[int], list[int]]:
    """Pairs of the smallest distances, by sorting all of them."""
    of_row, of_column = [-1] * len(distances), [-1] * distances.shape[1]
    for place in np.argsort(distances[:rows], axis=None, kind="stable"):
        row, column = divmod(int(place), distances.shape[1])
        if of_row[row] == of_column[column] == -1 and sum(c >= 0 for c in of_row) < most:
            of_row[row], of_column[column] = column, row
    return of_row, of_column


@pytest.mark.parametrize(("rows", "top_k"), [(-1, -1), (3, 0), (4, 2), (0, 5), (5, 1)])
def test_bipartite_match(rows: int, top_k: int) -> None:
    distances = np.random.default_rng(4).integers(0, 4, (5, 4)).astype(np.float32)
    distances[0, 1] = distances[2] = np.inf
    found = tf.contrib.image.bipartite_match(distances, rows, top_k)
    assert [t.shape.as_list() for t in found] == [[5], [4]]
    expected = match(distances, 5 if rows < 0 else rows, top_k if top_k > 0 else 4)
    assert tuple(t.tolist() for t in tf.Session().run(found)) == expected


def test_bipartite_match_of_more_rows_than_there_are() -> None:
    found = tf.contrib.image.bipartite_match(tf.zeros([2, 2]), 3.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least num_valid_rows rows"):
        tf.Session().run(found)
