"""`tensorfleet top` on real clusters."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tensorfleet.cli import top
from tensorfleet_service.local_cluster import LocalCluster
from tests.ports import free_ports


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"ps": 1, "worker": 1}) as cluster:
        yield cluster


def test_steps_in_a_second(cluster: LocalCluster) -> None:
    view = top.View(cluster.spec.task_address("worker", 0), 10)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            weights = tf.Variable(tf.zeros([3, 2]), name="weights")
        with tf.Session(cluster.target) as session:
            session.run(weights.initializer)
            begin = time.monotonic()
            first = view.look()
            start = time.monotonic()
            for _ in range(30):
                session.run(weights)
            end = time.monotonic()
            second = view.look()
            over = time.monotonic()
    assert view.answered
    assert re.search(r"^\d\d:\d\d:\d\d  2 of 2 tasks up$", first, re.M)
    assert re.search(r"^/job:ps/task:0 +up +\d+s +[\d.]+ MiB +- +\d+ +0 +24 B$", first, re.M)
    assert re.search(r"^\w{16} +/job:worker/task:0 +- +1 +\d+s$", first, re.M)
    found = re.search(r"^\w{16} +/job:worker/task:0 +([\d.]+) +31 +\d+s$", second, re.M)
    assert found
    # Between the two looks lie at least the 30 steps, and at most the looks themselves as well.
    assert 30 / (over - begin) - 0.1 <= float(found[1]) <= 30 / (end - start) + 0.1
    assert re.search(r"^/job:worker/task:0 +up +\d+s +[\d.]+ MiB +[\d.]+ +\d+ +1 +0 B$", second, re.M)


def test_a_cluster_whose_first_task_goes_is_still_shown() -> None:
    with LocalCluster({"local": 2}) as cluster:
        view = top.View(cluster.spec.task_address("local", 0), 10)
        assert "2 of 2 tasks up" in view.look()
        os.kill(cluster.pids["/job:local/task:0"], signal.SIGKILL)
        cluster.wait()
        text = view.look()
        assert "1 of 2 tasks up" in text
        assert re.search(r"^/job:local/task:0 +down +.*refused", text, re.M)


def test_without_a_terminal_the_tables_follow_each_other(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert top.main([cluster.target, "--count", "2", "--interval", "0.1"]) == 0
    out = capsys.readouterr().out
    assert out.count("2 of 2 tasks up") == 2
    assert "\x1b" not in out


def test_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    (port,) = free_ports(1)
    assert top.main([f"127.0.0.1:{port}", "--count", "1"]) == 1
    assert f"no answer from 127.0.0.1:{port}: " in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_terminal_gets_its_screen_back(cluster: LocalCluster, number: int) -> None:
    ours, its = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "tensorfleet.cli.main", "top", cluster.target, "--interval", "0.1"],
            stdout=its,
        )
        seen = b""
        while seen.count(b"2 of 2 tasks up") < 2:
            seen += os.read(ours, 65536)
        process.send_signal(number)
        while b"\x1b[?1049l" not in seen:  # a terminal that is not read from holds up who writes
            seen += os.read(ours, 65536)
        assert process.wait(30) == 0
        assert seen.startswith(b"\x1b[?1049h")
    finally:
        os.close(ours)
        os.close(its)


def test_what_does_not_fit_is_left_out() -> None:
    text = "\n".join(f"line {i} is long" for i in range(10)) + "\n"
    first = "line 0 is long\nline 1 is long\nline 2 is long\n"
    assert top.fitted(text, 80, 5).removeprefix("\x1b[H\x1b[J") == f"{first}… 7 more lines\n"
    assert top.fitted(text, 6, 24).startswith("\x1b[H\x1b[Jline 0\nline 1\n")
    assert top.fitted("a\nb\n", 80, 24).removeprefix("\x1b[H\x1b[J") == "a\nb\n"


@pytest.mark.parametrize("flags", [["--interval", "0"], ["--count", "0"], ["--timeout", "x"], []])
def test_wrong_flags(flags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORFLEET_ADDRESS", raising=False)
    with pytest.raises(SystemExit) as ended:
        top.main(["127.0.0.1:1", *flags] if flags else [])
    assert ended.value.code == 2
