"""A real Prometheus that scrapes a real cluster: every query of the dashboard and every rule is run there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet_service.local_cluster import LocalCluster
from tests.observe import dashboard
from tests.observe.dashboard import Query
from tests.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]  # the first test waits for the first samples

JOBS = {"ps": 1, "worker": 2}
VICTIM = "/job:evaluator/task:0"
START_SECONDS = 30.0
DATA_SECONDS = 100.0
NEEDS_GPU = {
    *("GPU memory in use, by all processes", "GPU memory of the task", "GPU utilization", "GPU power"),
    *("GPU temperature", "GPU memory errors", "Age of what is said of GPUs"),
    "Bytes per second from GPU to GPU, by peer",
}

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
{jobs}
"""
JOB = """
  - job_name: {job}
    static_configs:
      - targets: {targets}
        labels: {{namespace: default, release: {release}}}
    relabel_configs:
      - {{source_labels: [__address__], target_label: pod}}
"""


class Prometheus:
    """A Prometheus of this test alone, with its data in a folder of the test's."""

    def __init__(self, program: str, folder: Path, releases: dict[str, LocalCluster]) -> None:
        jobs = ""
        for release, cluster in releases.items():
            for job in cluster.spec.jobs:
                urls = [url for task, url in cluster.metrics_urls.items() if task.startswith(f"/job:{job}/")]
                targets = json.dumps([urllib.parse.urlsplit(url).netloc for url in urls])
                jobs += JOB.format(job=job, targets=targets, release=release)
        config = folder / "prometheus.yml"
        config.write_text(CONFIG.format(rules=dashboard.RULES, jobs=jobs))
        address = f"127.0.0.1:{free_ports(1)[0]}"
        self._url = f"http://{address}"
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    program,
                    f"--config.file={config}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address={address}",
                ],
                stdout=log,
                stderr=log,
            )
        until(START_SECONDS, lambda: self._answers(), "Prometheus answers")

    def _answers(self) -> bool:
        assert self._process.poll() is None, "Prometheus has ended"
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5):
                return True
        except urllib.error.URLError:
            return False

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer; AssertionError with Prometheus' words for an error."""
        query = urllib.parse.urlencode({k.replace("match", "match[]"): v for k, v in parameters.items()})
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/{path}?{query}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            with e:
                raise AssertionError(f"{parameters}: {e.read().decode()}") from None

    def query(self, text: str) -> list[Any]:
        """The present result of a query."""
        return self.get("query", query=text)["result"]  # type: ignore[no-any-return]

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def until(seconds: float, condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)


class Load:
    """Steps of all kinds, until it is stopped."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failure: BaseException | None = None
        self._thread.start()

    def _run(self) -> None:
        try:
            with tf.Graph().as_default():
                self._steps()
        except BaseException as e:
            self.failure = e

    def _steps(self) -> None:
        x = tf.placeholder(tf.float32, [None])
        local = tf.sin(x) * 2
        with tf.device("/job:ps/task:0"):
            variable = tf.Variable([1.0, 2.0])
            queue = tf.FIFOQueue(10, [tf.float32], [[2]], shared_name="work")
            fails = tf.check_numerics(variable / 0, "on the ps")
        with tf.device("/job:worker/task:1"):
            away = variable * tf.reduce_sum(x)
        put, take = queue.enqueue([away]), queue.dequeue()
        with tf.device("/job:nobody/task:0"):
            nowhere = tf.constant(1) + 1
        with tf.Session(self._target) as session:
            session.run(tf.global_variables_initializer())
            one = session.make_callable(local, [x])
            while not self._stop.is_set():
                for _ in range(10):
                    one([1.0])
                session.run(put, {x: [1.0]})
                session.run(take)
                for wrong in (fails, nowhere):
                    try:
                        session.run(wrong)
                    except tf.errors.InvalidArgumentError:
                        continue
                    raise AssertionError("a step did not fail")

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        if self.failure is not None:
            raise self.failure


Watched = tuple[Prometheus, LocalCluster]


@pytest.fixture(scope="module")
def watched(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A Prometheus that scrapes a cluster on which steps run, and one of a single task, which is given."""
    with LocalCluster(JOBS, metrics=True) as cluster, LocalCluster({"evaluator": 1}, metrics=True) as other:
        load = Load(cluster.target)
        folder = tmp_path_factory.mktemp("prometheus")
        program = Prometheus(prometheus, folder, {"fleet": cluster, "other": other})
        try:
            # A rate takes two scrapes, and ops are timed once a second.
            ready = "count(tensorfleet_op_sampled_seconds_count > 0) > 0"
            until(DATA_SECONDS, lambda: load.failure is not None or bool(program.query(ready)), "samples")
            until(DATA_SECONDS, lambda: bool(program.query("tensorfleet:op_seconds:rate5m > 0")), "records")
            yield program, other
        finally:
            program.stop()
            load.stop()


