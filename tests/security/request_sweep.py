"""Finds requests that keep the interpreter for long: `python -m tests.security.request_sweep [NAME...]`.

A task in a process of its own is sent large and hostile graphs and requests. Meanwhile a thread there, which
wants to run once a millisecond, notes for how long it could not, and where the others were. `--nodes` and
`--megabytes` say how large the requests are. No test runs this: it takes half an hour, and says what is so on
the machine where it runs.
"""

from __future__ import annotations

import argparse

from tests.security.hostile_requests import CASES
from tests.security.watched_task import Task


def main() -> None:
    shown = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shown)
    parser.add_argument("names", nargs="*", choices=[[], *CASES])
    parser.add_argument("--nodes", type=int, default=300_000)
    parser.add_argument("--megabytes", type=int, default=128)
    options = parser.parse_args()
    for name in options.names or CASES:
        task = Task()
        try:
            print(name, flush=True)
            CASES[name](task, options.nodes, options.megabytes)
        finally:
            task.stop()


if __name__ == "__main__":
    main()
