"""Where the modules of a program lie, found without importing any."""

from __future__ import annotations

import os
from pathlib import Path

# Folders of what pip installed, which are no part of a program, also where PYTHONPATH has them.
_INSTALLED = {"site-packages", "dist-packages"}


def folders() -> list[Path]:
    """The folders in PYTHONPATH in which a program may have modules."""
    named = [Path(text) for text in os.environ.get("PYTHONPATH", "").split(os.pathsep) if text]
    return [folder for folder in named if not _installed(folder)]


def _installed(folder: Path) -> bool:
    """Whether pip installed what lies in a folder, which `--target` does into folders of any name."""
    return folder.name in _INSTALLED or next(folder.glob("*.dist-info"), None) is not None


def script_of(module: str) -> tuple[Path, Path] | None:
    """The file that `python -m MODULE` runs, and the folder in which it was found; None if there is none.

    Only the folders of a program are looked through: this one, and those in PYTHONPATH.
    """
    for folder in (Path(), *folders()):
        place = folder.joinpath(*module.split("."))
        for path in (place / "__main__.py", place.with_name(f"{place.name}.py")):
            if path.is_file():
                return path, folder
    return None
