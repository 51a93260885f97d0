"""The whole programs of tests/run: their losses are TensorFlow's, step by step, with the same seeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tf_keras")

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "run" / "whole"
SECONDS = 300
COUNT = 12

# Those that need nothing of tf.contrib, which TensorFlow 2 no longer has.
CALLS: dict[str, list[str]] = {
    "actor_critic": [],
    "cnn_records": ["--input=dataset"],
    "dcgan": [],
    "ptb_lm": ["--model=test"],
    "towers": [],
    "word2vec_nce": [],
}


def call(name: str) -> list[str]:
    return [str(PROGRAMS / f"{name}.py"), *CALLS[name]]


@pytest.fixture(scope="module")
def theirs() -> dict[str, list[str]]:
    """The first losses of each program with the real TensorFlow, as it prints them."""
    command = [sys.executable, str(HERE / "on_tensorflow.py"), str(COUNT)]
    command += [json.dumps(call(name)) for name in CALLS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    losses = dict(zip(CALLS, json.loads(done.stdout), strict=True))
    assert all(len(lines) == COUNT for lines in losses.values()), (losses, done.stderr)
    return losses


def ours(name: str) -> list[str]:
    command = [sys.executable, "-m", "tensorfleet.run", *call(name)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    found: list[str] = []
    deadline = threading.Timer(SECONDS, process.kill)
    deadline.start()
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("step"):
                found.append(line)
            if len(found) == COUNT:
                break
        process.kill()
    deadline.cancel()
    return found


def numbers(line: str) -> list[float]:
    """What stands behind "step" and "loss"."""
    return [float(word) for word in line.split() if word not in ("step", "loss")]


@pytest.mark.parametrize("name", CALLS)
def test_losses(name: str, theirs: dict[str, list[str]]) -> None:
    found = ours(name)
    assert len(found) == COUNT, found
    for mine, their in zip(found, theirs[name], strict=True):
        # Rounding grows from step to step, and fastest where two networks learn against each other.
        np.testing.assert_allclose(numbers(mine), numbers(their), rtol=2e-3, atol=1e-4, err_msg=mine + their)
