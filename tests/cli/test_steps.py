"""`tensorfleet status --steps` and `tensorfleet stacks` on a real cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cli import stacks, status
from tensorfleet_service.local_cluster import LocalCluster
from tests.ports import free_ports
from tests.until import Call, until


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"ps": 1, "worker": 1}) as cluster:
        yield cluster


def rows(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    # A busy machine may take longer than the default for an answer.
    assert status.main([cluster.target, "--steps", "--json", "--timeout=30"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_steps_that_wait(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(2, [tf.float32], [[]], shared_name="letters")
        taken, put = queue.dequeue(name="take"), queue.enqueue(1.0)
    with tf.device("/job:worker/task:0"):
        result = taken + 1.0
    with tf.Session(cluster.target) as session:
        session.run(queue.size())
        assert rows(cluster, capsys) == []
        call = Call(lambda: session.run(result))
        until(lambda: len(rows(cluster, capsys)) == 3)
        found = rows(cluster, capsys)
        assert len({row["step"] for row in found}) == len({row["session"] for row in found}) == 1
        told = {(row["role"], row["task"]): row["activity"] for row in found}
        ps, worker = "/job:ps/task:0", "/job:worker/task:0"
        assert told["worker", ps] == ["waits: FIFOQueue 'letters' is empty [take]"]
        ((text,), (master)) = told["worker", worker], told["master", worker]
        assert text.startswith("waits for tensor take (edge ")
        assert text.endswith(f"from {ps} to {worker}")
        assert sorted(master) == [f"waits for {ps}", f"waits for {worker}"]
        assert status.main([cluster.target, "--steps"]) == 0
        printed = capsys.readouterr().out
        assert "WAITS FOR OR DOES" in printed
        assert "FIFOQueue 'letters' is empty [take]" in printed
        session.run(put)
        assert call.result() == 2.0
    assert status.main([cluster.target, "--steps"]) == 0
    assert "No step runs." in capsys.readouterr().out


def test_a_step_that_computes_on_the_masters_own_thread(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    x = tf.placeholder(tf.float32, [1500, 1500])
    y = x
    for _ in range(60):
        y = tf.matmul(x, y, name="product")
    total = tf.reduce_sum(y)
    values = np.zeros([1500, 1500], np.float32)
    with tf.Session(cluster.target) as session:
        call = Call(lambda: session.run(total, {x: values}))
        found = until(lambda: [r for r in rows(cluster, capsys) if "MatMul" in r["activity"][0]])
        assert found[0]["activity"][0].startswith("computes MatMul [product")
        call.result()


def test_stacks_of_a_task(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("/job:ps/task:0", "ps:0"):
        assert stacks.main([name, "--address", cluster.target]) == 0
        printed = capsys.readouterr().out
        assert printed.startswith("/job:ps/replica:0/task:0 (process ")
        assert f"(process {cluster.pids['/job:ps/task:0']})" in printed
        assert "Thread 'watchdog'" in printed
        assert "Thread 'MainThread'" in printed
        assert "lifecycle.py" in printed
    assert stacks.main(["ps:7", "--address", cluster.target]) == 1
    assert "no task 'ps:7', only ps:0, worker:0" in capsys.readouterr().err
    assert stacks.main(["--address", "127.0.0.1:1", "--timeout", "1"]) == 1


# A task one of whose kernels keeps the interpreter for five seconds, as no kernel of ours does.
BUSY = """
import ctypes, sys
import tensorfleet_service.kernels
from tensorfleet_service import main
from tensorfleet_service.kernels import registry

def keeps_the_interpreter(node):
    def keeps(x):
        ctypes.PyDLL(None).sleep(5)
        return x
    return keeps

registry._factories["StringStrip"] = keeps_the_interpreter
sys.exit(main.main())
"""


def test_stacks_of_a_busy_interpreter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The task goes on after it was asked."""
    target = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("TENSORFLEET_CLUSTER_SPEC", json.dumps({"worker": [target]}))
    monkeypatch.setenv("TENSORFLEET_JOB_NAME", "worker")
    monkeypatch.setenv("TENSORFLEET_TASK_INDEX", "0")
    text = tf.placeholder(tf.string, [])
    busy = tf.strings.strip(text)
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        try:
            with tf.Session(target) as session:
                ended = threading.Event()

                def run() -> None:
                    assert session.run(busy, {text: b"aab"}) == b"aab"
                    ended.set()

                call = Call(run)
                printed = ""
                while "in keeps" not in printed and not ended.is_set():
                    if stacks.main(["--address", target, "--timeout", "0.3"]) == 0:
                        printed = capsys.readouterr().out
                assert "asked by a signal" in printed
                assert "in keeps" in printed
                call.result(120)
                assert session.run(text + "c", {text: b"aab"}) == b"aabc"
        finally:
            process.kill()
