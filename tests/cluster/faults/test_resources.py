"""A training on a task that runs out of descriptors, of disk or of memory goes on with the right numbers."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.session import transport_grpc
from tests.cluster.faults.served import Served, ended
from tests.ports import free_ports
from tests.until import until

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

DESCRIPTORS = 64
CLIENTS_AT_ONCE = 40
BUDGET_MB = 400
DISK_MB = 4
ROUNDS = int(os.environ.get("TENSORFLEET_FAULT_ROUNDS", "2"))  # of kills
ELEMENTS = 400_000  # 3.2 MB: a disk of 4 MB has room for one
SEED = int(os.environ.get("TENSORFLEET_FAULT_SEED", "1"))


@contextlib.contextmanager
def one_task(**arguments: Any) -> Iterator[Served]:
    spec = {"worker": [f"127.0.0.1:{free_ports(1)[0]}"]}
    with ended([Served(spec, "worker", 0, **arguments)]) as (task,):
        yield task
        task.signal(signal.SIGTERM)
        assert task.wait() == 0, task.text()
        assert "Traceback" not in task.text(), task.text()


class Counting:
    """A session that counts on the task, step by step, and knows the number that is right."""

    def __init__(self, address: str) -> None:
        self.expected = 0
        with tf.Graph().as_default():
            self._count = tf.Variable(np.zeros(1000, np.int64))
            self._up = tf.assign_add(self._count, np.ones(1000, np.int64))
            self._session = tf.Session(f"grpc://{address}")
            self._session.run(self._count.initializer)

    def step(self) -> None:
        self.expected += 1
        assert (self._session.run(self._up) == self.expected).all()

    def close(self) -> None:
        self._session.close()


CLIENTS = """
import sys, threading
import tensorfleet as tf

target, count = sys.argv[1], int(sys.argv[2])
config = tf.ConfigProto(operation_timeout_in_ms=3000)
held, ends = [], []


def one(i):
    with tf.Graph().as_default():
        session = tf.Session(target, config=config)
        held.append(session)
        try:
            ends.append("right" if session.run(tf.constant(i) + 1) == i + 1 else "wrong")
        except tf.errors.OpError as e:
            ends.append(type(e).__name__)


threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*ends, flush=True)
sys.stdin.read()
"""


def test_a_task_without_free_descriptors_goes_on_training() -> None:
    """Clients come until there are no descriptors; all can come when others have left."""
    with one_task(descriptors=DESCRIPTORS) as task:
        counting = Counting(task.address)
        counting.step()
        idle = len(task.files())
        command = [sys.executable, "-c", CLIENTS, f"grpc://{task.address}", str(CLIENTS_AT_ONCE)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as clients:
            try:
                until(lambda: len(task.files()) >= DESCRIPTORS - 4)
                for _ in range(100):
                    counting.step()
                assert clients.stdout is not None
                ends = clients.stdout.readline().split()
                print({end: ends.count(end) for end in sorted(set(ends))})
                assert len(ends) == CLIENTS_AT_ONCE
                assert set(ends) <= {"right", "UnavailableError", "DeadlineExceededError"}
                for _ in range(100):
                    counting.step()
            finally:
                clients.kill()
        until(lambda: len(task.files()) <= idle + 2)
        with tf.Graph().as_default(), tf.Session(f"grpc://{task.address}") as session:
            assert session.run(tf.constant(1) + 1) == 2
        counting.step()
        counting.close()
        # By each of the two sockets, however often a descriptor is free meanwhile.
        assert task.text().count("connections cannot be accepted") <= 2, task.text()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of a few megabytes."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(path)]
    if os.geteuid() != 0:
        pytest.skip("a file system can be mounted by root only")
    tried = subprocess.run(command, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"a file system cannot be mounted here: {tried.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_disk_that_fills_during_checkpoints(disk: Path) -> None:
    """Saves fail at a random place of the file; the last whole checkpoint stays, the variables are right."""
    source = random.Random(SEED)
    prefix = str(disk / "m")
    with one_task() as task, tf.Graph().as_default():
        value = tf.Variable(np.zeros(ELEMENTS, np.int64), name="value")
        up = tf.assign_add(value, np.ones(1, np.int64) * tf.ones([ELEMENTS], tf.int64))
        saver = tf.train.Saver(max_to_keep=1)
        with tf.Session(f"grpc://{task.address}") as session:
            session.run(value.initializer)
            session.run(up.op)
            last = saver.save(session, prefix, global_step=1, write_meta_graph=False)
            files = {path.name for path in disk.iterdir()}
            for step in range(2, 6):
                session.run(up.op)
                other = disk / "other"  # so the disk is full at another place of the file each time
                other.write_bytes(bytes(source.randrange(DISK_MB * 100_000)))
                with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left on device"):
                    saver.save(session, prefix, global_step=step, write_meta_graph=False)
                other.unlink()
                assert {path.name for path in disk.iterdir()} == files
                assert tf.train.latest_checkpoint(str(disk)) == last
                assert (tf.train.NewCheckpointReader(last).get_tensor("value") == 1).all()
                assert (session.run(value) == step).all()
            for path in disk.glob("m-1.*"):
                path.unlink()
            last = saver.save(session, prefix, global_step=5, write_meta_graph=False)
            session.run(up.op)
            saver.restore(session, last)
            assert (session.run(value) == 5).all()


def test_a_step_without_memory_leaves_the_training_beside_it_alone() -> None:
    """Steps of random sizes around the budget, between the steps of a training on the same task."""
    source = random.Random(SEED)
    with one_task(TENSORFLEET_MEMORY_MB=str(BUDGET_MB)) as task:
        counting = Counting(task.address)
        with tf.Graph().as_default(), tf.Session(f"grpc://{task.address}") as session:
            size = tf.placeholder(tf.int64, [1])
            total = tf.reduce_sum(tf.cast(tf.fill(size, 1.0), tf.float64))
            ends = []
            for _ in range(6):
                elements = source.randrange(1, 2 * BUDGET_MB << 18)
                try:
                    assert session.run(total, {size: [elements]}) == elements
                    ends.append("right")
                except tf.errors.ResourceExhaustedError as e:
                    ends.append(e.message)
                counting.step()
            refused = [end for end in ends if end != "right"]
            print(f"seed {SEED}: {len(refused)} of {len(ends)} steps are refused")
            assert refused
            for message in refused:
                assert re.search(rf"Out of memory in \w+: .* of {BUDGET_MB} MiB are in use", message), message
            assert session.run(total, {size: [1000]}) == 1000
        counting.close()
        status = Path(f"/proc/{task.pid}/status").read_text()
        most = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) >> 10  # type: ignore[index]
        assert most < 2 * BUDGET_MB, f"{most} MiB"


@pytest.mark.parametrize("says_size", [True, False])
@pytest.mark.parametrize("megabytes", [30, 70])
def test_large_feeds_at_once_by_grpc_end_no_process(
    megabytes: int, says_size: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC itself ends a process in which it finds no memory; clients of TensorFlow say no sizes."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    if not says_size:
        monkeypatch.setattr(transport_grpc, "size_metadata", lambda size: ())
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        total = tf.reduce_sum(x)
    value = np.ones(megabytes * 250_000, np.float32)
    ends: list[str] = []

    def feed(target: str) -> None:
        with tf.Session(target, graph=graph) as session:
            for _ in range(2):
                try:
                    ends.append("right" if session.run(total, {x: value}) == value.size else "wrong")
                except tf.errors.ResourceExhaustedError:
                    ends.append("refused")
                except tf.errors.OpError as e:
                    ends.append(f"{type(e).__name__}: {e.message}")

    with one_task(TENSORFLEET_MEMORY_MB=str(BUDGET_MB)) as task:
        target = f"grpc://{task.address}"
        with tf.Session(target, graph=graph) as session:
            threads = [threading.Thread(target=feed, args=(target,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            small = 0
            while any(thread.is_alive() for thread in threads):
                assert session.run(total, {x: [1.0, 2.0]}) == 3
                small += 1
            assert session.run(total, {x: [1.0, 2.0]}) == 3
        assert task.running
    print(f"{ends.count('right')} right, {ends.count('refused')} refused, {small} small steps meanwhile")
    assert small
    assert len(ends) == 8
    assert set(ends) <= {"right", "refused"}, ends
    assert megabytes > 30 or "right" in ends


SAVES = """
import json, sys
import numpy as np
import tensorfleet as tf

