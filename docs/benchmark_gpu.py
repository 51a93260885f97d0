"""Kernels, steps of networks and transfers on one GPU, beside PyTorch and JAX by turns.

    ./run bench --gpu
    python docs/benchmark_gpu.py [--device cpu] [--passes 3] [--only NAME …] [--torch PYTHON] [--jax PYTHON]

Each framework is a process of its own, which computes while the others wait, so that they have the card by
turns. `--torch` and `--jax` name interpreters that have these packages; without one the column is left out. A
ratio over 1 means that TensorFleet is ahead: the other's time by ours, the median of the passes' own ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpu_cases import CASES, FRAMEWORKS, flops

SECONDS = 0.3
"""The least time of a measurement, of which the best of three counts."""


def measure(run: Any) -> float:
    """Seconds of an iteration."""
    run(3)  # compiles what has to be compiled, and fills the pools of memory
    count = 1
    while True:
        started = time.perf_counter()
        run(count)
        took = time.perf_counter() - started
        if took >= SECONDS:
            break
        count = max(count * 2, int(count * SECONDS / max(took, 1e-9)))
    best = took
    for _ in range(2):
        started = time.perf_counter()
        run(count)
        best = min(best, time.perf_counter() - started)
    return best / count


def serve(framework: str, device: str) -> None:
    """Measures the cases whose names come by standard input, one a line, and answers each with a line."""
    made = FRAMEWORKS[framework](device)
    print(json.dumps(made.version), flush=True)
    cases: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in cases:
            cases[name] = made.case(name)
        print(json.dumps(None if cases[name] is None else measure(cases[name])), flush=True)


class Peer:
    """A framework's process."""

    def __init__(self, name: str, python: str, device: str) -> None:
        self.name = name
        command = [python, str(Path(__file__).resolve()), "--serve", name, "--device", device]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"benchmark_gpu: the process of {self.name} has ended with {self._process.wait()}")
        return json.loads(line)

    def measure(self, case: str) -> float | None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{case}\n")
        self._process.stdin.flush()
        found: float | None = self._answer()
        return found

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def show(case: str, seconds: float) -> str:
    work = flops(case)
    return f"{seconds * 1e6:,.1f} us" if work is None else f"{work / seconds / 1e12:,.2f} TFLOP/s"


def table(peers: list[Peer], cases: list[str], passes: int) -> None:
    """Prints a row for each case, as a table of Markdown."""
    others = peers[1:]
    print(f"| case | {' | '.join(f'{p.name} {p.version}' for p in peers)} |", end="")
    print("".join(f" beside {p.name} |" for p in others))
    print("|---" * (1 + len(peers) + len(others)) + "|")
    for case in cases:
        rows = [[peer.measure(case) for peer in peers] for _ in range(passes)]
        shown = []
        for column in zip(*rows, strict=True):
            known = [seconds for seconds in column if seconds is not None]
            shown.append(show(case, statistics.median(known)) if known else "")
        for i in range(1, len(peers)):
            ratios = [row[i] / row[0] for row in rows if row[i] is not None and row[0] is not None]
            shown.append(
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})" if ratios else ""
            )
        print(f"| {case} | {' | '.join(shown)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES, metavar="NAME")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--jax", metavar="PYTHON")
    parser.add_argument("--serve", choices=tuple(FRAMEWORKS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.device)
        return
    pythons = {"tensorfleet": sys.executable, "torch": options.torch, "jax": options.jax}
    peers = [Peer(name, python, options.device) for name, python in pythons.items() if python]
    try:
        table(peers, list(options.only), options.passes)
    finally:
        for peer in peers:
            peer.end()


if __name__ == "__main__":
    main()
