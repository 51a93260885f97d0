"""The TensorFleet client on a real TensorFlow server, which checks the GraphDefs that we send.

Server and client run in one process in a network namespace of their own (see on_tensorflow_server.py).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")

from tests.compat.random_graphs import programs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).resolve().parents[2]
RUN_SECONDS = 300
PROGRAMS = [
    "constants_over_two_tasks",
    "mean_of_slices",
    "traced_sum_of_halves",
    "reference_variable",
    "resource_variable",
    "extend_and_callables",
    "partial_run",
    "errors_name_the_operation",
    "feeds_of_many_types",
]


def _namespace_problem() -> str:
    """Why no namespace with a loopback alone can be made; empty if it can."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return "unshare and ip are needed"
    made = subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True, timeout=30)
    return made.stderr.decode().strip()


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """The outcome of each program: an empty text, or how it failed."""
    problem = _namespace_problem()
    if problem:
        pytest.skip(f"no network namespace: {problem}")
    inside = 'ip link set lo up && exec "$0" -m tests.compat.on_tensorflow_server'
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", inside, sys.executable],
        cwd=ROOT,
        capture_output=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(results: dict[str, str], name: str) -> None:
    assert not results[name], results[name]


@pytest.mark.parametrize("op", sorted(programs.covered()))
def test_op(results: dict[str, str], op: str) -> None:
    """Nodes of the op type, run by TensorFlow's server, give what our own session gives."""
    assert not results[f"op {op}"], results[f"op {op}"]


def test_nothing_is_left_out(results: dict[str, str]) -> None:
    assert set(results) == {*PROGRAMS, *(f"op {op}" for op in programs.covered())}
