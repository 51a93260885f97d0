"""The example programs, in this process and on clusters."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tensorfleet.examples import add_238, matmul_in_parts, mean_of_slices, random_matmul, split_sum
from tensorfleet_service.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def local() -> Iterator[LocalCluster]:
    with LocalCluster({"local": 2}) as cluster:
        yield cluster


class Lines:
    """The lines of a cluster's log, which come when they come."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str]] = []
        self._more = threading.Condition()

    def add(self, task: str, line: str) -> None:
        with self._more:
            self._lines.append((task, line))
            self._more.notify_all()

    def wait_for(self, task: str, printed: str) -> bool:
        def has_come() -> bool:
            return any(t == task and line.endswith(f" print: {printed}") for t, line in self._lines)

        with self._more:
            return self._more.wait_for(has_come, 20)


@pytest.fixture(scope="module")
def ps_and_workers() -> Iterator[tuple[LocalCluster, Lines]]:
    """A cluster, and the lines of its log."""
    lines = Lines()
    with LocalCluster({"ps": 1, "worker": 2}, log=lines.add) as cluster:
        yield cluster, lines


def test_add_238(local: LocalCluster) -> None:
    assert add_238.main() == 238
    assert add_238.main(local.target) == 238


def test_mean_of_slices(local: LocalCluster) -> None:
    expected = np.random.RandomState(0).random_sample(100).mean()
    assert mean_of_slices.main() == pytest.approx((expected, expected), rel=1e-6)
    assert mean_of_slices.main(local.target) == pytest.approx((expected, expected), rel=1e-6)


def test_split_sum(ps_and_workers: tuple[LocalCluster, Lines], capsys: pytest.CaptureFixture[str]) -> None:
    cluster, lines = ps_and_workers
    assert split_sum.main(cluster.target) == 45
    devices = [line.split()[0] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert sorted(devices) == [
        f"/job:{task}/device:CPU:0"
        for task in ("ps/replica:0/task:0", "worker/replica:0/task:0", "worker/replica:0/task:1")
    ]
    assert lines.wait_for("/job:worker/task:0", "worker 0: [10]")
    assert lines.wait_for("/job:worker/task:1", "worker 1: [35]")


def test_matmul_in_parts(ps_and_workers: tuple[LocalCluster, Lines]) -> None:
    random = np.random.RandomState(0)
    expected = random.random_sample([8, 4]) @ random.random_sample([4, 3])
    np.testing.assert_allclose(matmul_in_parts.main(), expected, rtol=1e-6)
    devices = ("/job:worker/task:0", "/job:worker/task:1")
    result = matmul_in_parts.main(ps_and_workers[0].target, *devices)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_random_matmul(ps_and_workers: tuple[LocalCluster, Lines]) -> None:
    # The sum of A times its transpose is the sum over columns of their squared sums: of 100 columns, 50 ** 2.
    assert random_matmul.main(size=100) == pytest.approx(100 * 50**2, rel=0.05)
    assert random_matmul.main(ps_and_workers[0].target, "gpu", 100) == pytest.approx(100 * 50**2, rel=0.05)


def test_programs_run_from_the_command_line() -> None:
    command = [sys.executable, "-m", "tensorfleet.examples.add_238"]
    assert subprocess.check_output(command, text=True, timeout=60) == "238\n"
