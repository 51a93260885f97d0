"""The unmodified TensorFlow client, which knows neither TLS nor tokens, on a cluster that takes both."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf

from tensorfleet.security import identity, settings, tokens
from tensorfleet.security.authority import Authority, pem
from tests.ports import free_ports

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

SECONDS = 60.0
TASKS = (("ps", 0), ("worker", 0))  # each of them a process


@contextmanager
def command(arguments: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """`tensorfleet …`, which ends with its standard input, and so with the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TENSORFLEET_")}
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tensorfleet.cli.main", *arguments, "--stop-with-stdin"],
            env=kept | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What leads to a ps and a worker with TLS and tokens: the proxy that `tensorfleet connect` is."""
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority.create("test", 1)
    (folder / "ca.pem").write_bytes(pem(authority.certificate))
    text, token = tokens.create("alice", "run")
    tokens.write(str(folder / "tokens.json"), [token])
    (folder / "token").write_text(text)

    def files(name: str, uri: str) -> dict[str, str]:
        cert, key = authority.issue(uri, ("localhost", "127.0.0.1"), 1)
        (folder / f"{name}.pem").write_bytes(cert)
        (folder / f"{name}-key.pem").write_bytes(key)
        return {
            settings.CERT: str(folder / f"{name}.pem"),
            settings.KEY: str(folder / f"{name}-key.pem"),
            settings.CA: str(folder / "ca.pem"),
        }

    ports = free_ports(len(TASKS))
    cluster = {job: [f"localhost:{port}"] for (job, _), port in zip(TASKS, ports, strict=True)}
    with ExitStack() as stack:
        for job, index in TASKS:
            environment = files(f"{job}-{index}", identity.task_uri("example.org", "one", job, index))
            environment[settings.TOKENS] = str(folder / "tokens.json")
            arguments = ["serve", "--job-name", job, "--task-index", str(index)]
            arguments += ["--cluster-spec", json.dumps(cluster)]
            stack.enter_context(command(arguments, environment, folder / f"{job}.log"))
        environment = files("client", "") | {settings.TOKEN_FILE: str(folder / "token")}
        arguments = ["connect", cluster["worker"][0], "--listen", "127.0.0.1:0"]
        process = stack.enter_context(command(arguments, environment, folder / "connect.log"))
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], SECONDS)[0]
        line = process.stdout.readline().strip()
        assert line.startswith("grpc://"), (folder / "connect.log").read_text()
        yield line


@pytest.fixture(autouse=True)
def _fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_training_over_two_tasks(target: str) -> None:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    with tf.device("/job:ps/task:0"):
        weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    values = np.random.default_rng(1).normal(size=(64, 3)).astype(np.float32)
    wanted = values @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            _, last = session.run([step, loss], {x: values, y: wanted})
        found = session.run(weights)
    assert last < 1e-4
    np.testing.assert_allclose(found, [[1.0], [-2.0], [0.5]], atol=0.05)


def test_large_tensors(target: str) -> None:
    values = np.random.default_rng(1).integers(0, 1 << 60, 6 << 20, np.int64)  # 48 MB
    x = tf.placeholder(tf.int64, values.shape)
    with tf.Session(target) as session:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(x + 1, {x: values}), values + 1)


def test_errors_and_deadlines(target: str) -> None:
    x = tf.placeholder(tf.int32, name="x")
    y = tf.gather(tf.constant([1, 2]), x, name="chosen")
    queue = tf.FIFOQueue(1, tf.int32, ())
    wait = queue.dequeue()
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 7 is not in") as raised:
            session.run(y, {x: 7})
        assert raised.value.op is not None
        assert raised.value.op.name == "chosen"
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(wait, options=tf.RunOptions(timeout_in_ms=500))
        assert session.run(y, {x: 1}) == 2
        assert any(d.name.startswith("/job:ps") for d in session.list_devices())
    with pytest.raises(tf.errors.PermissionDeniedError, match="requires the role admin"):
        tf.Session.reset(target)


def test_partial_runs_and_callables(target: str) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.placeholder(tf.float32, [])
    first = x * 2.0
    second = first + y
    with tf.Session(target) as session:
        handle = session.partial_run_setup([first, second], [x, y])
        assert session.partial_run(handle, first, {x: 3.0}) == 6.0
        assert session.partial_run(handle, second, {y: 1.0}) == 7.0
        call = session.make_callable(first, [x])
        assert [call(value) for value in (1.0, 2.0)] == [2.0, 4.0]
