"""Runs programs on clusters of our servers and TensorFlow's, and prints what came of them, as JSON.

A program, not a test. TensorFlow's server listens on all interfaces, so this is only for a network namespace
that has nothing but a loopback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

from tests.compat.mixed_programs import PROGRAMS, PS, WORKER, session
from tests.ports import free_ports

CLUSTERS = {
    "tensorflow": ("tensorflow", "tensorflow"),
    "our ps": ("ours", "tensorflow"),
    "our worker": ("tensorflow", "ours"),
}
RESTART_SECONDS = 60.0

_TASK = {
    "tensorflow": """
import json, os, sys
import tensorflow.compat.v1 as tf
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=index)
print("serving", flush=True)
sys.stdin.read()
os._exit(0)
""",
    "ours": """
import json, os, sys
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = TaskServer(ClusterSpec(cluster), job, index, protocol=sys.argv[4])
server.start()
print("serving", flush=True)
sys.stdin.read()
os._exit(0)
""",
}


class Tasks:
    """The tasks of a cluster as processes, which end with this one."""

    def __init__(self, kinds: dict[tuple[str, int], str], protocol: str = "grpc") -> None:
        self._kinds = kinds
        self._protocol = protocol
        ports = iter(free_ports(len(kinds)))
        self.jobs: dict[str, list[str]] = {}
        for job, _ in kinds:
            self.jobs.setdefault(job, []).append(f"localhost:{next(ports)}")
        self._processes = {task: self._start(*task) for task in kinds}
        for process in self._processes.values():
            _wait_for(process)

    @property
    def target(self) -> str:
        return f"grpc://{self.jobs['worker'][0]}"

    def _start(self, job: str, index: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _TASK[self._kinds[job, index]]]
        command += [json.dumps(self.jobs), job, str(index), self._protocol]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def restart(self, job: str) -> None:
        """Kills a task, and starts it again at its address."""
        process = self._processes[job, 0]
        process.kill()
        process.wait()
        self._processes[job, 0] = self._start(job, 0)
        _wait_for(self._processes[job, 0])

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == b"serving\n", line


def same(found: Any, expected: Any) -> None:
    """Asserts that two results are the same, numbers to a few units in the last place."""
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, np.ndarray | np.generic):
        found, expected = np.asarray(found), np.asarray(expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind in "fc":
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected, (found, expected)


def recover(tf: Any, tasks: Tasks, job: str) -> None:
    """A task is killed and comes back: the old session says so, a new one works."""
    x = tf.placeholder(tf.float32, [])
    with tf.device(PS):
        v = tf.get_variable("kept", initializer=2.0, use_resource=False)
        y = x * v
    with tf.device(WORKER):
        z = y + 1
        update = tf.assign_add(v, z)
    expected = 7.0
    old = session(tf, tasks.target)
    old.run(tf.global_variables_initializer())
    assert old.run(z, {x: 3}) == expected
    old.run(update, {x: 3})
    tasks.restart(job)
    end = time.monotonic() + RESTART_SECONDS
    while True:
        try:
            old.run(z, {x: 3})
            raise AssertionError("the session goes on as if nothing had happened")
        except tf.errors.UnavailableError:
            assert time.monotonic() < end
            time.sleep(0.1)
        except tf.errors.AbortedError:
            break
    try:
        old.close()
    except tf.errors.AbortedError:
        assert job == "worker"  # the master has forgotten it
    end = time.monotonic() + RESTART_SECONDS
    while True:
        try:
            with session(tf, tasks.target) as new:
                if job == "ps":
                    try:
                        new.run(z, {x: 3})
                        raise AssertionError("the variable of a dead process was read")
                    except tf.errors.FailedPreconditionError:
                        new.run(tf.global_variables_initializer())
                        assert new.run(z, {x: 3}) == expected
                else:
                    assert new.run(v) == 9.0
                    assert new.run(z, {x: 3}) == 28.0
                return
        except (tf.errors.UnavailableError, tf.errors.AbortedError):
            assert time.monotonic() < end
            time.sleep(0.1)


def three_tasks(tf: Any, tasks: Tasks) -> None:
    """A loop over TensorFlow's ps and two workers of ours, which are connected by stream."""

    def body(i: Any, y: Any) -> Any:
        with tf.device("/job:worker/task:1"):
            y = y * 2
        with tf.device(PS):
            y = y + 1
        with tf.device("/job:worker/task:1"):
            y = y + tf.cast(i, tf.float32)
        with tf.device(WORKER):
            return i + 1, tf.identity(y)

    with tf.device(WORKER):
        result = tf.while_loop(lambda i, _: i < 5, body, [tf.constant(0), tf.constant(1.0)])
    expected = 1.0
    for i in range(5):
        expected = expected * 2 + 1 + i
    for worker in tasks.jobs["worker"]:
        with session(tf, f"grpc://{worker}") as run:
            for _ in range(2):
                assert run.run(result) == (5, expected)


def main() -> None:
    import tensorflow.compat.v1 as real

    import tensorfleet as ours

    real.disable_v2_behavior()
    clients = {"tensorflow": real, "ours": ours}
    results: dict[str, str] = {}
    expected: dict[tuple[str, str], Any] = {}

    def attempt(name: str, tf: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            with tf.Graph().as_default():
                found = function(tf, *arguments)
            results[name] = ""
        except BaseException:
            results[name] = traceback.format_exc()
            return None
        return found

    def check(tf: Any, function: Callable[..., Any], target: str, like: Any) -> None:
        same(function(tf, target), like)

    chosen = sys.argv[1:] or list(PROGRAMS)
    for cluster, (ps, worker) in CLUSTERS.items():
        tasks = Tasks({("ps", 0): ps, ("worker", 0): worker})
        for client, tf in clients.items():
            for name in chosen:
                full = f"{cluster}, client {client}: {name}"
                if cluster == "tensorflow":
                    expected[client, name] = attempt(full, tf, PROGRAMS[name], tasks.target)
                else:
                    attempt(full, tf, check, PROGRAMS[name], tasks.target, expected[client, name])
            for job in ("ps", "worker") if cluster != "tensorflow" else ():
                attempt(f"{cluster}, client {client}: {job} restarts", tf, recover, tasks, job)
        tasks.stop()
    tasks = Tasks({("ps", 0): "tensorflow", ("worker", 0): "ours", ("worker", 1): "ours"}, "grpc+stream")
    for client, tf in clients.items():
        attempt(f"three tasks, client {client}", tf, three_tasks, tasks)
    tasks.stop()
    json.dump(results, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
