"""`tensorfleet up` as a process, and LocalCluster."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tensorfleet as tf
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.local_cluster import Cancelled, ClusterError, LocalCluster

SECONDS = 40


class Up:
    """A running `tensorfleet up` that is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.output = ""
        for line in process.stdout:
            self.output += line
            if line.startswith("Ready"):
                break
        spec = re.search(r"^ClusterSpec: (.*)$", self.output, re.M)
        target = re.search(r"^export TENSORFLEET_ADDRESS=(.*)$", self.output, re.M)
        assert spec, self.output
        assert target, self.output
        self.spec = ClusterSpec(json.loads(spec[1]))
        self.target = target[1]

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def end(self) -> tuple[int, str]:
        """The exit code, and everything that it printed."""
        rest, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, self.output + rest


@contextmanager
def up(*flags: str) -> Iterator[Up]:
    command = [sys.executable, "-m", "tensorfleet.cli.main", "up", *flags]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdout=pipe, stderr=subprocess.STDOUT) as process:
        try:
            yield Up(process)
        finally:
            process.kill()


def assert_gone(pids: list[int]) -> None:
    """Waits until none of the processes runs."""
    deadline = time.monotonic() + SECONDS
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        with open(descriptor) as watched:
            assert select.select([watched], [], [], deadline - time.monotonic())[0], f"process {pid} runs on"


@pytest.mark.cluster
def test_runs_a_session_and_ends_cleanly_on_ctrl_c() -> None:
    with up("--ps", "1", "--workers", "1") as cluster:
        assert cluster.spec.jobs == ["ps", "worker"]
        assert cluster.target == f"grpc://{cluster.spec.task_address('worker', 0)}"
        children = cluster.children()
        assert len(children) == 2
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                y = tf.constant(2) + 3
            with tf.Session(cluster.target) as session:
                assert session.run(y) == 5
        cluster.process.send_signal(signal.SIGINT)
        code, output = cluster.end()
    assert code == 0
    assert "[ps:0]" in output
    assert re.search(r"\[worker:0\] .*has stopped", output)
    assert_gone(children)


@pytest.mark.cluster
def test_other_jobs_and_ports() -> None:
    with LocalCluster({"local": 1}) as probe:
        port = int(probe.target.rpartition(":")[2])
    with up("--job", "local=1", "--base-port", str(port)) as cluster:
        assert cluster.spec.as_dict() == {"local": [f"127.0.0.1:{port}"]}
        cluster.process.terminate()
        assert cluster.end()[0] == 0


@pytest.mark.cluster
def test_a_task_that_dies_is_reported_and_ends_the_cluster_with_its_code() -> None:
    with up("--ps", "1", "--workers", "1") as cluster:
        children = cluster.children()
        os.kill(children[0], signal.SIGKILL)
        code, output = cluster.end()
    assert code == 128 + signal.SIGKILL
    assert "/job:ps/task:0 ended with signal SIGKILL" in output
    assert_gone(children)


@pytest.mark.cluster
def test_no_task_outlives_a_parent_that_is_killed() -> None:
    with up("--ps", "0", "--workers", "2") as cluster:
        children = cluster.children()
        assert len(children) == 2
        cluster.process.kill()
        cluster.process.wait(SECONDS)
        assert_gone(children)


@pytest.mark.parametrize(
    "flags", [["--ps", "0", "--workers", "0"], ["--job", "ps"], ["--job", "ps=x"], ["--base-port", "0"]]
)
def test_wrong_flags_end_with_code_2(flags: list[str]) -> None:
    command = [sys.executable, "-m", "tensorfleet.cli.main", "up", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2
    assert "tensorfleet up: error:" in done.stderr


def test_a_port_in_use_is_told_and_nothing_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster = LocalCluster({"local": 1}, base_port=port)
        with pytest.raises(ClusterError, match=f"cannot listen at 127.0.0.1:{port}"):
            cluster.start()
    assert cluster.pids == {}


@pytest.mark.cluster
def test_a_task_of_another_cluster_at_the_same_port_does_not_count() -> None:
    with LocalCluster({"local": 1}) as first:
        second = LocalCluster({"local": 1}, base_port=int(first.target.rpartition(":")[2]))
        with pytest.raises(ClusterError, match="cannot listen at"):
            second.start()


@pytest.mark.cluster
def test_a_cluster_that_does_not_answer_in_time() -> None:
    cluster = LocalCluster({"local": 1}, ready_seconds=0.01)
    with pytest.raises(ClusterError, match=r"no answer within 0.01 s from /job:local/task:0"):
        cluster.start()
    assert cluster.pids == {}


@pytest.mark.cluster
def test_cancel_ends_the_start() -> None:
    cluster = LocalCluster({"local": 1})
    cluster.cancel()
    with pytest.raises(Cancelled):
        cluster.start()
    assert cluster.pids == {}


@pytest.mark.cluster
def test_wait_tells_which_task_ended_and_stop_leaves_none() -> None:
    with LocalCluster({"local": 2}) as cluster:
        pids = cluster.pids
        os.kill(pids["/job:local/task:1"], signal.SIGTERM)
        assert cluster.wait() == ("/job:local/task:1", 0)
    assert_gone(list(pids.values()))


@pytest.mark.cluster
def test_kill_ends_tasks_without_a_drain() -> None:
    with LocalCluster({"local": 1}) as cluster:
        cluster.kill()
        assert cluster.wait() == ("/job:local/task:0", -signal.SIGKILL)


@pytest.mark.parametrize("jobs", [{}, {"ps": 0}, {"ps": -1, "worker": 3}])
def test_a_cluster_without_tasks(jobs: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least one task"):
        LocalCluster(jobs)


@pytest.mark.cluster
def test_metrics_at_addresses_that_are_printed() -> None:
    with up("--ps", "1", "--workers", "1", "--metrics") as cluster:
        found = re.findall(
            r"^  (/job:\S+)  grpc://\S+  (http://127.0.0.1:\d+/metrics)$", cluster.output, re.M
        )
        assert [task for task, _ in found] == ["/job:ps/task:0", "/job:worker/task:0"]
        for task, url in found:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                job = task.removeprefix("/job:").partition("/")[0]
                assert (
                    f'tensorfleet_task_info{{job_name="{job}",task_index="0"}} 1.0' in answer.read().decode()
                )
        cluster.process.send_signal(signal.SIGINT)
        assert cluster.end()[0] == 0
