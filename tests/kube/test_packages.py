"""The program in the pod of `tensorfleet submit --requirements`, here without a pod."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorfleet.kube import packages
from tests.kube.wheels import make_wheel

pytest.importorskip("pip", reason="needs pip in this environment: python -m ensurepip")

SCRIPT = """
import sys, os, mine, numpy
print(mine.WHO, sys.argv[1:], os.path.basename(os.getcwd()), numpy.__version__)
sys.exit(7)
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The directory /job of a pod."""
    directory = tmp_path / "job"
    directory.mkdir()
    (directory / "packages.py").write_bytes(Path(packages.__file__).read_bytes())
    (directory / "main.py").write_text(SCRIPT)
    return directory


def run(job: Path, *wanted: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(job), "PIP_NO_INDEX": "1"}
    command = [sys.executable, str(job / "packages.py"), *wanted, "--", str(job / "main.py"), "a", "--", "b"]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)


def test_a_wheel_is_installed_and_the_script_takes_over(job: Path) -> None:
    import numpy

    done = run(job, make_wheel(job, "numpy"))
    assert done.returncode == 7, done.stdout + done.stderr
    assert done.stdout == f"mine ['a', '--', 'b'] job {numpy.__version__}\n"


def test_a_requirements_file_finds_the_wheels_beside_it(job: Path) -> None:
    make_wheel(job)
    (job / "requirements.txt").write_text("mine>=1\nnumpy\n")
    done = run(job, "requirements.txt")
    assert done.returncode == 7, done.stdout + done.stderr


def test_what_cannot_be_installed_is_said(job: Path) -> None:
    (job / "requirements.txt").write_text("no-such-package-of-mine\n")
    done = run(job, "requirements.txt")
    assert done.returncode == packages.FAILED
    assert "PIP_INDEX_URL" in done.stdout
    assert "no-such-package-of-mine" in done.stdout


def test_what_the_image_has_is_not_replaced(job: Path) -> None:
    done = run(job, make_wheel(job, "numpy<1"))
    assert done.returncode == packages.FAILED
    assert "mine 1.0 depends on numpy<1" in done.stdout
