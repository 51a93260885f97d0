"""`tensorfleet status` on real clusters."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tensorfleet.cli import status
from tensorfleet.cli.table import human_bytes, human_seconds, table
from tensorfleet_service.devices import native
from tensorfleet_service.local_cluster import LocalCluster
from tests.ports import free_ports


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"ps": 1, "worker": 1}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: LocalCluster) -> Iterator[tf.Session]:
    """A session of one step, that has made one variable and left another one uninitialized."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            weights = tf.Variable(tf.zeros([3, 2]), name="weights")
            tf.Variable(tf.zeros([5], tf.int64), name="unused")
        with tf.Session(cluster.target) as session:
            session.run(weights.initializer)
            yield session


def test_tables(cluster: LocalCluster, session: tf.Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert status.main([cluster.target]) == 0
    tasks, sessions, variables = capsys.readouterr().out.split("\n\n")
    ps, worker = (cluster.spec.task_address(job, 0) for job in ("ps", "worker"))
    number = r"[\d.]+"
    memory = rf"{number} MiB"
    kernels = re.escape(native.description())
    assert re.search(rf"/job:ps/task:0 +{ps} +up +\d+s +{memory} +1 +0 +1 +{number} +{kernels} +CPU:0", tasks)
    assert re.search(
        rf"/job:worker/task:0 +{worker} +up +\d+s +{memory} +\d+ +1 +0 +{number} +{kernels}", tasks
    )
    assert re.search(r"\w+ +/job:worker/task:0 +\d+ +1 +\d+ +\d+s", sessions)
    assert re.search(r"weights +/job:ps/task:0 +float32 +\[3, 2\] +24 B +yes", variables)


def test_json_by_an_address_without_scheme(
    cluster: LocalCluster, session: tf.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status.main([cluster.spec.task_address("ps", 0), "--json"]) == 0
    ps, worker = json.loads(capsys.readouterr().out)
    assert (ps["task"], ps["up"], ps["pid"]) == ("/job:ps/task:0", True, cluster.pids["/job:ps/task:0"])
    assert ps["resident_bytes"] > 1 << 20
    assert [device["name"] for device in ps["devices"]] == ["/job:ps/replica:0/task:0/device:CPU:0"]
    weights = next(variable for variable in ps["variables"] if variable["name"] == "weights")
    assert weights["shape"] == [3, 2]
    assert (weights["dtype"], weights["bytes"], weights["initialized"]) == ("float32", 24, True)
    assert [s["steps"] for s in worker["sessions"]] == [1]


def test_the_address_comes_from_the_environment(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TENSORFLEET_ADDRESS", cluster.target)
    assert status.main([]) == 0
    assert "/job:worker/task:0" in capsys.readouterr().out


def test_without_an_address(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TENSORFLEET_ADDRESS", raising=False)
    with pytest.raises(SystemExit) as ended:
        status.main([])
    assert ended.value.code == 2
    assert "TENSORFLEET_ADDRESS" in capsys.readouterr().err


@pytest.mark.cluster
def test_a_task_that_is_down_is_shown_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with LocalCluster({"local": 2}) as cluster:
        os.kill(cluster.pids["/job:local/task:1"], signal.SIGKILL)
        assert cluster.wait() == ("/job:local/task:1", -signal.SIGKILL)
        assert status.main([cluster.target]) == 1
        _, first, second = capsys.readouterr().out.splitlines()
        assert re.search(r"/job:local/task:0 .* up ", first)
        assert re.search(r"/job:local/task:1 .* down .*refused", second)
        assert status.main([cluster.target, "--json"]) == 1
        down = json.loads(capsys.readouterr().out)[1]
        assert not down["up"]
        assert "refused" in down["error"]


def test_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_ports(1)[0]
    assert status.main([f"127.0.0.1:{port}"]) == 1
    assert f"no answer from 127.0.0.1:{port}" in capsys.readouterr().err


def test_table_aligns_its_columns() -> None:
    assert (
        table(["A", "LONG", "B"], [["1234", "x", ""], ["", "y", "z"]])
        == "A     LONG  B\n1234  x\n      y     z"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB"), (1 << 50, "1024.0 TiB")],
)
def test_bytes(count: int, text: str) -> None:
    assert human_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0s"), (59.9, "59s"), (190, "3m10s"), (7500, "2h05m"), (353000, "4d02h")]
)
def test_seconds(seconds: float, text: str) -> None:
    assert human_seconds(seconds) == text
