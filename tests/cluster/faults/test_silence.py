"""Tasks that are stopped, or cut off, and say nothing: whoever needs them gets to know, and nobody else."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import tensorfleet as tf
from tests.cluster import networks, ops
from tests.cluster.conftest import MakeCluster, Way
from tests.cluster.networks import Networks
from tests.cluster.processes import Cluster
from tests.cluster.signals import stopped
from tests.cluster.test_collective_failures import reduce_on
from tests.cluster.test_failures import Running, works
from tests.cluster.together import together
from tests.until import until

pytestmark = pytest.mark.cluster

SECONDS = 3.0  # the limit of silence in these tests
NOTICED = 4 * SECONDS  # within which a busy machine notices, too

SILENT = r"no sign of life for \d+\.\d s, since 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ; last error: "


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Sessions and tasks with the limit of these tests: the settings of the tasks."""
    monkeypatch.setenv("TENSORFLEET_HEARTBEAT_SECONDS", str(SECONDS))
    return {"heartbeat_seconds": SECONDS}


@pytest.mark.parametrize("victim", [("ps", 0), ("worker", 1)])
def test_a_stopped_task_ends_the_steps_that_need_it(
    way: Way, cluster: MakeCluster, limited: dict[str, Any], victim: tuple[str, int]
) -> None:
    tasks = cluster(way.tasks, None, limited, ps=1, worker=2)
    name = f"/job:{victim[0]}/replica:0/task:{victim[1]}"
    address = re.escape(tasks[victim].address)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(name):
            blocked = ops.block(x, "gate")
            entered = ops.entered("gate")
        with tf.device("/job:worker/task:0"):
            y, alone = blocked + 1, x + 1
        with tf.Session(tasks.target()) as session, tf.Session(tasks.target()) as other:
            assert session.run(alone, {x: 1}) == 2
            step = Running(lambda: session.run(y, {x: 1}))
            other.run(entered)
            with stopped(tasks[victim].pid):
                error = step.error(NOTICED)
                assert isinstance(error, tf.errors.UnavailableError), error
                assert re.search(f"{name}.*{address}.*{SILENT}", error.message), error.message
                for _ in range(20):
                    assert session.run(alone, {x: 1}) == 2
                with pytest.raises(tf.errors.UnavailableError, match=f"(?s){name}.*{address}"):
                    session.run(y, {x: 1})
        assert works(tasks)


