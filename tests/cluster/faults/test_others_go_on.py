"""A task that is stopped for good, and a stranger with a task's name: the others' training goes on."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2
from tensorfleet.wire.frames import MAGIC, Kind, encode
from tests.cluster.conftest import MakeCluster
from tests.cluster.processes import Cluster, Task
from tests.cluster.signals import stopped
from tests.until import Call, until

pytestmark = pytest.mark.cluster

SECONDS = 2.0  # the limit of silence


def synchronous(tasks: Cluster, task: int, needed: int, done: Counter[int], over: threading.Event) -> None:
    """Trains as one of three replicas, of which `needed` make a step, and counts what it did."""
    setter = tf.train.replica_device_setter(
        cluster=tf.train.ClusterSpec(tasks.spec), worker_device=f"/job:worker/task:{task}"
    )
    with tf.Graph().as_default(), tf.device(setter):
        global_step = tf.train.get_or_create_global_step()
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        descent = tf.train.GradientDescentOptimizer(0.1)
        optimizer = tf.train.SyncReplicasOptimizer(descent, needed, total_num_replicas=3)
        train = optimizer.minimize(tf.square(weight - 1.0), global_step)
        hook = optimizer.make_session_run_hook(task == 0)
        with tf.train.MonitoredTrainingSession(
            tasks.target("worker", task), is_chief=task == 0, hooks=[hook], log_step_count_steps=None
        ) as session:
            limited = tf.RunOptions(timeout_in_ms=5000)
            while not over.is_set():
                try:
                    session.run(train, options=limited)
                except tf.errors.DeadlineExceededError:
                    continue  # at the end, whoever comes last is alone, and gets no token
                done[task] += 1


@contextlib.contextmanager
def absent(task: Task, number: int) -> Iterator[None]:
    """A task that is killed or stopped, and is back afterwards."""
    if number == signal.SIGSTOP:
        with stopped(task.pid):
            yield
        return
    task.kill()
    try:
        yield
    finally:
        task.restart()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["stopped", "killed"])
def test_two_of_three_replicas_go_on_without_the_third(
    cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("TENSORFLEET_HEARTBEAT_SECONDS", str(SECONDS))
    tasks = cluster("grpc+stream", None, {"heartbeat_seconds": SECONDS}, ps=1, worker=3)
    done: Counter[int] = Counter()
    over = threading.Event()
    calls = [Call(lambda i=i: synchronous(tasks, i, 2, done, over)) for i in range(3)]  # type: ignore[misc]
    try:
        until(lambda: min(done[i] for i in range(3)) >= 3)
        victim = tasks["worker", 2]
        with absent(victim, number):
            # Far more than what the third has given before, and beyond the limit of silence.
            for _ in range(3):
                before = Counter(done)
                until(lambda before=before: all(done[i] >= before[i] + 50 for i in (0, 1)))
            assert all(call.running for call in calls[:2])
        before = Counter(done)
        until(lambda: done[2] > before[2])
    finally:
        over.set()
        for call in calls[:2]:
            call.result()


def ended_by(session: tf.Session, fetch: tf.Tensor, feeds: dict[tf.Tensor, Any]) -> tf.errors.OpError | None:
    """The error of a step, if it has one: the second kind where the step was under way."""
    try:
        session.run(fetch, feeds)
    except (tf.errors.AbortedError, tf.errors.UnavailableError) as error:
        return error
    return None


@pytest.mark.parametrize("restarted", [False, True], ids=["same", "other"])
def test_a_stranger_says_to_be_a_task(cluster: MakeCluster, restarted: bool) -> None:
    """With the task's incarnation it is nobody; with another, sessions are told of a restart, once."""
    tasks = cluster("grpc+stream", ps=1, worker=2)
    endpoints = []
    for task in (tasks["worker", 0], tasks["worker", 1]):
        with grpc.insecure_channel(task.address) as channel:
            ask = channel.unary_unary("/tensorfleet.FleetService/GetEndpoint")
            endpoints.append(fleet_pb2.Endpoint.FromString(ask(b"", timeout=10)))
    incarnation = 12345 if restarted else endpoints[1].incarnation
    hello = MAGIC + json.dumps({"task": tasks["worker", 1].name, "incarnation": incarnation}).encode()
    (address,) = (a for a in endpoints[0].stream_address if a.startswith("tcp:"))
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            count = tf.Variable(np.zeros(1000, np.int64))
        with tf.device("/job:worker/task:1"):
            one = tf.placeholder(tf.int64, [1000]) * 1
        up = tf.assign_add(count, one)
        ones = {one.op.inputs[0]: np.ones(1000, np.int64)}
        with tf.Session(tasks.target()) as session:
            session.run(count.initializer)
            for step in range(1, 51):
                assert (session.run(up, ones) == step).all()
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 10) as stranger:
                stranger.sendall(encode(Kind.HELLO, 0, 0, hello)[0])
                stranger.settimeout(10)
                assert stranger.recv(1 << 16)  # it is greeted: who it is, is known to the task
                if restarted:
                    error = until(lambda: ended_by(session, up, ones))
                    assert "/job:worker/replica:0/task:1" in error.message, error.message
                else:
                    for step in range(51, 101):
                        assert (session.run(up, ones) == step).all()
        with tf.Session(tasks.target()) as session:
            before = session.run(count)[0]
            assert before >= step
            for number in range(50):
                assert (session.run(up, ones) == before + number + 1).all()