def test_all_tasks_are_scraped(watched: Watched) -> None:
    program, _ = watched
    until(DATA_SECONDS, lambda: len(program.query("up == 1")) == 4, "all targets are up")
    assert len(program.query("tensorfleet_ready == 1")) == 4
    (sample,) = program.query('count(tensorfleet_task_info{release="fleet"})')
    assert sample["value"][1] == "3"


@pytest.mark.parametrize("query", dashboard.queries("1m"), ids=lambda query: query.panel)
def test_every_query_of_the_dashboard(watched: Watched, query: Query) -> None:
    program, _ = watched
    if query.panel in NEEDS_GPU:
        assert program.query(query.text) == [] or program.query("tensorfleet_gpus > 0")
    else:
        # On a busy machine some scrapes come too late, and a rate takes two.
        until(DATA_SECONDS, lambda: bool(program.query(query.text)), query.text)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("namespace", {"default"}),
        ("release", {"fleet", "other"}),
        ("job", {"ps", "worker", "evaluator"}),
    ],
)
def test_the_variables_of_the_dashboard(watched: Watched, name: str, expected: set[str]) -> None:
    program, _ = watched
    match, label = dashboard.variables()[name]
    assert set(program.get(f"label/{label}/values", match=match)) == expected


def test_every_rule(watched: Watched) -> None:
    program, _ = watched

    def rules() -> list[dict[str, Any]]:
        return [rule for group in program.get("rules")["groups"] for rule in group["rules"]]

    until(DATA_SECONDS, lambda: all(rule["health"] == "ok" for rule in rules()), "all rules were evaluated")
    found = rules()
    assert {rule["name"] for rule in found if rule["type"] == "alerting"} == set(dashboard.alerts())
    for rule in found:
        program.query(rule["query"])
        if rule["type"] == "recording":
            until(DATA_SECONDS, lambda name=rule["name"]: bool(program.query(name)), rule["name"])


def test_steps_that_fail_raise_the_alert(watched: Watched) -> None:
    program, _ = watched
    (sample,) = program.query("tensorfleet:step_errors:ratio_rate5m > 0.001")
    assert sample["metric"]["job"] == "worker"
    # One of 13 steps fails.
    assert float(sample["value"][1]) == pytest.approx(1 / 13, rel=0.2)
    until(DATA_SECONDS, lambda: "worker" in raised(program, "TensorFleetStepErrors"), "the alert is pending")


def raised(program: Prometheus, alert: str) -> set[str]:
    """The jobs for which an alert is pending or fires."""
    return {a["labels"]["job"] for a in program.get("alerts")["alerts"] if a["labels"]["alertname"] == alert}


def test_a_task_that_is_killed_raises_the_alert(watched: Watched) -> None:
    program, other = watched
    until(DATA_SECONDS, lambda: not raised(program, "TensorFleetTaskDown"), "all tasks are up")
    os.kill(other.pids[VICTIM], signal.SIGKILL)
    until(
        DATA_SECONDS, lambda: raised(program, "TensorFleetTaskDown") == {"evaluator"}, "the alert is pending"
    )
