"""The classic distributed program, one process for each task."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.processes import free_ports

SECONDS = 90.0
STEPS = 300
MORE_STEPS = 4  # a worker may see the global step from before its own last step, and from before the other's


@contextmanager
def task(job: str, index: int, flags: list[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tensorfleet.examples.mnist_distributed", *flags]
    command += [f"--job_name={job}", f"--task_index={index}"]
    # The processes share their cores: one thread each.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("saving", [False, True], ids=["", "saving"])
def test_two_workers_train_together(saving: bool, tmp_path: Path) -> None:
    ps, *workers = (f"127.0.0.1:{port}" for port in free_ports(3))
    flags = [
        f"--ps_hosts={ps}",
        f"--worker_hosts={','.join(workers)}",
        f"--steps={STEPS}",
        "--max_wait_secs=60",
    ]
    if saving:
        flags.append(f"--log_dir={tmp_path}")
    with task("worker", 1, flags) as other, task("worker", 0, flags) as chief, task("ps", 0, flags) as server:
        texts = []
        for process in (other, chief):
            out, err = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, err
            texts.append(out)
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=SECONDS)
        assert server.returncode == 0, err
    local_steps = 0
    for text in texts:
        losses = [float(loss) for loss in re.findall(r"loss (\S+?)(?:,|$)", text, re.MULTILINE)]
        assert losses[-1] < 0.35, text
        last = re.search(r"(\d+) of (\d+) steps, .* test accuracy (\S+)", text)
        assert last is not None, text
        local_steps += int(last[1])
        assert STEPS <= int(last[2]) <= STEPS + MORE_STEPS
        assert float(last[3]) > 0.75
    assert STEPS <= local_steps <= STEPS + MORE_STEPS
    first = re.search(r"worker 0: step \d+, loss (\S+)", texts[1])
    assert first is not None
    assert float(first[1]) > 1.0
    if saving:
        assert (tmp_path / "checkpoint").exists()
        assert list(tmp_path.glob("events.out.tfevents.*"))
