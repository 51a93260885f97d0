"""Training without parameter servers, one process for each worker, or one process for all."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.examples.training import SECONDS, run

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

END = re.compile(r"worker (\d+): 200 steps, test accuracy (\S+), parameters (\w{16})")


def check(text: str, workers: int) -> None:
    ends = END.findall(text)
    assert sorted(int(index) for index, _, _ in ends) == list(range(workers)), text
    assert len({checksum for _, _, checksum in ends}) == 1
    assert all(float(accuracy) > 0.75 for _, accuracy, _ in ends)


@pytest.mark.parametrize("workers", [1, 3])
def test_between_graphs(workers: int) -> None:
    check("".join(run("mnist_allreduce", 0, workers, "--steps=200")), workers)


def test_in_one_graph() -> None:
    command = [sys.executable, "-m", "tensorfleet.examples.mnist_allreduce", "--replicas=2", "--steps=200"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    check(done.stdout, 2)
