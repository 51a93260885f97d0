"""Convolutional and recurrent networks on a cluster: they learn the packaged sample, by data and by "
"layers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tensorfleet_service.local_cluster import LocalCluster

SECONDS = 240.0

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with LocalCluster({"ps": 1, "worker": 2}) as cluster:
        yield cluster.target


@pytest.mark.parametrize(
    ("network", "parallel", "epochs", "least"),
    [("cnn", "data", 6, 0.85), ("cnn", "model", 2, 0.5), ("lstm", "data", 4, 0.5), ("gru", "model", 4, 0.4)],
)
def test_a_network_learns(network: str, parallel: str, epochs: int, least: float, target: str) -> None:
    command = [sys.executable, "-m", "tensorfleet.examples.mnist_networks", f"--target={target}"]
    command += [f"--network={network}", f"--parallel={parallel}", f"--epochs={epochs}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"test digits: ([\d.]+)", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy[1]) > least
