"""Detection of a missing module in a script's output, with advice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

_ERROR = re.compile(rb"ModuleNotFoundError: No module named '([\w.]+)'")


class Watch:
    """Passes lines on; `module` is the name in the last error about a missing module."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self.module = ""

    def __call__(self, line: bytes) -> None:
        self._write(line)
        found = _ERROR.match(line)
        if found:
            self.module = found[1].decode()


def hint(module: str, script: str) -> str:
    """Advice how to provide the module: from a file or directory beside the script, or from a package."""
    top = module.partition(".")[0]
    beside = Path(script).parent
    own = next((path for path in (beside / top, beside / f"{top}.py") if path.exists()), None)
    if own is not None:
        return f"the script needs the module {module}, which is beside it: send it along with --file {own}"
    return (
        f"the pod has no module {module}. A file or folder of yours is sent along with --file; a package is "
        "installed with --requirements FILE (a requirements file or a wheel). Or use an image that has it: "
        "--image"
    )
