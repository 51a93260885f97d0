"""A wheel for tests."""

from __future__ import annotations

import zipfile
from pathlib import Path


def make_wheel(directory: Path, requires: str = "") -> str:
    """A wheel of the package `mine`."""
    name = "mine-1.0-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n" + (
        f"Requires-Dist: {requires}\n" if requires else ""
    )
    files = {
        "mine.py": "WHO = 'mine'\n",
        "mine-1.0.dist-info/METADATA": about,
        "mine-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, "mine-1.0.dist-info/RECORD"))
    with zipfile.ZipFile(directory / name, "w") as wheel:
        for file, text in {**files, "mine-1.0.dist-info/RECORD": record}.items():
            wheel.writestr(file, text)
    return name
