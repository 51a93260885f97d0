"""`tf.keras.utils.Progbar`: a line of progress."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np


class Progbar:
    """A bar that shows how far a work is, with values (`tf.keras.utils.Progbar`).

    Args:
        target: the number of steps, None if it is not known.
        verbose: 0 for nothing, 1 for a bar, 2 for one line at the end.
        stateful_metrics: names of values that are shown as they are, not as means.
        interval: seconds between two changes of the line.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics = set(stateful_metrics or [])
        self.unit_name = unit_name
        self._is_terminal = hasattr(sys.stdout, "isatty") and sys.stdout.isatty()
        self._values: dict[str, list[float]] = {}
        self._seen = 0
        self._length = 0
        self._start, self._last = time.time(), 0.0

    def update(self, current: int, values: Any = None) -> None:
        """Shows that `current` steps are done, with (name, value) pairs."""
        for name, value in values or []:
            if name in self.stateful_metrics:
                self._values[name] = [value, 1]
            else:
                total, count = self._values.get(name, [0.0, 0])
                step = max(current - self._seen, 1)
                self._values[name] = [total + value * step, count + step]
        self._seen = current
        now = time.time()
        is_last = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._last < self.interval and not is_last:
                return
            self._show(self._bar(current) + self._times(current, now, is_last) + self._texts(), is_last)
        elif self.verbose == 2 and is_last:
            sys.stdout.write(f"{self._count(current)}{self._times(current, now, True)}{self._texts()}\n")
            sys.stdout.flush()
        self._last = now

    def add(self, n: int, values: Any = None) -> None:
        """Shows that n more steps are done."""
        self.update(self._seen + n, values)

    def _count(self, current: int) -> str:
        return f"{current}/{self.target}" if self.target is not None else str(current)

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        digits = len(str(self.target))
        done = int(self.width * current / max(self.target, 1))
        if current >= self.target:
            bar = "=" * self.width
        else:
            bar = ("=" * (done - 1) + ">" if done > 0 else "") + "." * (self.width - done)
        return f"{current:{digits}d}/{self.target} [{bar}]"

    def _times(self, current: int, now: float, is_last: bool) -> str:
        each = (now - self._start) / current if current else 0.0
        if self.target is not None and not is_last:
            return f" - ETA: {_duration(each * (self.target - current))}"
        for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
            if each * scale >= 1 or unit == "us":
                return f" - {now - self._start:.0f}s {each * scale:.0f}{unit}/{self.unit_name}"
        return ""

    def _texts(self) -> str:
        parts = []
        for name, (total, count) in self._values.items():
            mean = float(np.mean(total / max(1, count)))
            parts.append(f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}")
        return "".join(parts)

    def _show(self, line: str, is_last: bool) -> None:
        if self._is_terminal:
            text = "\b" * self._length + "\r" + line
        else:
            text = "\n" + line
        if self._length > len(line):
            text += " " * (self._length - len(line))
        self._length = len(line)
        sys.stdout.write(text + ("\n" if is_last else ""))
        sys.stdout.flush()


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if whole > 60 else f"{whole}s"
