"""Text tables, and sizes and times for display."""

from __future__ import annotations

from collections.abc import Sequence

from tensorfleet.core.printable import printable


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns are as wide as their widest cell; the last column is not padded.

    Cells may have names that other clients have chosen, which get no say in how a terminal shows them.
    """
    lines = [list(head), *([printable(cell).replace("\n", "\\n") for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
    return "\n".join(
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=True)), line[-1]]
        ).rstrip()
        for line in lines
    )


def human_bytes(count: float) -> str:
    """A size in bytes as a text such as `17.0 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def human_seconds(seconds: float) -> str:
    """A time in seconds as a text such as `42s`, `3m10s`, `2h05m`, `4d02h`."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"
