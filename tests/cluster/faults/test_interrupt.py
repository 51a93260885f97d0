"""Ctrl-C in a client: its step ends on all tasks at once, and a second one leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tensorfleet as tf
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster, Way
from tests.ports import free_ports
from tests.until import until

pytestmark = pytest.mark.cluster

SECONDS = 20.0

PROGRAM = """
import json, sys
import tensorfleet as tf
from tests.cluster import ops

target, mode = sys.argv[1:]
if target.startswith("{"):
    server = tf.train.Server(json.loads(target), job_name="worker", task_index=0)
    server.start()
    target = server.target
x = tf.placeholder(tf.float32, [])
if mode == "loop":
    with tf.device("/job:ps/task:0"):
        a = tf.while_loop(lambda i: i > -1.0, lambda i: i * 0.5 + 1.0, [x])
else:
    with tf.device("/job:ps/task:0"):
        a = ops.block(x, "gate")
with tf.device("/job:worker/task:0"):
    b = a + 1.0
with tf.Session(target) as session:
    session.run(x, {x: 1})
    print("runs", flush=True)
    try:
        session.run(b, {x: 1})
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        if mode == "twice":
            session.run(b, {x: 1})
        if mode != "again":
            raise
    print("again", session.run(x * 2.0, {x: 4}), flush=True)
"""


def start(target: str, mode: str, transport: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TENSORFLEET_TRANSPORT": transport}
    if transport != "grpc":
        del environment["TENSORFLEET_TRANSPORT"]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, target, mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env=environment,
    )


@pytest.mark.parametrize("mode", ["once", "twice", "again", "loop"])
def test_an_interrupted_step_ends_everywhere(way: Way, cluster: MakeCluster, mode: str) -> None:
    tasks = cluster(way.tasks, ps=1, worker=1)
    counts = []
    with tf.Graph().as_default():
        for task in ("/job:ps/task:0", "/job:worker/task:0"):
            with tf.device(task):
                counts.append(ops.status())
        with (
            tf.Session(tasks.target("ps", 0)) as session,
            start(tasks.target(), mode, way.session) as process,
        ):

            def steps() -> list[int]:
                return [int(found[0]) for found in session.run(counts)]

            assert process.stdout is not None
            assert process.stdout.readline() == "runs\n"
            until(lambda: steps() == [2, 2], SECONDS)  # the one that asks is there, too
            process.send_signal(signal.SIGINT)
            until(lambda: steps() == [1, 1], SECONDS)
            assert process.stdout.readline() == "interrupted\n"
            if mode == "twice":
                until(lambda: steps() == [2, 2], SECONDS)
                process.send_signal(signal.SIGINT)
            # By the same reader as before, which may have taken more than the line that it gave.
            again = process.stdout.readline()
            _, err = process.communicate(timeout=SECONDS)
            if mode == "again":
                assert (again, process.returncode) == ("again 8.0\n", 0), err
            else:
                assert process.returncode != 0
                assert err.rstrip().endswith("KeyboardInterrupt"), err
            until(lambda: steps() == [1, 1], SECONDS)


def test_an_interrupted_step_of_a_server_in_the_same_process(cluster: MakeCluster) -> None:
    """As in between-graph replication: the session's master is in the client's own process."""
    (port,) = free_ports(1)
    worker = {"worker": [f"127.0.0.1:{port}"]}
    tasks = cluster("grpc+stream", worker, ps=1)
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        count = ops.status()
    with (
        tf.Session(tasks.target("ps", 0), graph=count.graph, config=config) as session,
        start(json.dumps({**tasks.spec, **worker}), "once", "") as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        until(lambda: session.run(count)[0] == 1, SECONDS)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        _, err = process.communicate(timeout=SECONDS)
        assert err.rstrip().endswith("KeyboardInterrupt"), err
        until(lambda: session.run(count)[0] == 0, SECONDS)
