"""`tensorfleet serve` as a process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import tensorfleet as tf
from tensorfleet_service.local_cluster import free_ports


@contextmanager
def serving(port: int, *flags: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A task of a cluster of one, that has said that it serves."""
    environment = {
        **os.environ,
        "TENSORFLEET_JOB_NAME": "worker",
        "TENSORFLEET_TASK_INDEX": "0",
        "TENSORFLEET_CLUSTER_SPEC": json.dumps({"worker": [f"127.0.0.1:{port}"]}),
        **variables,
    }
    command = [sys.executable, "-m", "tensorfleet.cli.main", "serve", *flags]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, text=True, stdin=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.cluster
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_serves_sessions_until_a_signal_drains_it(signum: int) -> None:
    port = free_ports("127.0.0.1", 1)[0]
    with serving(port, TENSORFLEET_LOG_FORMAT="json") as process:
        line = json.loads(first_line(process))
        assert (line["task"], line["level"]) == ("/job:worker/task:0", "info")
        with tf.Graph().as_default(), tf.Session(f"grpc://127.0.0.1:{port}") as session:
            assert session.run(tf.constant(2) + 3) == 5
        process.send_signal(signum)
        _, rest = process.communicate(timeout=30)
    assert process.returncode == 0
    assert {json.loads(line)["task"] for line in rest.splitlines()} == {"/job:worker/task:0"}
    assert f"{signal.Signals(signum).name}: draining" in rest


@pytest.mark.cluster
def test_the_end_of_standard_input_drains_if_asked_for() -> None:
    with serving(free_ports("127.0.0.1", 1)[0], "--stop-with-stdin") as process:
        assert "serves at" in first_line(process)
        process.communicate(timeout=30)  # closes its standard input
    assert process.returncode == 0


def test_a_port_in_use_ends_with_code_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(port) as process:
            _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"/job:worker/task:0 cannot listen at 127.0.0.1:{port}" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TENSORFLEET_JOB_NAME": "ps"}, "TENSORFLEET_JOB_NAME is 'ps', and the ClusterSpec has no such job"),
        ({"TENSORFLEET_CLUSTER_SPEC": "{"}, "TENSORFLEET_CLUSTER_SPEC is not JSON"),
    ],
)
def test_wrong_settings_end_with_code_2(variables: dict[str, str], words: str) -> None:
    with serving(2222, **variables) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert said.startswith("tensorfleet serve: ")
    assert words in said
    assert said.count("\n") == 1
