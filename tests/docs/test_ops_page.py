"""docs/ops.md lists the ops that there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_list_of_ops_is_current() -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate_ops.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
