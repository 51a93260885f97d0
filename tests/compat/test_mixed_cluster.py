"""Clusters of our tasks and TensorFlow's: each program gives what it gives on TensorFlow's alone.

Servers and clients run in a network namespace of their own (see on_mixed_cluster.py).
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")

from tests.compat.mixed_programs import PROGRAMS
from tests.compat.test_tensorflow_server import ROOT, _namespace_problem

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700)]

RUN_SECONDS = 600
MIXED = ["our ps", "our worker"]
CLIENTS = ["tensorflow", "ours"]


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """The outcome of each program: an empty text, or how it failed."""
    problem = _namespace_problem()
    if problem:
        pytest.skip(f"no network namespace: {problem}")
    inside = 'ip link set lo up && exec "$0" -m tests.compat.on_mixed_cluster'
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", inside, sys.executable],
        cwd=ROOT,
        capture_output=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cluster", ["tensorflow", *MIXED])
def test_program(results: dict[str, str], cluster: str, name: str, client: str) -> None:
    found = results[f"{cluster}, client {client}: {name}"]
    assert not found, found


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("job", ["ps", "worker"])
@pytest.mark.parametrize("cluster", MIXED)
def test_recovery(results: dict[str, str], cluster: str, job: str, client: str) -> None:
    found = results[f"{cluster}, client {client}: {job} restarts"]
    assert not found, found


@pytest.mark.parametrize("client", CLIENTS)
def test_three_tasks(results: dict[str, str], client: str) -> None:
    found = results[f"three tasks, client {client}"]
    assert not found, found
