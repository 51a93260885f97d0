"""NaN and infinity are values: no task writes NumPy's warnings of them into its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.session.connect import FORCE_VARIABLE
from tests.compat.cluster import running

pytestmark = [pytest.mark.cluster]


@pytest.mark.parametrize("transport", ["stream", "grpc"])
def test_the_log_says_nothing_of_values(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FORCE_VARIABLE, transport)
    with running({"ps": 1, "worker": 1}, tmp_path) as cluster:
        for fetches, feeds in _programs():
            with tf.Session(cluster.target("worker"), graph=fetches[0].graph) as session:
                # A plan that is known to be short runs on the thread that takes the call.
                for fetch in fetches * 3:
                    assert not np.isfinite(session.run(fetch, feeds)).all()
        logs = cluster.log("ps") + cluster.log("worker")
    assert "serves at" in logs
    assert "Warning" not in logs


def _programs() -> list[tuple[list[tf.Tensor], dict[tf.Tensor, Any]]]:
    """Tensors that overflow, divide by zero or have no value: on either task, over both, small and large."""
    programs = []
    for size in (3, 300_000):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None])
            fetches: list[tf.Tensor] = [tf.exp(tf.constant(1000.0)) + 0.0]  # the master computes it
            for task in ("/job:ps/task:0", "/job:worker/task:0"):
                with tf.device(task):
                    fetches += [
                        tf.exp(x * 1000.0) / 0.0,
                        tf.log(-x),
                        tf.cast(tf.cast(x, tf.float64) * 1e300, tf.float32),
                        tf.reduce_sum(x * 3e38),
                        tf.while_loop(lambda v: tf.reduce_min(v) < 1e38, lambda v: v * 1e30, [x]),
                        fetches[-1] * 3e38,
                    ]
            elements = tf.data.Dataset.from_tensor_slices(np.ones(9, np.float32))
            elements = elements.map(lambda e: tf.exp(e * 1000.0) / 0.0, num_parallel_calls=2).prefetch(2)
            fetches.append(tf.data.make_one_shot_iterator(elements).get_next())
            programs.append((fetches, {x: np.ones(size, np.float32)}))
    return programs


def test_python_functions_keep_their_own_warnings() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        overflow = tf.py_func(lambda v: v * np.float32(3e38), [tf.constant([3e38])], tf.float32)
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(session.run(overflow)).all()
