"""Fuzzes one parser with atheris, which follows the code that inputs reach, until it is stopped.

    python -m tests.fuzz.coverage_guided TARGET [options of libFuzzer, such as -max_total_time=600]

Inputs that fail are written into the working directory, as `crash-…`. No test runs this: it has no end.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris


def main() -> None:
    with atheris.instrument_imports(include=["tensorfleet", "tensorfleet_service"]):
        from tests.fuzz.targets import TARGETS
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"{__doc__}\nTARGET is one of {', '.join(TARGETS)}")
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        try:
            target.run(data)
        except target.raises:
            return

    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(target.seeds()):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([*sys.argv, corpus], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
