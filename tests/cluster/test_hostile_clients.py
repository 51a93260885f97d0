"""Clients that claim, keep silent or come in crowds: a good client gets its answer all the while."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.proto import fleet_pb2
from tensorfleet.wire import shared_memory
from tensorfleet.wire.frames import DESCRIPTOR, HEADER, MAGIC, Kind, encode, unpack_error
from tensorfleet.wire.limits import HELLO_SECONDS, MAX_HELLO_BYTES
from tensorfleet.wire.reader import Reader
from tests.ports import free_ports
from tests.until import until

pytestmark = pytest.mark.cluster

ANSWER_SECONDS = 20.0
"""A good client's deadline; on an idle machine its answer takes a tenth of a second."""

HELLO = encode(Kind.HELLO, 0, 0, MAGIC + b"{}")[0]
STRING = 7


class Task:
    """A task's process, and connections to it."""

    def __init__(self, **variables: str) -> None:
        self.target = f"127.0.0.1:{free_ports(1)[0]}"
        environment = {
            **os.environ,
            "TENSORFLEET_JOB_NAME": "worker",
            "TENSORFLEET_TASK_INDEX": "0",
            "TENSORFLEET_CLUSTER_SPEC": json.dumps({"worker": [self.target]}),
            **variables,
        }
        command = [sys.executable, "-m", "tensorfleet.cli.main", "serve"]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        self.addresses: list[str] = []
        until(self._serves, 60)

    def _serves(self) -> bool:
        with grpc.insecure_channel(self.target) as channel:
            try:
                answer = channel.unary_unary("/tensorfleet.FleetService/GetEndpoint")(b"", timeout=5)
            except grpc.RpcError:
                return False
        self.addresses = list(fleet_pb2.Endpoint.FromString(answer).stream_address)
        return True

    def connect(self, hello: bool = False) -> socket.socket:
        port = next(int(a.rpartition(":")[2]) for a in self.addresses if a.startswith("tcp:"))
        sock = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
        if hello:
            sock.sendall(HELLO)
            assert Reader(sock).read().kind == Kind.HELLO
        return sock

    def memory(self) -> int:
        """The memory that the process's budget counts, touched or not, in bytes."""
        found = re.search(r"VmData:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) << 10

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def good_client(self) -> float:
        """The seconds until a new session has its answer, and one on each of its ways."""
        begin = time.monotonic()
        config = tf.ConfigProto(operation_timeout_in_ms=int(ANSWER_SECONDS * 1000))
        with tf.Graph().as_default(), tf.Session(f"grpc://{self.target}", config=config) as session:
            assert session.run(tf.constant(1) + 1) == 2
        return time.monotonic() - begin


@pytest.fixture(scope="module")
def task() -> Iterator[Task]:
    made = Task()
    yield made
    made.process.kill()
    made.process.wait()


def claim(size: int, dtype: int = STRING) -> bytes:
    """50 bytes: the header and the descriptor of a tensor of that size."""
    head = DESCRIPTOR.pack(dtype, 1, size) + struct.pack("<Q", size)
    return HEADER.pack(Kind.RUN, 0, 1, len(head), 0, 0, size) + head


@pytest.mark.parametrize("size", [1 << 30, 6 << 30])
@pytest.mark.parametrize("hello", [False, True])
def test_fifty_bytes_that_claim_gigabytes(task: Task, size: int, hello: bool) -> None:
    before = task.memory()
    with task.connect(hello) as sock:
        sock.sendall(claim(size))
        assert task.good_client() < ANSWER_SECONDS
        assert task.memory() - before < 512 << 20  # with the threads of the good client
        if not hello:
            assert Reader(sock).read().kind == Kind.ERROR


def test_before_hello_there_is_room_for_little(task: Task) -> None:
    for frame in (
        HEADER.pack(Kind.HELLO, 0, 0, MAX_HELLO_BYTES + 1, 0, 0, 0),
        HEADER.pack(Kind.HELLO, 0, 1, 100, 0, 0, 1),
        encode(Kind.HELLO, 0, 0, MAGIC + b'{"x": "' + b"x" * MAX_HELLO_BYTES + b'"}')[0],
        encode(Kind.HELLO, 0, 0, MAGIC + b"{}", [np.zeros(3, np.float32)])[0],
        encode(Kind.HELLO, 0, 0, MAGIC + b"[" * 4000)[0],
    ):
        with task.connect() as sock:
            sock.sendall(frame)
            frame_read = Reader(sock).read()
            assert frame_read.kind == Kind.ERROR
            assert isinstance(unpack_error(frame_read), errors.InvalidArgumentError)
    assert task.good_client() < ANSWER_SECONDS


def test_whoever_says_hello_by_drops_is_cut_off(task: Task) -> None:
    """The time is for all of it, not for each byte."""
    with task.connect() as sock:
        begin = time.monotonic()
        drops = iter(HELLO + b" " * 1000)
        until(lambda: not _takes(sock, bytes([next(drops)])), HELLO_SECONDS + ANSWER_SECONDS)
        assert time.monotonic() - begin > HELLO_SECONDS / 2


def _takes(sock: socket.socket, data: bytes) -> bool:
    """Whether the other side is still there; takes half a second."""
    try:
        sock.sendall(data)
        sock.settimeout(0.5)
        return bool(sock.recv(1))
    except TimeoutError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("dtype", [STRING, 4])
def test_eight_connections_that_claim_much_and_send_little(task: Task, dtype: int) -> None:
    before = task.memory()
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(sock := task.connect(hello=True)).sendall(claim(500 << 20, dtype))
            sock.sendall(bytes(1 << 20))
        assert task.good_client() < ANSWER_SECONDS
        assert task.memory() - before < 1 << 30
        # A head is no other than a tensor.
        for _ in range(8):
            stack.enter_context(sock := task.connect(hello=True)).sendall(
                HEADER.pack(Kind.RUN, 0, 0, 500 << 20, 1, 1, 0)
            )
        assert task.good_client() < ANSWER_SECONDS
        assert task.memory() - before < 2 << 30


def test_a_crowd_that_says_nothing(task: Task) -> None:
    with ExitStack() as stack:
        for i in range(1500):
            stack.enter_context(task.connect(hello=bool(i % 2)))
        assert task.good_client() < ANSWER_SECONDS
        assert task.threads() < 1500  # strangers beyond a number were let go
    until(lambda: task.threads() < 200, 60)


def test_a_client_has_so_many_connections_and_no_more() -> None:
    task = Task(TENSORFLEET_MAX_CLIENT_CONNECTIONS="10")
    try:
        with ExitStack() as stack:
            readers = {}
            for _ in range(15):
                sock = stack.enter_context(task.connect())
                sock.sendall(HELLO)
                readers[sock] = Reader(sock)
                assert readers[sock].read().kind == Kind.HELLO
            # They are counted after they were greeted, so those that came last need not be the ones too many.
            until(lambda: len(select.select(list(readers), [], [], 0)[0]) == 5, ANSWER_SECONDS)
            for sock in select.select(list(readers), [], [], 0)[0]:
                error = unpack_error(readers[sock].read())
                assert isinstance(error, errors.ResourceExhaustedError)
                assert "TENSORFLEET_MAX_CLIENT_CONNECTIONS" in error.message
            # By the Unix socket, each process is a client of its own.
            assert task.good_client() < ANSWER_SECONDS
        until(lambda: _greeted(task), 30)
    finally:
        task.process.kill()
        task.process.wait()


def _greeted(task: Task) -> bool:
    with task.connect(hello=True) as sock:
        sock.settimeout(0.2)
        try:
            sock.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True  # it was let in, and nothing is said
    return False


def test_large_tensors_arrive_whole(task: Task) -> None:
    """Beyond the size from which memory grows as they arrive; by TCP, numbers and strings."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 255, 77_000_001, np.uint8)
    texts = np.array([rng.bytes(40_000_000), b"", rng.bytes(5)], object)
    with tf.Graph().as_default():
        x, t = tf.placeholder(tf.uint8, [None]), tf.placeholder(tf.string, [None])
        y, u = tf.identity(x), tf.identity(t)
        with tf.Session(f"grpc://{task.target}") as session:
            for _ in range(2):
                got, got_texts = session.run([y, u], {x: numbers, t: texts})
                assert np.array_equal(got, numbers)
                assert got_texts.tolist() == texts.tolist()


def test_a_stranger_cannot_run_what_others_have_prepared(task: Task) -> None:
    """Numbers of prepared signatures are not to be guessed by counting."""
    with tf.Graph().as_default(), tf.Session(f"grpc://{task.target}") as session:
        assert session.run(tf.constant(42)) == 42
        with task.connect(hello=True) as sock:
            reader = Reader(sock)
            for number in range(1, 50):
                sock.sendall(encode(Kind.RUN, 1, number)[0])
                assert isinstance(unpack_error(reader.read()), errors.AbortedError)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root, to become another user")
@pytest.mark.skipif(not shared_memory.SUPPORTED, reason="needs abstract Unix sockets")
def test_another_user_shares_no_memory(task: Task) -> None:
    """Another user of the machine, on the Unix socket: neither side takes the other's memory."""
    name = next(a[len("unix:@") :] for a in task.addresses if a.startswith("unix:"))
    code = f"""
import fcntl, os, socket
os.setgid(65534); os.setuid(65534)
sock = socket.socket(socket.AF_UNIX); sock.settimeout({ANSWER_SECONDS}); sock.connect("\\0{name}")
memory = os.memfd_create("x", os.MFD_ALLOW_SEALING); os.ftruncate(memory, 1 << 20)
fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
hello = bytes.fromhex({encode(Kind.HELLO, 0, 0, MAGIC + b'{"shared_memory": 268435456}')[0].hex()!r})
socket.send_fds(sock, [hello], [memory])
try:
    data, descriptors, _, _ = socket.recv_fds(sock, 65536, 4)
except OSError:
    data, descriptors = b"", []
print(len(descriptors))
"""
    before = len(os.listdir(f"/proc/{task.process.pid}/fd"))
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.strip() == "0"
    until(lambda: len(os.listdir(f"/proc/{task.process.pid}/fd")) <= before, 20)
    assert task.good_client() < ANSWER_SECONDS


def test_ops_use_the_directories_of_the_settings_alone(tmp_path: Path) -> None:
    """As a task that others can reach; the error names the op, the path and the setting."""
    (allowed := tmp_path / "allowed").mkdir()
    (allowed / "link").symlink_to(tmp_path)
    task = Task(TENSORFLEET_WRITE_PATHS=str(allowed), TENSORFLEET_READ_PATHS="none")
    try:
        variable = tf.Variable([1.0, 2.0])
        saver = tf.train.Saver()
        with tf.Session(f"grpc://{task.target}") as session:
            session.run(variable.initializer)
            path = saver.save(session, str(allowed / "model"), write_meta_graph=False)
            session.run(tf.assign(variable, [0.0, 0.0]))
            saver.restore(session, path)
            assert session.run(variable).tolist() == [1, 2]
            for outside in (tmp_path, allowed / "link", allowed / ".."):
                with pytest.raises(errors.PermissionDeniedError, match="TENSORFLEET_WRITE_PATHS") as caught:
                    session.run(tf.print("key", output_stream=f"file://{outside}/authorized_keys"))
                assert f"{outside}/authorized_keys" in caught.value.message
                assert "PrintV2" in caught.value.message
                with pytest.raises(errors.PermissionDeniedError, match="TENSORFLEET_WRITE_PATHS"):
                    saver.save(session, str(outside / "model"), write_meta_graph=False)
        assert sorted(os.listdir(tmp_path)) == ["allowed"]
    finally:
        task.process.kill()
        task.process.wait()
