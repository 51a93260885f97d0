"""The chart's rules by promtool, and that rules, dashboard and page are about the same metrics."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.observe.dashboard import DASHBOARD, PANELS, RULES, alerts, filled, queries, variables
from tests.observe.test_metrics import documented

TESTS = Path(__file__).with_name("rules_test.yaml")
SUFFIXES = re.compile(r"_(bucket|count|sum)$")


def say(promtool: str, *arguments: str | Path) -> str:
    """The output of promtool, which has to be content."""
    done = subprocess.run([promtool, *arguments], capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def test_the_rules_are_valid(promtool: str) -> None:
    assert "SUCCESS: 11 rules found" in say(promtool, "check", "rules", RULES)


def test_the_rules_fire_for_what_they_are_about_only(promtool: str) -> None:
    assert "SUCCESS" in say(promtool, "test", "rules", TESTS)


def test_a_wrong_expectation_is_found(promtool: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    text = TESTS.read_text().replace("../../helm/tensorfleet/files/rules.yaml", str(RULES))
    wrong.write_text(text.replace("value: 0.2}", "value: 0.3}"))
    done = subprocess.run([promtool, "test", "rules", wrong], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0


def test_every_alert_has_a_test_that_fires_and_one_that_does_not() -> None:
    text = TESTS.read_text()
    for alert in alerts():
        assert re.search(rf"{{alertname: {alert}, eval_time: \w+}}", text), alert
        assert re.search(rf"alertname: {alert}\n +eval_time: \w+\n +exp_alerts:", text), alert


def used(text: str) -> set[str]:
    """The metrics that an expression names."""
    page = documented()
    return {
        name
        for name in re.findall(r"\b(?:tensorfleet|process)_[a-z_]+\b", text)
        if name in page or not name.endswith(("_rate5m", "_ratio"))  # which rules have made
    }


def without_suffix(names: set[str]) -> set[str]:
    page = documented()
    return {name if name in page else SUFFIXES.sub("", name) for name in names}


def test_dashboard_and_rules_use_metrics_that_there_are() -> None:
    page = set(documented())
    for query in queries():
        assert without_suffix(used(query.text)) <= page, query
    assert without_suffix(used(re.sub(r"(?m)^ +(summary|description):.*$", "", RULES.read_text()))) <= page


def test_every_metric_is_in_the_dashboard() -> None:
    shown = without_suffix({name for query in queries() for name in used(query.text)})
    assert set(documented()) - shown == {"process_virtual_memory_bytes"}


def test_the_dashboard_is_whole() -> None:
    assert list(variables()) == ["namespace", "release", "job"]
    assert not re.search(r"\$\w", "".join(query.text for query in queries()))
    assert "[30s]" in filled("rate(x[$__rate_interval])", "30s")
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    titles = [panel["title"] for panel in PANELS if panel["type"] != "stat"]
    assert len(set(titles)) == len(titles)
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_panels_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells, panel["title"]
        cells |= own


def test_the_page_has_every_alert() -> None:
    page = (RULES.parents[3] / "docs" / "observability.md").read_text()
    assert re.findall(r"^\| `(TensorFleet\w+)` \|", page, re.MULTILINE) == alerts()
