"""A real Prometheus outside of the cluster scrapes every task; all queries of the dashboard, all rules."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.k8s.kubernetes import CHART, RELEASE, Kubernetes, program, task_pods
from tests.ports import free_ports

# What a cluster of this test does not have: GPUs, failed steps, queues.
EMPTY = ("tensorfleet_gpu_", "errors_total", "tensorfleet_queue_length")
VARIABLES = {"$namespace": ".*", "$release": ".*", "$job": ".*", "$__rate_interval": "10s", "$__range": "1m"}


class Prometheus:
    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1/"

    def get(self, path: str, **query: str) -> Any:
        with urllib.request.urlopen(
            f"{self._url}{path}?{urllib.parse.urlencode(query)}", timeout=20
        ) as answer:
            return json.load(answer)["data"]

    def query(self, text: str) -> list[Any]:
        result: list[Any] = self.get("query", query=text)["result"]
        return result


def configuration(kubernetes: Kubernetes, directory: Path) -> str:
    """Scrapes the task pods through the API server, with the labels that the chart's monitors give.

    Debian's Prometheus has no discovery by Kubernetes: the targets are in a file.
    """
    raw = json.loads(kubernetes.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    cluster, user = raw["clusters"][0]["cluster"], raw["users"][0]["user"]
    tls = {}
    for key, text in (
        ("ca_file", cluster["certificate-authority-data"]),
        ("cert_file", user["client-certificate-data"]),
        ("key_file", user["client-key-data"]),
    ):
        (directory / key).write_bytes(base64.b64decode(text))
        tls[key] = str(directory / key)
    targets = []
    for pod in task_pods(kubernetes):
        name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
        path = f"/api/v1/namespaces/{kubernetes.namespace}/pods/{name}:8080/proxy/metrics"
        own = {
            "__metrics_path__": path,
            "namespace": kubernetes.namespace,
            "pod": name,
            "instance": name,
            "release": labels["app.kubernetes.io/instance"],
            "job": labels["tensorfleet.io/job"],
        }
        targets.append({"targets": [urllib.parse.urlparse(cluster["server"]).netloc], "labels": own})
    (directory / "targets.json").write_text(json.dumps(targets))
    scrape = {
        "job_name": "tensorfleet",
        "scheme": "https",
        "tls_config": tls,
        "file_sd_configs": [{"files": [str(directory / "targets.json")]}],
    }
    return json.dumps(
        {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(CHART / "files" / "rules.yaml")],
            "scrape_configs": [scrape],
        }
    )


@pytest.fixture(scope="module")
def prometheus(fleet: Kubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    path = shutil.which("prometheus")
    if path is None:
        pytest.skip("needs prometheus on PATH, Debian's package")
    directory = tmp_path_factory.mktemp("prometheus")
    (directory / "prometheus.yml").write_text(configuration(fleet, directory))
    (port,) = free_ports(1)
    log = (directory / "log").open("w")
    process = subprocess.Popen(
        [
            path,
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=log,
        stderr=log,
    )
    try:
        found = Prometheus(port)

        def three() -> bool:
            try:
                return len(found.query("tensorfleet_task_info")) == 3
            except OSError:
                assert process.poll() is None, (directory / "log").read_text()[-3000:]
                return False

        fleet.wait_for("three tasks are scraped", three)
        # So many steps that rates have a beginning and an end, on both kinds of tasks.
        done = fleet.python("client", program("train_mnist.py"), "1000", timeout=240)
        assert done.returncode == 0, done.stderr
        yield found
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def test_every_task_is_scraped(prometheus: Prometheus, fleet: Kubernetes) -> None:
    targets = prometheus.get("targets")["activeTargets"]
    assert [target["health"] for target in targets] == ["up"] * 3, [t["lastError"] for t in targets]
    labels = {(t["labels"]["release"], t["labels"]["job"], t["labels"]["namespace"]) for t in targets}
    assert labels == {(RELEASE, "ps", fleet.namespace), (RELEASE, "worker", fleet.namespace)}


def panels(items: list[Any]) -> Iterator[tuple[str, str]]:
    for panel in items:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
        yield from panels(panel.get("panels", []))


DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())


def test_every_query_of_the_dashboard_is_answered(prometheus: Prometheus) -> None:
    empty = []
    queries = list(panels(DASHBOARD["panels"]))
    assert len(queries) > 20
    for title, text in queries:
        for variable, value in VARIABLES.items():
            text = text.replace(variable, value)
        if not prometheus.query(text) and not any(name in text for name in EMPTY):
            empty.append(f"{title}: {text}")
    assert not empty, "\n".join(empty)


def test_the_lists_of_the_dashboard_are_filled(prometheus: Prometheus) -> None:
    for variable in ("namespace", "release", "job"):
        assert prometheus.get(f"label/{variable}/values", **{"match[]": "tensorfleet_task_info"})


def test_every_rule_is_evaluated(prometheus: Prometheus) -> None:
    groups = prometheus.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) > 5
    assert {rule["name"]: rule["health"] for rule in rules} == {rule["name"]: "ok" for rule in rules}
    firing = [rule["name"] for rule in rules if rule.get("state") == "firing"]
    assert not firing, "alerts of a cluster that is well"
    assert prometheus.query("tensorfleet:memory:ratio")
