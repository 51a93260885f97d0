"""Fetched arrays of one element as numbers, which NumPy no longer makes of arrays by itself."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tensorfleet.run.older_arrays import FetchedArray

PROGRAM = """
import math
import numpy as np
import tensorflow as tf
w = tf.Variable([1.5])
rows = tf.constant([[1.0], [2.0]])
fed = tf.placeholder(tf.float32, [1])
with tf.Session() as session:
    session.run(w.initializer)
    value, pair, again = session.run([w, rows, fed + 1.0], {fed: [3.0]})
    print("w: %f, %d" % (session.run(w), value), float(pair[1]), int(again), math.sqrt(value * 1.5))
    losses = np.zeros(2)
    losses[1] = session.run(w)
    print(losses, session.run({"w": w}), value, [value])
    print(session.run(fed, {fed: session.run(w)}) + session.run(fed, {fed: value}))
"""


def test_a_program_prints_what_it_fetched(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "tensorfleet.run", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "w: 1.500000, 1 2.0 4 1.5",
        "[0.  1.5] {'w': array([1.5], dtype=float32)} [1.5] [array([1.5], dtype=float32)]",
        "[3.]",
    ]


def test_arrays_of_several_elements_are_no_numbers() -> None:
    array = np.zeros(2).view(FetchedArray)
    for number in (float, int, complex):
        with pytest.raises(TypeError, match="only size-1 arrays"):
            number(array)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_is_pickled_needs_no_class_of_ours(protocol: int) -> None:
    again = pickle.loads(pickle.dumps(np.ones((1, 1)).view(FetchedArray), protocol))
    assert type(again) is np.ndarray
    assert again.tolist() == [[1.0]]


def test_copies_stay_arrays() -> None:
    array = np.ones(1, np.int32).view(FetchedArray)
    for again in (copy.copy(array), copy.deepcopy(array), array.copy()):
        assert again.dtype == np.int32
        assert int(np.asarray(again).item()) == 1
    assert repr(array) == "array([1], dtype=int32)"
