"""`tensorfleet serve` as a process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import tensorfleet as tf
from tests.ports import free_ports


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
    port = free_ports(1)[0]
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
def test_metrics_and_health_until_the_last_step_has_ended() -> None:
    """A step that runs when SIGTERM comes ends well; meanwhile the task is alive, but not ready."""
    port, http = free_ports(2)
    with serving(port, TENSORFLEET_METRICS_PORT=str(http), TENSORFLEET_GPUS="none") as process:
        lines = [first_line(process), first_line(process)]
        assert f"metrics and health at port {http}" in lines[0]
        assert "serves at" in lines[1]
        assert page(http, "healthz/ready") == (200, "ok\n")
        result: list[int] = []
        with tf.Graph().as_default():
            session = tf.Session(f"grpc://127.0.0.1:{port}")
            n = tf.placeholder(tf.int32, [])
            end = tf.while_loop(lambda i: i < n, lambda i: i + 1, [tf.constant(0)])
            assert session.run(end, {n: 3}) == 3
            step = threading.Thread(target=lambda: result.append(session.run(end, {n: 3_000_000})))
            step.start()
            wait_for(lambda: 'tensorfleet_steps_running{role="master"} 1.0' in page(http, "metrics")[1])
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: page(http, "healthz/ready")[0] == 503)
            assert page(http, "healthz/live") == (200, "ok\n")
            assert page(http, "healthz/ready")[1].startswith("draining: ")
            with pytest.raises(tf.errors.UnavailableError, match="shutting down"):
                session.run(end, {n: 1})
            step.join(60)
            with contextlib.suppress(tf.errors.UnavailableError):
                session.close()  # the task may have gone first
        process.communicate(timeout=30)
    assert result == [3_000_000]
    assert process.returncode == 0


def page(port: int, path: str) -> tuple[int, str]:
    """A page's status and text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read().decode()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_metrics_port_in_use_ends_with_code_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(free_ports(1)[0], TENSORFLEET_METRICS_PORT=str(port)) as process:
            _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"/job:worker/task:0 cannot listen at port {port} for metrics" in said
    assert "Traceback" not in said


@pytest.mark.cluster
def test_a_variable_that_nobody_knows_is_a_warning() -> None:
    with serving(free_ports(1)[0], TENSORFLEET_MOOD="good") as process:
        assert "WARNING /job:worker/task:0 main: TENSORFLEET_MOOD is set" in first_line(process)
        assert "serves at" in first_line(process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.cluster
def test_the_end_of_standard_input_drains_if_asked_for() -> None:
    with serving(free_ports(1)[0], "--stop-with-stdin") as process:
        assert "serves at" in first_line(process)
        process.communicate(timeout=30)  # closes its standard input
    assert process.returncode == 0


def test_a_port_in_use_ends_with_code_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving(port) as process:
            _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    first, second = said.splitlines()  # none of gRPC's own before them
    assert first.startswith(f"tensorfleet serve: /job:worker/task:0 cannot listen at 127.0.0.1:{port}: ")
    assert first.endswith("Address already in use")
    assert second.startswith("If another process uses the port, stop it, or ")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TENSORFLEET_JOB_NAME": "ps"}, "TENSORFLEET_JOB_NAME is 'ps', and the ClusterSpec has no such job"),
        ({"TENSORFLEET_JOB_NAME": "wroker"}, 'correct one of them. Did you mean "worker"?'),
        ({"TENSORFLEET_CLUSTER_SPEC": "{"}, "TENSORFLEET_CLUSTER_SPEC is not JSON"),
        # What modules read when they are imported is looked at before that.
        (
            {"TENSORFLEET_RECEIVE_BUFFERS_MB": "x"},
            "TENSORFLEET_RECEIVE_BUFFERS_MB is 'x': set it to a number",
        ),
        ({"TENSORFLEET_MAX_MESSAGE_MB": "x"}, "TENSORFLEET_MAX_MESSAGE_MB is 'x': set it to a number"),
        ({"TENSORFLEET_SESSION_IDLE_SECONDS": "x"}, "TENSORFLEET_SESSION_IDLE_SECONDS is 'x'"),
        ({"TENSORFLEET_JOB": "ps"}, "TENSORFLEET_JOB is not a setting: did you mean TENSORFLEET_JOB_NAME?"),
    ],
)
def test_wrong_settings_end_with_code_2(variables: dict[str, str], words: str) -> None:
    with serving(2222, **variables) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert said.startswith("tensorfleet serve: ")
    assert words in said
    assert said.count("\n") == 1