target, directory = sys.argv[1:]
value = tf.Variable(np.zeros(300_000, np.int64), name="value")
number = tf.Variable(0, name="number")
up = tf.group(tf.assign_add(value, tf.ones([300_000], tf.int64)), tf.assign_add(number, 1))
saver = tf.train.Saver(max_to_keep=2)
with tf.Session(target) as session:
    last = tf.train.latest_checkpoint(directory)
    if last:
        saver.restore(session, last)
    else:
        session.run(tf.global_variables_initializer())
    start = int(session.run(number))
    print("begins", start, flush=True)
    for step in range(start + 1, start + 100_000):
        session.run(up)
        saver.save(session, directory + "/m", global_step=step, write_meta_graph=False)
        print("saved", step, flush=True)
"""


def test_a_task_killed_while_it_saves(tmp_path: Path) -> None:
    """Whatever the moment: each listed checkpoint is whole, and the last acknowledged save is not lost."""
    source = random.Random(SEED)
    spec = {"worker": [f"127.0.0.1:{free_ports(1)[0]}"]}
    with ended([Served(spec, "worker", 0)]) as (task,):
        command = [sys.executable, "-c", SAVES, f"grpc://{task.address}", str(tmp_path)]
        acknowledged = 0
        for _ in range(ROUNDS):
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
                assert client.stdout is not None
                begins = client.stdout.readline().split()
                assert begins[:1] == ["begins"], begins
                assert int(begins[1]) >= acknowledged
                for _ in range(source.randrange(1, 4)):
                    client.stdout.readline()
                # The next save has begun: it is killed at a random one of its system calls.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    client.wait(source.uniform(0, 0.05))
                task.signal(signal.SIGKILL)
                task.wait()
                rest = client.communicate(timeout=60)[0]
                acknowledged = max([acknowledged, *(int(word) for word in re.findall(r"saved (\d+)", rest))])
            state = tf.train.get_checkpoint_state(str(tmp_path))
            assert state is not None
            for path in state.all_model_checkpoint_paths:
                reader = tf.train.NewCheckpointReader(path)
                step = int(path.rpartition("-")[2])
                assert reader.get_tensor("number") == step
                assert (reader.get_tensor("value") == step).all()
            assert step >= acknowledged
            task.restart()
        # The next save removes what the killed ones have left, once that is old.
        left = list(tmp_path.glob("*.tempstate*"))
        for path in left:
            os.utime(path, (0, 0))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == f"begins {step}\n"
            assert client.stdout.readline() == f"saved {step + 1}\n"
            client.kill()
        assert not [path for path in left if path.exists()]
        print(f"seed {SEED}: {acknowledged} saves, {len(left)} temporary files were left and removed")
