"""Memory that is freed in a step is there in the next, without the system's help."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from tensorfleet_service.devices.allocator import keep_freed_memory

print(keep_freed_memory())

def step():
    arrays = [np.ones(100_000, np.float32) for _ in range(8)]

for _ in range(10):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 100)
"""


def run(**environment: str) -> list[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator has the thresholds")
def test_freed_memory_is_used_again() -> None:
    done, faults = run()
    assert done == "True"
    assert float(faults) < 50  # of the 800 pages that a step uses


def test_settings_of_the_environment_are_left_alone() -> None:
    assert run(MALLOC_TRIM_THRESHOLD_="0")[0] == "False"
