"""The classic distributed program, and the monitored one, one process for each task."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.training import run

STEPS = 300
MORE_STEPS = 6  # a worker may see the global step from before its own last step, and from before the others'

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.mark.parametrize(("ps", "workers", "saving"), [(1, 2, False), (2, 3, True)], ids=["", "saving"])
def test_workers_train_together(ps: int, workers: int, saving: bool, tmp_path: Path) -> None:
    flags = [f"--steps={STEPS}", "--max_wait_secs=60"] + [f"--log_dir={tmp_path}"] * saving
    texts = run("mnist_distributed", ps, workers, *flags)
    local_steps = 0
    for text in texts:
        losses = [float(loss) for loss in re.findall(r"loss (\S+?)(?:,|$)", text, re.MULTILINE)]
        assert losses[-1] < 0.6, text  # of one batch
        last = re.search(r"(\d+) of (\d+) steps, .* test accuracy (\S+)", text)
        assert last is not None, text
        local_steps += int(last[1])
        assert STEPS <= int(last[2]) <= STEPS + MORE_STEPS
        assert float(last[3]) > 0.75
    assert STEPS <= local_steps <= STEPS + MORE_STEPS
    # Whichever worker is first: another may print its first step when the rest have trained for long.
    reports = re.findall(r"worker \d+: step (\d+), loss (\S+)", "\n".join(texts))
    _, first = min((int(step), float(loss)) for step, loss in reports)
    assert first > 1.0
    if saving:
        assert (tmp_path / "checkpoint").exists()
        saved = max(int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("model.ckpt-*.index"))
        assert STEPS <= saved <= STEPS + MORE_STEPS  # and not the first state alone
        assert list(tmp_path.glob("events.out.tfevents.*"))


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
def test_monitored_workers_train_together(sync: bool, tmp_path: Path) -> None:
    flags = [f"--steps={STEPS}", f"--checkpoint_dir={tmp_path}"] + ["--sync_replicas"] * sync
    ends = [
        re.search(r"(\d+) steps, .* test accuracy (\S+)", text)
        for text in run("mnist_monitored", 1, 2, *flags)
    ]
    steps = [int(end[1]) for end in ends if end is not None]
    assert len(steps) == 2
    assert all(float(end[2]) > 0.75 for end in ends if end is not None)
    # A synchronous step takes two gradients, seldom both of one worker; an asynchronous one is one gradient.
    gradients = 2 if sync else 1
    assert gradients * STEPS - MORE_STEPS <= sum(steps) <= gradients * STEPS + MORE_STEPS
    saved = max(int(path.stem.rpartition("-")[2]) for path in tmp_path.glob("model.ckpt-*.index"))
    assert STEPS <= saved <= STEPS + MORE_STEPS
    assert list(tmp_path.glob("events.out.tfevents.*"))
