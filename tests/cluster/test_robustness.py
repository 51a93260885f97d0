"""Clients that vanish, strangers that send garbage, and sessions by the thousand."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import struct
import time
from multiprocessing.connection import Connection
from typing import Any

import grpc
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2
from tensorfleet.session.connect import FORCE_VARIABLE
from tensorfleet.wire.connection import open_socket
from tensorfleet.wire.frames import HEADER, MAGIC, Kind, encode
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster, Way
from tests.cluster.processes import Cluster, Task
from tests.cluster.test_failures import eventually, works

pytestmark = pytest.mark.cluster

TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]


def call(task: Task, method: str, request: Any, response: Any) -> Any:
    with grpc.insecure_channel(task.address, (("grpc.use_local_subchannel_pool", 1),)) as channel:
        ask = channel.unary_unary(
            f"/tensorfleet.FleetService/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        return ask(request, timeout=10)


def sessions(task: Task) -> int:
    status = call(task, "GetStatus", fleet_pb2.StatusRequest(), fleet_pb2.StatusReply)
    return len(status.session)


def client(target: str, transport: str | None, ready: Connection) -> None:
    """A client's process: a step that waits for the gate, for as long as it is let."""
    # The fork server's environment is that of the moment when it was started.
    os.environ.pop(FORCE_VARIABLE, None)
    if transport is not None:
        os.environ[FORCE_VARIABLE] = transport
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[0]):
            y = ops.block(x, "gate")
        with tf.device(TASKS[1]):
            z = y + 1
        with tf.Session(target) as session:
            session.run(x, {x: 1})
            ready.send("session")
            session.run(z, {x: 1})


def test_a_client_killed_in_the_middle_of_a_step(way: Way, cluster: MakeCluster) -> None:
    tasks = cluster(way.tasks, settings={"orphan_seconds": 0.3}, ps=1, worker=1)
    master = tasks["worker", 0]
    context = multiprocessing.get_context("forkserver")
    ready, theirs = context.Pipe()
    transport = os.environ.get(FORCE_VARIABLE)
    process = context.Process(target=client, args=(master.target, transport, theirs), daemon=True)
    process.start()
    assert ready.poll(20)
    assert ready.recv() == "session"
    with tf.Graph().as_default():
        counts = []
        for task in TASKS[:2]:
            with tf.device(task):
                counts.append(ops.status())
        with tf.device(TASKS[0]):
            entered = ops.entered("gate")
        with tf.Session(tasks.target()) as other:
            other.run(entered)
            before = other.run(counts)
            assert before[0][0] >= 1
            assert before[1][0] >= 1
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            after = eventually(
                lambda: other.run(counts),
                lambda found: all(a[0] < b[0] for a, b in zip(found, before, strict=True)),
            )
            assert all(a[0] < b[0] for a, b in zip(after, before, strict=True))
            # By gRPC a client has no connection of its own whose end could be seen: its session stays, as in
            # TensorFlow.
            left = 1 if way.session == "stream" else 2
            assert eventually(lambda: sessions(master), lambda found: found == left) == left
    assert works(tasks)


def hello(content: bytes) -> bytes:
    return b"".join(encode(Kind.HELLO, 0, 0, content))


GOOD_HELLO = hello(MAGIC + b'{"client": "test"}')
GARBAGE = {
    "text": b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n" * 10,
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "wrong magic": hello(b"tensorfleet-stream-0{}"),
    "no JSON": hello(MAGIC + b"{"),
    "no object": hello(MAGIC + b"[1]"),
    "deep JSON": hello(MAGIC + b"[" * 60000),
    "endless hello": HEADER.pack(Kind.HELLO, 0, 0, 1 << 29, 0, 0, 0) + b"x" * 100_000,
    "a task that is none": hello(MAGIC + b'{"task": "/job:x/replica:0/task:0", "incarnation": 1}'),
    "a task without incarnation": hello(MAGIC + b'{"task": "/job:worker/replica:0/task:1"}'),
    "unknown kind": GOOD_HELLO + HEADER.pack(200, 0, 0, 0, 1, 2, 0),
    "head over the limit": GOOD_HELLO + HEADER.pack(Kind.RUN, 0, 0, 0xFFFFFFFF, 1, 2, 0),
    "broken descriptors": GOOD_HELLO + HEADER.pack(Kind.RUN, 0, 9, 4, 1, 2, 0) + b"abcd",
    "unknown dtype": GOOD_HELLO + HEADER.pack(Kind.RUN, 0, 1, 10, 1, 2, 0) + struct.pack("<BBQ", 255, 0, 8),
    "rank over the limit": GOOD_HELLO
    + HEADER.pack(Kind.RUN, 0, 1, 10, 1, 2, 0)
    + struct.pack("<BBQ", 1, 200, 8),
    "tensor beyond all memory": GOOD_HELLO
    + HEADER.pack(Kind.RUN, 0, 1, 18, 1, 2, 1 << 62)
    + struct.pack("<BBQQ", 1, 1, 1 << 62, 1 << 60)
    + bytes(10000),
    "tensor of another size": GOOD_HELLO
    + HEADER.pack(Kind.RUN, 0, 1, 18, 1, 2, 1 << 30)
    + struct.pack("<BBQQ", 1, 1, 1 << 30, 2)
    + bytes(70000),
    "strings without end": GOOD_HELLO
    + HEADER.pack(Kind.RUN, 0, 1, 18, 1, 2, 4)
    + struct.pack("<BBQQ", 7, 1, 4, 1 << 40)
    + b"\xff\xff\xff\xff",
    "a call that is no message": GOOD_HELLO + b"".join(encode(Kind.CALL, 1, 1, b"\xff" * 50)),
    "an unknown call": GOOD_HELLO + b"".join(encode(Kind.CALL, 1, 77, b"")),
    "a callable that is none": GOOD_HELLO + b"".join(encode(Kind.RUN, 1, 77, b"")),
    "nothing": b"",
    "half a header": GOOD_HELLO + b"\x05",
}


