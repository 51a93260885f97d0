"""Writes the table of values in the chart's README.md from the comments in its values.yaml.

    python helm/generate_readme.py

A comment that begins with `--` describes the value below it; a value without one is described by the map that
it is in. Lists and maps without keys of the chart's own are values; so are the maps that Kubernetes defines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CHART = Path(__file__).parent / "tensorfleet"
BEGIN, END = "<!-- values: made by helm/generate_readme.py -->", "<!-- end of values -->"
# Maps whose keys are not the chart's.
WHOLE = (
    "defaults.resources",
    "defaults.podSecurityContext",
    "defaults.securityContext",
    "networkPolicy.metrics.namespaceSelector",
    "metrics.dashboard.labels",
)


class Value(NamedTuple):
    """One row: the value's path, its default, and what it does."""

    path: str
    default: Any
    text: str


def leaves(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """All values of a values.yaml, by path, in order."""
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        path = prefix + key
        if isinstance(value, dict) and value and path not in WHOLE:
            found += leaves(value, path + ".")
        else:
            found.append((path, value))
    return found


def comments(text: str) -> dict[str, str]:
    """The descriptions in a values.yaml, by path."""
    found: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    comment = ""
    for line in text.splitlines():
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if stripped.startswith("# -- "):
            comment = stripped[5:]
        elif stripped and stripped[0] not in "#-":
            while path and path[-1][0] >= indent:
                path.pop()
            path.append((indent, stripped.partition(":")[0]))
            if comment:
                found[".".join(key for _, key in path)] = comment
            comment = ""
    return found


def rows() -> list[Value]:
    """Every value of the chart.

    Raises:
        ValueError: neither the value nor a map that it is in has a description.
    """
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    described = comments(text)
    found = []
    for path, default in leaves(yaml.safe_load(text)):
        holder = path
        while holder and holder not in described:
            holder = holder.rpartition(".")[0]
        if not holder:
            raise ValueError(f"values.yaml: {path} has no comment that begins with --")
        inherited = f"{described[holder]}: {path[len(holder) + 1 :]}"
        found.append(Value(path, default, described[path] if holder == path else inherited))
    return found


def table() -> str:
    """The table in Markdown."""
    lines = ["| value | default | |", "|---|---|---|"]
    for row in rows():
        lines.append(
            f"| `{row.path}` | `{json.dumps(row.default)}` | {row.text.replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def readme(text: str) -> str:
    """README.md with the table as it is now."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    page = CHART / "README.md"
    page.write_text(readme(page.read_text(encoding="utf-8")), encoding="utf-8")
