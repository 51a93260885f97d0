"""The dashboard and the rules of the chart, as Prometheus is asked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "helm" / "tensorfleet" / "files"
RULES = FILES / "rules.yaml"
DASHBOARD: dict[str, Any] = json.loads((FILES / "dashboard.json").read_text())
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


class Query(NamedTuple):
    panel: str
    text: str


def queries(rate_interval: str = "30s") -> list[Query]:
    """Every query of the dashboard, for all namespaces, releases and jobs."""
    return [
        Query(panel["title"], filled(target["expr"], rate_interval))
        for panel in PANELS
        for target in panel["targets"]
    ]


def filled(text: str, rate_interval: str) -> str:
    """A query with its variables replaced, as Grafana does it where All is chosen."""
    text = text.replace("$__rate_interval", rate_interval)
    for variable in DASHBOARD["templating"]["list"]:
        text = text.replace(f"${variable['name']}", ".*")
    return text


def variables() -> dict[str, tuple[str, str]]:
    """Of each variable that Prometheus fills: what to ask for, and the label whose values it takes."""
    found = {}
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert match is not None
            found[variable["name"]] = filled(match[1], ""), match[2]
    return found


def alerts() -> list[str]:
    """The names of all alerts."""
    return re.findall(r"^ +- alert: (\w+)$", RULES.read_text(), re.MULTILINE)
