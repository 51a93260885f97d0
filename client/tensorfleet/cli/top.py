"""`tensorfleet top`: a display of the tasks of a cluster and their steps, updated until Ctrl-C."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tensorfleet.cli.status import TaskStatus, add_address, as_dict, cluster_status
from tensorfleet.cli.table import human_bytes, human_seconds, table
from tensorfleet.core import errors

# Terminal codes: switch to the alternate screen without a cursor, and back; clear it from the top left.
_ENTER, _LEAVE, _HOME = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H\x1b[J"


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet top`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet top",
        description="Show the tasks and sessions of a cluster, with their steps in a second, until Ctrl-C.",
        epilog="Where standard output is no terminal, the tables follow each other.",
        allow_abbrev=False,
    )
    add_address(p)
    p.add_argument("--interval", type=_positive, default=2.0, metavar="S", help="between looks (default: 2)")
    p.add_argument("--count", type=_whole, metavar="N", help="end after so many looks (default: never)")
    p.add_argument(
        "--timeout", type=_positive, default=2.0, metavar="S", help="for each task's answer (default: 2)"
    )
    return p


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def _whole(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 1 or more")
    return int(text)


def main(argv: Sequence[str]) -> int:
    """Updates until a signal arrives; returns 0, or 1 if the last update got no answer."""
    p = parser()
    flags = p.parse_args(argv)
    if not flags.address:
        p.error("which cluster? Give the ADDRESS of one of its tasks, or set TENSORFLEET_ADDRESS")
    view = View(flags.address.rpartition("://")[2], flags.timeout)
    over = threading.Event()
    terminal = sys.stdout.isatty()
    with _until_signals(over), _screen(terminal):
        looks = 0
        while True:
            text = view.look()
            size = shutil.get_terminal_size()
            print(fitted(text, size.columns, size.lines) if terminal else f"{text}\n", end="", flush=True)
            looks += 1
            if looks == flags.count or over.wait(flags.interval):
                return 0 if view.answered else 1


class View:
    """A sequence of observations of a cluster, for rates between them.

    Attributes:
        answered: whether the last observation got an answer.
    """

    def __init__(self, address: str, timeout: float) -> None:
        self.answered = False
        self._addresses = [address]
        self._timeout = timeout
        self._before: dict[tuple[str, str], tuple[float, int]] = {}

    def look(self) -> str:
        """The current tables. If the first task does not answer, another one is asked for the cluster."""
        problem = ""
        for address in self._addresses:
            try:
                tasks = cluster_status(address, self._timeout)
            except errors.OpError as error:
                problem = problem or f"no answer from {address}: {error.message}"
                continue
            first = self._addresses[0]
            self._addresses = list(dict.fromkeys([first, *(t.address for t in tasks if t.reply)]))
            self.answered = True
            return self._render(tasks)
        self.answered = False
        return f"{_now()}  {problem}\n"

    def _render(self, tasks: Sequence[TaskStatus]) -> str:
        now = time.monotonic()
        statuses = [as_dict(task) for task in tasks]
        up = sum(s["up"] for s in statuses)
        head = f"{_now()}  {up} of {len(statuses)} tasks up"
        parts = [head, self._tasks(statuses, now), self._sessions(statuses, now)]
        self._before = {key: (now, steps) for key, steps in _counts(statuses)}
        return "\n\n".join(part for part in parts if part) + "\n"

    def _tasks(self, statuses: Sequence[dict[str, Any]], now: float) -> str:
        rows = []
        for s in statuses:
            if not s["up"]:
                rows.append([s["task"], "down", "", "", "", "", "", s["error"].partition("\n")[0]])
                continue
            held = sum(variable["bytes"] for variable in s["variables"])
            rows.append(
                [
                    s["task"],
                    "up",
                    human_seconds(s["age_seconds"]),
                    human_bytes(s["resident_bytes"]),
                    self._rate((s["task"], s["incarnation"]), s["steps"], now),
                    str(s["steps"]),
                    str(len(s["sessions"])),
                    human_bytes(held),
                ]
            )
        return table(["TASK", "STATE", "AGE", "MEMORY", "STEPS/S", "STEPS", "SESSIONS", "VARIABLES"], rows)

    def _sessions(self, statuses: Sequence[dict[str, Any]], now: float) -> str:
        rows = [
            [
                session["handle"],
                s["task"],
                self._rate((s["task"], session["handle"]), session["steps"], now),
                str(session["steps"]),
                human_seconds(session["age_seconds"]),
            ]
            for s in statuses
            for session in s.get("sessions", ())
        ]
        return table(["SESSION", "MASTER", "STEPS/S", "STEPS", "AGE"], rows) if rows else ""

    def _rate(self, key: tuple[str, Any], steps: int, now: float) -> str:
        """The steps per second since the last observation; a dash at the first one."""
        before = self._before.get((key[0], str(key[1])))
        if before is None or now <= before[0]:
            return "-"
        return f"{(steps - before[1]) / (now - before[0]):.1f}"


def _counts(statuses: Sequence[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], int]]:
    """The numbers of steps of each task's process and of each session, by unique names."""
    for s in statuses:
        if s["up"]:
            yield (s["task"], str(s["incarnation"])), s["steps"]
            for session in s["sessions"]:
                yield (s["task"], str(session["handle"])), session["steps"]


def fitted(text: str, columns: int, lines: int) -> str:
    """The text for a cleared terminal, cut to its columns and lines."""
    rows = text.rstrip("\n").split("\n")
    if len(rows) > lines - 1:
        cut = max(lines - 2, 0)
        rows = [*rows[:cut], f"… {len(rows) - cut} more lines"]
    return _HOME + "\n".join(row[:columns] for row in rows) + "\n"


def _now() -> str:
    return time.strftime("%H:%M:%S")


@contextmanager
def _screen(terminal: bool) -> Iterator[None]:
    """Switches to the alternate screen, so that the previous content is restored at the end."""
    if not terminal:
        yield
        return
    sys.stdout.write(_ENTER)
    try:
        yield
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


@contextmanager
def _until_signals(over: threading.Event) -> Iterator[None]:
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: over.set()) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