def drained(sock: socket.socket) -> bytes:
    """The bytes that the server still sends before it closes the connection, or says nothing more."""
    sock.settimeout(0.5)
    received = b""
    try:
        while data := sock.recv(1 << 16):
            received += data
    except (TimeoutError, ConnectionError):
        pass
    return received


def test_garbage_does_no_harm(shared: Cluster, way: Way) -> None:
    task = shared["worker", 0]
    addresses = [f"tcp:{task.address}"]
    if "+" in way.tasks:
        endpoint = call(task, "GetEndpoint", fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint)
        addresses += list(endpoint.stream_address)
    with tf.Graph().as_default():
        with tf.device(TASKS[1]):
            counts = ops.status()
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[2]):
            y = x + 1
        with tf.Session(shared.target()) as session:
            session.run([y, counts], {x: 1})
            before = session.run(counts)
            for address in addresses:
                for data in GARBAGE.values():
                    sock = open_socket([address], 5)
                    with sock:
                        try:
                            sock.sendall(data)
                            sock.shutdown(socket.SHUT_WR)
                        except OSError:
                            continue  # refused before it had read all
                        drained(sock)
                assert session.run(y, {x: 1}) == 2
            after = eventually(lambda: session.run(counts), lambda found: found[3] <= before[3] + 3)
            assert after[3] <= before[3] + 3, "threads are left"
    assert works(shared)
    assert "Traceback" not in task.text()


def test_a_wrong_call_is_answered(shared: Cluster, way: Way) -> None:
    if "+" not in way.tasks:
        pytest.skip("the tasks have no stream endpoint")
    endpoint = call(shared["worker", 0], "GetEndpoint", fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint)
    for data, text in ((GARBAGE["an unknown call"], b"77"), (GARBAGE["a callable that is none"], b"session")):
        with open_socket(endpoint.stream_address, 5) as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            assert text in drained(sock)


def test_the_greeting_says_who_serves(shared: Cluster, way: Way) -> None:
    if "+" not in way.tasks:
        pytest.skip("the tasks have no stream endpoint")
    endpoint = call(shared["worker", 0], "GetEndpoint", fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint)
    with open_socket(endpoint.stream_address, 5) as sock:
        sock.sendall(GOOD_HELLO)
        sock.shutdown(socket.SHUT_WR)
        answer = drained(sock)
    said = json.loads(answer[HEADER.size + len(MAGIC) :])
    assert said["task"] == "/job:worker/replica:0/task:0"
    assert said["incarnation"] == endpoint.incarnation


def test_a_thousand_sessions_leave_nothing(shared: Cluster, way: Way) -> None:
    count = 1000 if way.session == "stream" else 200
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[2]):
            y = x + 1
        counts = []
        for task in TASKS:
            with tf.device(task):
                counts.append(ops.status())
        with tf.Session(shared.target()) as watcher:
            watcher.run([y, counts], {x: 1})
            before = watcher.run(counts)
            for i in range(count):
                with tf.Session(shared.target()) as session:
                    assert session.run(y, {x: i}) == i + 1
            after = eventually(
                lambda: watcher.run(counts),
                # What a session has on other tasks goes by a message that nobody waits for.
                lambda found: all(
                    a[1] == b[1] and abs(a[3] - b[3]) <= 3 for a, b in zip(found, before, strict=True)
                ),
            )
    for one, other in zip(before, after, strict=True):
        assert abs(other[0] - one[0]) <= 1  # steps
        assert other[1] == one[1]  # graphs
        assert other[2] == 0  # tensors that nobody took
        assert other[3] <= one[3] + 3  # threads
    assert sessions(shared["worker", 0]) == 0


def test_failing_steps_leave_nothing(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[2]):
            good = x + 1
        with tf.device(TASKS[0]):
            bad = ops.fail(good, 3, "no", "bad")
            other = good * 2
        with tf.device(TASKS[1]):
            z = bad + other
        counts = []
        for task in TASKS:
            with tf.device(task):
                counts.append(ops.status())
        with tf.Session(shared.target()) as session:
            session.run(counts)
            before = session.run(counts)
            for _ in range(100):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(z, {x: 1})
            after = eventually(
                lambda: session.run(counts),
                lambda found: all(a[0] <= b[0] and a[2] == 0 for a, b in zip(found, before, strict=True)),
            )
    for one, later in zip(before, after, strict=True):
        assert later[0] <= one[0]
        assert later[2] == 0


def test_a_step_that_timed_out_frees_its_thread_when_its_kernel_ends(shared: Cluster) -> None:
    gate = f"late {time.monotonic_ns()}"
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device(TASKS[2]):
            blocked = ops.block(x, gate)
            release, counts = ops.release(gate), ops.status()
        with tf.Session(shared.target()) as session:
            session.run(counts)
            options = tf.RunOptions(timeout_in_ms=50)
            for _ in range(20):
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(blocked, {x: 1}, options)
            session.run(release)
            assert session.run(blocked, {x: 3}) == 3
            steps = eventually(lambda: session.run(counts)[0], lambda found: found <= 1)
            assert steps <= 1