def test_a_stopped_master_ends_its_clients_steps(
    way: Way, cluster: MakeCluster, limited: dict[str, Any]
) -> None:
    tasks = cluster(way.tasks, None, limited, ps=1, worker=1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:ps/task:0"):
            blocked = ops.block(x, "gate")
            entered = ops.entered("gate")
        with tf.device("/job:worker/task:0"):
            y, alone = blocked + 1, x + 1
        with tf.Session(tasks.target()) as session, tf.Session(tasks.target("ps", 0)) as other:
            assert session.run(alone, {x: 1}) == 2
            step = Running(lambda: session.run(y, {x: 1}))
            other.run(entered)
            with stopped(tasks["worker", 0].pid):
                error = step.error(NOTICED)
                assert isinstance(error, tf.errors.UnavailableError), error
                assert re.search(re.escape(tasks["worker", 0].address) + ".*" + SILENT, error.message)
                assert "/job:worker/replica:0/task:0" in error.message
                with tf.device("/job:ps/task:0"):
                    here = tf.constant(1) + 1
                filters = tf.ConfigProto(device_filters=["/job:ps"])
                with tf.Session(tasks.target("ps", 0), config=filters) as unconcerned:
                    assert unconcerned.run(here) == 2
        assert works(tasks)


@pytest.mark.parametrize("where", ["/job:ps/task:0", "/job:worker/task:0"])
def test_a_busy_task_is_not_taken_for_a_lost_one(
    way: Way, cluster: MakeCluster, limited: dict[str, Any], where: str
) -> None:
    """A kernel that holds the interpreter: nothing of the task's own threads runs for twice the limit."""
    tasks = cluster(way.tasks, None, limited, ps=1, worker=1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(where):
            held = ops.hold(x, 2 * SECONDS)
        with tf.device("/job:worker/task:0"):
            y, alone = held + 1, x + 1
        with tf.device("/job:ps/task:0"):
            z, w = y + 1, alone + 1
        with tf.Session(tasks.target()) as session:
            assert session.run(z, {x: 1}) == 3
            assert session.run(w, {x: 2}) == 4


def test_a_step_that_waits_for_long_is_left_alone(
    way: Way, cluster: MakeCluster, limited: dict[str, Any]
) -> None:
    tasks = cluster(way.tasks, None, limited, ps=1, worker=1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:ps/task:0"):
            blocked = ops.block(x, "gate")
            entered, release = ops.entered("gate"), ops.release("gate")
        with tf.device("/job:worker/task:0"):
            y = blocked + 1
        with tf.Session(tasks.target()) as session, tf.Session(tasks.target("ps", 0)) as other:
            started = time.monotonic()
            step = Running(lambda: session.run(y, {x: 1}))
            other.run(entered)
            gate = ops.block(x, "never")
            with pytest.raises(tf.errors.DeadlineExceededError):
                other.run(gate, {x: 1}, tf.RunOptions(timeout_in_ms=int(2200 * SECONDS)))
            assert time.monotonic() - started > 2 * SECONDS
            other.run(release)
            assert step.error(NOTICED) is None


@pytest.mark.parametrize("victim", [2, 0], ids=["member", "leader"])
def test_a_stopped_member_of_a_collective(cluster: MakeCluster, limited: dict[str, Any], victim: int) -> None:
    tasks = cluster("grpc+stream", None, limited, worker=3)
    others = [rank for rank in range(3) if rank != victim]
    sessions, fetches = [], []
    for rank in range(3):
        with tf.Graph().as_default():
            fetches.append(reduce_on(rank, 3)())
            config = tf.ConfigProto(device_filters=[f"/job:worker/task:{rank}"])
            sessions.append(tf.Session(tasks.target(index=rank), config=config))

    def runs(ranks: list[int]) -> list[Any]:
        return together([partial(sessions[rank].run, fetches[rank]) for rank in ranks])

    assert [r.tolist() for r in runs([0, 1, 2])] == [[3.0] * 3] * 3
    with stopped(tasks["worker", victim].pid):
        for error in runs(others):
            assert isinstance(error, tf.errors.UnavailableError), error
            assert f"/job:worker/replica:0/task:{victim}" in error.message
            assert re.search(SILENT, error.message), error.message
        if victim == 0:  # who comes after the leader was lost is told, too
            started = time.monotonic()
            for error in runs(others):
                assert isinstance(error, tf.errors.UnavailableError), error
                assert "leader is lost" in error.message
                assert "/job:worker/replica:0/task:0" in error.message
            assert time.monotonic() - started < NOTICED
    until(lambda: [r.tolist() for r in runs([0, 1, 2]) if not isinstance(r, Exception)] == [[3.0] * 3] * 3)
    for session in sessions:
        session.close()


@pytest.fixture
def hosts() -> Iterator[Networks]:
    """Three hosts with links between them."""
    reason = networks.missing()
    if reason:
        pytest.skip(reason)
    found = Networks(3)
    try:
        yield found
    finally:
        found.close()


CLIENT = """
import os, threading
import tensorfleet as tf
from tests.cluster import ops

target, place, gate, after = {arguments!r}
x = tf.placeholder(tf.float32, [])
with tf.device(place):
    a = ops.block(x, gate) if gate else x * 2.0
with tf.device(after):
    b = a + 1.0
with tf.device("/job:worker/task:0"):
    alone = x + 1.0


def say_entered():
    with tf.Session(target, graph=alone.graph) as other:
        other.run(entered)
    print("waits")  # not before the session is closed, which needs the link


with tf.Session(target) as session:
    print("alone", session.run(alone, {{x: 1}}))
    if gate:
        with tf.device(place):
            entered = ops.entered(gate)
        threading.Thread(target=say_entered, daemon=True).start()
    try:
        print("step", session.run(b, {{x: 1}}))
    except tf.errors.OpError as e:
        print("error", type(e).__name__, e.message.replace("\\n", " "))
    os._exit(0)
"""


def client(cluster: Cluster, place: str, gate: str = "", after: str = "/job:worker/task:0") -> str:
    """A program that runs an op on `place`, which waits at a gate if there is one, and one `after` it."""
    return CLIENT.format(arguments=(cluster.target(), place, gate, after))


@pytest.mark.parametrize("protocol", ["grpc+stream", "grpc"])
def test_a_cluster_of_hosts_that_have_ipv4(
    cluster: MakeCluster, hosts: Networks, protocol: str, limited: dict[str, Any]
) -> None:
    """Tasks listen at all interfaces by IPv4, too, without TENSORFLEET_BIND_HOST."""
    places = {("ps", 0): hosts[0], ("worker", 0): hosts[1]}
    tasks = cluster(protocol, None, {"networks": places, **limited}, ps=1, worker=1)
    code = client(tasks, "/job:ps/task:0")
    process = networks.python(hosts[2], code, {})
    out, _ = process.communicate(timeout=60)
    assert "alone 2.0\nstep 3.0\n" in out, out


@pytest.mark.parametrize("protocol", ["grpc+stream", "grpc"])
def test_a_link_between_two_tasks_is_cut(
    cluster: MakeCluster, hosts: Networks, protocol: str, limited: dict[str, Any]
) -> None:
    places = {("ps", 0): hosts[0], ("worker", 0): hosts[1]}
    tasks = cluster(protocol, None, {"networks": places, **limited}, ps=1, worker=1)
    code = client(tasks, "/job:ps/task:0", "gate")
    with networks.python(hosts[2], code, {"TENSORFLEET_HEARTBEAT_SECONDS": str(SECONDS)}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "alone 2.0\n"
        assert process.stdout.readline() == "waits\n"
        hosts[0].cut(hosts[1])
        line = process.stdout.readline()
        assert line.startswith("error UnavailableError"), line
        assert "/job:ps/replica:0/task:0" in line, line
        assert re.search(SILENT, line), line
    hosts[0].mend(hosts[1])
    code = client(tasks, "/job:ps/task:0")
    process = networks.python(hosts[2], code, {})
    out, _ = process.communicate(timeout=60)
    assert "step 3.0" in out, out


@pytest.mark.parametrize("protocol", ["grpc+stream", "grpc"])
def test_a_link_between_two_tasks_of_which_none_is_the_master(
    cluster: MakeCluster, hosts: Networks, protocol: str, limited: dict[str, Any]
) -> None:
    places = {("worker", 0): hosts[0], ("worker", 1): hosts[1], ("ps", 0): hosts[2]}
    tasks = cluster(protocol, None, {"networks": places, **limited}, ps=1, worker=2)
    code = client(tasks, "/job:ps/task:0", "gate", "/job:worker/task:1")
    with networks.python(hosts[0], code, {"TENSORFLEET_HEARTBEAT_SECONDS": str(SECONDS)}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "alone 2.0\n"
        assert process.stdout.readline() == "waits\n"
        hosts[1].cut(hosts[2])
        line = process.stdout.readline()
        assert line.startswith("error UnavailableError"), line
        assert "/job:ps/replica:0/task:0" in line or "/job:worker/replica:0/task:1" in line, line
        assert re.search(SILENT, line), line


@pytest.mark.parametrize("transport", ["", "grpc"])
def test_the_link_between_a_client_and_its_master_is_cut(
    cluster: MakeCluster, hosts: Networks, transport: str, limited: dict[str, Any]
) -> None:
    tasks = cluster("grpc+stream", None, {"networks": {("worker", 0): hosts[1]}, **limited}, worker=1)
    code = client(tasks, "/job:worker/task:0", "gate")
    environment = {"TENSORFLEET_HEARTBEAT_SECONDS": str(SECONDS)}
    if transport:
        environment["TENSORFLEET_TRANSPORT"] = transport
    with networks.python(hosts[2], code, environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "alone 2.0\n"
        assert process.stdout.readline() == "waits\n"
        hosts[2].cut(hosts[1])
        line = process.stdout.readline()
        assert line.startswith("error UnavailableError"), line
        assert tasks["worker", 0].address in line, line
        assert re.search(SILENT, line), line
