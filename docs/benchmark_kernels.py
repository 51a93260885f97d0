"""How long ops take, in TensorFleet and in TensorFlow by turns: the table of docs/kernels.md.

    python docs/benchmark_kernels.py [--only TEXT …] [--sizes N …] [--turns 5] [--rows FILE] [--write]

needs both installed. `TENSORFLOW_PYTHON` and `TENSORFLEET_PYTHON` name interpreters where they are not in the
same environment. Each side is one process, which runs one burst of steps of an op after the other side's; a
step runs one op (and what its name says) on variables, and fetches nothing. A ratio over 1 means that
TensorFleet is ahead.

A time is that of the shortest step of all bursts, so that other work on the machine falls on neither side.
Beside the ratio of these stands that of the mean processor time of a step, all threads together: where no
core is idle, it is what counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kernel_cases import SCALES, cases

MODULES = {"tensorflow": "tensorflow.compat.v1", "tensorfleet": "tensorfleet"}
BURST_SECONDS = 0.06
LEAST_STEPS = 3
TABLE = Path(__file__).with_name("kernels.md")
START, END = "<!-- table -->", "<!-- end of table -->"


def answer(module: str) -> None:
    """Builds and times what each line of standard input asks for."""
    tf = importlib.import_module(module)
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    known = cases(tf)
    session: Any = None
    targets: list[Any] = []
    for line in sys.stdin:
        request = json.loads(line)
        if "name" in request:
            try:
                with tf.Graph().as_default() as graph:
                    built = known[request["family"]][request["name"]](request["size"])
                    many = built if isinstance(built, (list, tuple)) else [built]
                    targets = [getattr(x, "op", x) for x in many if x is not None]
                    initialize = tf.global_variables_initializer()
                session = tf.Session(graph=graph)
                session.run(initialize)
                for _ in range(2):
                    session.run(targets)
                found: Any = True
            except Exception as e:
                found = f"{type(e).__name__}: {e}"[:300]
        elif "seconds" in request:
            found = burst(session, targets, request["seconds"])
        else:
            session.close()
            found = True
        print(json.dumps(found), flush=True)
    os._exit(0)


def burst(session: Any, targets: list[Any], seconds: float) -> tuple[float, float, int]:
    """(seconds of the shortest step, processor seconds of all, number of steps)."""
    shortest, steps = math.inf, 0
    before = time.process_time()
    end = time.perf_counter() + seconds
    while True:
        started = time.perf_counter()
        session.run(targets)
        now = time.perf_counter()
        shortest = min(shortest, now - started)
        steps += 1
        if now > end and steps >= LEAST_STEPS:
            return shortest, time.process_time() - before, steps


class Side:
    """The process of one framework."""

    def __init__(self, name: str) -> None:
        python = os.environ.get(f"{name.upper()}_PYTHON", sys.executable)
        self.process = subprocess.Popen(
            [python, __file__, "--answer", MODULES[name]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process has ended: {self.process.wait()}")
        return json.loads(line)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def measure(sides: dict[str, Side], family: str, name: str, size: int, turns: int) -> dict[str, Any]:
    """The row of one op and size."""
    row: dict[str, Any] = {"family": family, "name": name, "size": size}
    for side, process in sides.items():
        answer = process.ask(family=family, name=name, size=size)
        if answer is not True:
            row["failed"] = f"{side}: {answer}"
    if "failed" not in row:
        taken: dict[str, list[Any]] = {side: [] for side in sides}
        for turn in range(turns):
            for side in list(sides) if turn % 2 else reversed(sides):
                taken[side].append(sides[side].ask(seconds=BURST_SECONDS))
        for side, bursts in taken.items():
            row[side] = {
                "least": min(wall for wall, _, _ in bursts),
                "cpu": sum(cpu for _, cpu, _ in bursts) / sum(steps for _, _, steps in bursts),
            }
        for process in sides.values():
            process.ask()
    return row


def ratio(row: dict[str, Any], what: str = "least") -> float:
    theirs, ours = (max(row[side][what], 1e-7) for side in MODULES)
    return float(theirs / ours)


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown: TensorFlow's time, TensorFleet's, the ratio, and that of the processor times."""
    rows = [row for row in rows if "failed" not in row]
    lines = []
    sizes = list(SCALES)
    heads = [f"{size:,} elements" for size in sizes]
    overall = [mean([ratio(r) for r in rows if r["size"] == size]) for size in sizes]
    lines += [
        f"Geometric mean of the {len(rows)} ratios: {mean([ratio(r) for r in rows]):.2f}; "
        + ", ".join(f"{m:.2f} at {h}" for m, h in zip(overall, heads, strict=True))
        + f". By processor time: {mean([ratio(r, 'cpu') for r in rows]):.2f}. "
        f"Ratios under 0.5: {sum(ratio(r) < 0.5 for r in rows)}; under 1: {sum(ratio(r) < 1 for r in rows)}.",
        "",
    ]
    for family in dict.fromkeys(r["family"] for r in rows):
        own = [r for r in rows if r["family"] == family]
        if family == "Networks":
            heads = ["small", "medium", "large"]
        lines += [
            f"### {family}",
            "",
            f"Geometric mean {mean([ratio(r) for r in own]):.2f}.",
            "",
            f"| op | {' | '.join(heads)} |",
            "|---|" + "---|" * len(sizes),
        ]
        for name in dict.fromkeys(r["name"] for r in own):
            by_size = {r["size"]: r for r in own if r["name"] == name}
            cells = [cell(by_size[size]) if size in by_size else "" for size in sizes]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def cell(row: dict[str, Any]) -> str:
    theirs, ours = (row[side]["least"] * 1e6 for side in MODULES)
    return f"{number(theirs)} / {number(ours)} = **{ratio(row):.2f}** ({ratio(row, 'cpu'):.2f})"


def number(x: float) -> str:
    return f"{x:,.0f}" if x >= 10 else f"{x:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    parser.add_argument(
        "--only", nargs="*", default=[""], help="ops and families that contain one of these texts"
    )
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SCALES), choices=list(SCALES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rows", type=Path, help="a file of rows: read, and written after each op")
    parser.add_argument("--write", action="store_true", help=f"write the table into {TABLE.name}")
    arguments = parser.parse_args()
    if arguments.answer:
        answer(arguments.answer)
        return
    rows: dict[Any, dict[str, Any]] = {}
    if arguments.rows and arguments.rows.exists():
        for row in map(json.loads, arguments.rows.read_text().splitlines()):
            rows[row["family"], row["name"], row["size"]] = row
    sides: dict[str, Side] = {}
    wanted = [
        (family, name, size)
        for family, own in cases(None).items()
        for name in own
        for size in arguments.sizes
        if any(text in name or text in family for text in arguments.only)
    ]
    try:
        for side in MODULES if wanted and arguments.turns else ():
            sides[side] = Side(side)
        for family, name, size in wanted if sides else ():
            row = measure(sides, family, name, size, arguments.turns)
            rows[family, name, size] = row
            print(f"{name}, {size}: {row.get('failed') or cell(row)}", file=sys.stderr, flush=True)
            if arguments.rows:
                with arguments.rows.open("a") as f:
                    f.write(json.dumps(row) + "\n")
    finally:
        for process in sides.values():
            process.stop()
    text = table(list(rows.values()))
    if not arguments.write:
        print(text)
        return
    before, _, rest = TABLE.read_text().partition(START)
    after = rest.partition(END)[2]
    TABLE.write_text(f"{before}{START}\n{text}{END}{after}")


if __name__ == "__main__":
    main()
