"""The benchmark for GPUs runs, here on the CPU and without the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_a_table_of_cases() -> None:
    command = [sys.executable, str(DOCS / "benchmark_gpu.py"), "--device", "cpu", "--passes", "1"]
    cases = ["overhead_one_addition", "mlp_step", "lstm_step_64x256"]
    done = subprocess.run(
        [*command, "--only", *cases], check=True, capture_output=True, text=True, timeout=120
    )
    rows = [line.split("|") for line in done.stdout.splitlines()]
    assert rows[0][1:3] == [" case ", f" tensorfleet {rows[0][2].split()[1]} "]
    assert [row[1].strip() for row in rows[2:]] == cases
    assert all(row[2].endswith(" us ") and float(row[2].split()[0].replace(",", "")) > 0 for row in rows[2:])
