"""What `inspect_checkpoint` prints about a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.run import paths


@pytest.fixture
def saved(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(np.arange(6.0).reshape(2, 3), name="a")
        tf.Variable(tf.zeros([4], tf.float32), name="b")
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(tmp_path / "model"))


def test_what_is_printed(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    tools: Any = paths.module("python.tools")

    def printed(*arguments: Any) -> list[str]:
        tools.inspect_checkpoint.print_tensors_in_checkpoint_file(saved, *arguments)
        return capsys.readouterr().out.splitlines()

    a = ["tensor: a (float64) [2, 3]", "[[0. 1. 2.]", " [3. 4. 5.]]"]
    b = ["tensor: b (float32) [4]", "[0. 0. 0. 0.]"]
    count = ["# Total number of params: 10"]
    assert printed("a", False) == a + count
    assert printed(None, True) == a + b + count
    assert printed("", False, True) == a[:1] + b[:1] + count
    assert printed("", False) == ["a (DT_DOUBLE) [2,3]", "b (DT_FLOAT) [4]", "", *count]
    excluding = "# Excluding 1 tensors (4 params) that match b when counting."
    assert printed("a", False, False, "b") == [*a, excluding, "# Total number of params: 6"]
    (line,) = printed("c", False)
    assert "c not found in checkpoint" in line


def test_the_cache_of_writers() -> None:
    cache: Any = paths.module("python.summary.writer.writer_cache")
    assert cache.FileWriterCache is tf.summary.FileWriterCache
