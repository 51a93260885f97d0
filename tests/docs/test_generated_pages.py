"""docs/ops.md and docs/missing.md say what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["generate_ops.py", "generate_missing.py"])
def test_the_page_is_current(script: str) -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "docs" / script), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
