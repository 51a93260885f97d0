"""The memory budget: what would pass it fails by name, and the task goes on."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import attr_value, tensor_util
from tensorfleet.proto.attr_value_pb2 import AttrValue
from tensorfleet.wire import shared_memory
from tensorfleet_service.devices import memory
from tensorfleet_service.devices.memory import VARIABLE, Budget, Limit, find_limit
from tensorfleet_service.executor import statements
from tensorfleet_service.local_cluster import LocalCluster
from tests.ports import free_ports
from tests.until import Call, until

BUDGET_MB = 400
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system counts for Linux alone")


@pytest.fixture(scope="module", params=["stream", "grpc"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def session(transport: str) -> Iterator[tf.Session]:
    with new_session(transport) as made:
        yield made


@contextlib.contextmanager
def new_session(transport: str) -> Iterator[tf.Session]:
    """A session on a task of its own with a budget, whose graph grows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(BUDGET_MB))
        patch.delenv("TENSORFLEET_TRANSPORT", raising=False)
        if transport == "grpc":
            patch.setenv("TENSORFLEET_TRANSPORT", "grpc")
        graph = tf.Graph()
        with LocalCluster({"worker": 1}) as cluster, tf.Session(cluster.target, graph=graph) as made:
            with graph.as_default():
                made.run(tf.constant(1))
            yield made


def dynamic(value: Any) -> Any:
    """A value that nobody knows before the step."""
    value = np.asarray(value)
    return tf.placeholder_with_default(value, value.shape)


LARGE = {
    "Fill": lambda: tf.fill(dynamic([1 << 28]), 1.0),
    "Range": lambda: tf.range(dynamic(np.int32(1 << 28))),
    "Tile": lambda: tf.tile(tf.ones([1 << 10]), dynamic([1 << 18])),
    "AddV2": lambda: dynamic(np.ones([1 << 14, 1], np.float32)) + dynamic(np.ones([1, 1 << 14], np.float32)),
    "MatMul": lambda: tf.matmul(dynamic(np.ones([1 << 14, 1], np.float32)), tf.ones([1, 1 << 14])),
    "OneHot": lambda: tf.one_hot(dynamic(np.zeros([1 << 14], np.int32)), dynamic(np.int32(1 << 14))),
    "Pad": lambda: tf.pad(tf.ones([1]), dynamic([[0, 1 << 28]])),
    "RandomUniform": lambda: tf.random_uniform(dynamic([1 << 28])),
    "GatherV2": lambda: tf.gather(tf.ones([1, 1 << 14]), dynamic(np.zeros([1 << 14], np.int32))),
    "UnsortedSegmentSum": lambda: tf.unsorted_segment_sum(tf.ones([1]), [0], dynamic(np.int32(1 << 28))),
    "ScatterNd": lambda: tf.scatter_nd(np.array([[0]]), tf.ones([1]), dynamic([1 << 28])),
    "Mul": lambda: tf.constant(1.0, shape=[1 << 28]) * dynamic(np.float32(2)),
}


@pytest.mark.parametrize("op", sorted(LARGE))
def test_what_is_too_large_is_refused_by_name(session: tf.Session, op: str) -> None:
    with session.graph.as_default():
        result, one = tf.reduce_sum(LARGE[op]()), tf.constant(1)
    with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        session.run(result)
    text = caught.value.message
    assert re.search(
        rf"Out of memory in {op}: .*Unable to allocate 1\.\d* GiB for an array with shape", text
    ), text
    assert re.search(rf"\d+ MiB of {BUDGET_MB} MiB are in use \({VARIABLE}\)", text), text
    assert "[[{{node " in text
    assert session.run(one) == 1


def test_what_fits_is_computed_again_and_again(session: tf.Session) -> None:
    """What one step used is there for the next."""
    with session.graph.as_default():
        result = tf.reduce_sum(tf.fill(dynamic([50 << 20]), 1.0))
    for _ in range(5):
        assert session.run(result) == 50 << 20


def test_fed_and_fetched_tensors_are_counted(session: tf.Session) -> None:
    with session.graph.as_default():
        x = tf.placeholder(tf.float32, [None])
        size, value = tf.size(x), tf.fill(dynamic([10 << 20]), 1.0)
    with pytest.raises(
        tf.errors.ResourceExhaustedError, match=r"Out of memory|takes no message of this size"
    ):
        session.run(size, {x: np.zeros(110 << 20, np.float32)})
    assert session.run(size, {x: np.zeros(10 << 20, np.float32)}) == 10 << 20
    assert session.run(value).shape == (10 << 20,)


def fits(session: tf.Session, fetch: Any) -> bool:
    try:
        session.run(fetch)
    except tf.errors.ResourceExhaustedError:
        return False
    return True


def test_what_failed_steps_held_is_given_back(session: tf.Session) -> None:
    is_given_back(session)


def test_what_failed_steps_held_is_given_back_to_a_busy_task(transport: str) -> None:
    """There is no moment at which no step runs."""
    with new_session(transport) as session:
        with session.graph.as_default():
            queue = tf.FIFOQueue(1, tf.int32, [])
            take, put, size = queue.dequeue(), queue.enqueue(7), queue.size()
        session.run(size)
        waiting = Call(lambda: session.run(take))
        is_given_back(session)
        assert waiting.running
        session.run(put)
        assert waiting.result() == 7


def is_given_back(session: tf.Session) -> None:
    """Runs a loop that fills the memory by small tensors, and then what needs half of it."""
    with session.graph.as_default():
        count = dynamic(np.int32(4000))
        array = tf.TensorArray(tf.float32, count)
        _, filled = tf.while_loop(
            lambda i, _: i < count,
            lambda i, a: (i + 1, a.write(i, tf.random_uniform([1 << 17]))),
            [tf.constant(0), array],
        )
        last, result = filled.read(0), tf.reduce_sum(tf.fill(dynamic([50 << 20]), 1.0))
    for _ in range(2):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory in"):
            session.run(last)
        until(lambda: fits(session, result))


def test_an_error_for_want_of_memory_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise MemoryError

    monkeypatch.setattr(memory, "_read", fails)
    assert memory.exhausted("Out of memory in Fill").message == "Out of memory in Fill"
    error = statements.explained(fails, ValueError("what a kernel let through"))
    assert isinstance(error, tf.errors.ResourceExhaustedError)


def test_the_reserve_is_opened_until_the_next_look() -> None:
    """In a process of its own: the limit cannot be taken back."""
    program = """
import mmap, resource
from tensorfleet_service.devices.memory import BUDGET, Limit
BUDGET.install(Limit(400 << 20, "a test"))
kept = []
try:
    while True:
        kept.append(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
except OSError:
    pass
BUDGET.open_reserve()
more = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
before = resource.getrlimit(resource.RLIMIT_DATA)
kept.clear()
BUDGET.refresh()
assert resource.getrlimit(resource.RLIMIT_DATA) < before
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_constant_of_one_element_is_not_unrolled() -> None:
    proto = AttrValue(tensor=tensor_util.make_tensor_proto(1.0, shape=[1 << 40]))
    value = attr_value.from_proto(proto)
    assert value.shape == (1 << 40,)
    assert value.strides == (0,)
    again = AttrValue()
    attr_value.to_proto(value, again)
    assert again.ByteSize() < 100
    small = attr_value.from_proto(AttrValue(tensor=tensor_util.make_tensor_proto(1.0, shape=[1000])))
    assert small.flags.c_contiguous
    strings = AttrValue(tensor=tensor_util.make_tensor_proto("abc", shape=[1 << 40]))
    assert attr_value.from_proto(strings).strides == (0,)
    assert tensor_util.make_ndarray(tensor_util.make_tensor_proto(1.0, shape=[5 << 20])).flags.writeable


def test_the_limit_is_the_setting_or_the_least_of_the_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_limit({VARIABLE: "7"}) == Limit(7 << 20, VARIABLE)
    assert find_limit({VARIABLE: "0"}) is None
    texts = {"0::/pod/container\n": "memory.max", "4:memory:/pod/container\n": "memory.limit_in_bytes"}
    for text, name in texts.items():
        root = tmp_path / ("memory" if name == "memory.limit_in_bytes" else "")
        inner = root / "pod" / "container"
        inner.mkdir(parents=True, exist_ok=True)
        monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
        monkeypatch.setattr(
            Path,
            "read_text",
            lambda path, t=text, own=Path.read_text: t if str(path) == "/proc/self/cgroup" else own(path),
        )
        (inner / name).write_text("max\n" if name == "memory.max" else "9223372036854771712\n")
        machine = find_limit({})
        assert machine is not None
        assert machine.source == "the machine's memory"
        (root / "pod" / name).write_text("1000000\n")
        assert find_limit({}) == Limit(1_000_000, "the container's memory limit", root / "pod")
        (inner / name).write_text("500000\n")
        assert find_limit({}) == Limit(500_000, "the container's memory limit", inner)
        monkeypatch.undo()


def test_shared_memory_asks_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget()
    assert budget.has_room(1 << 50)
    budget.limit = Limit(1 << 30, VARIABLE)
    monkeypatch.setattr(budget, "refresh", lambda: None)
    assert budget.has_room(1 << 20)
    assert not budget.has_room(1 << 30)
    if shared_memory.SUPPORTED:
        monkeypatch.setattr(shared_memory, "may_grow", budget.has_room)
        monkeypatch.setattr(budget, "limit", Limit(1, VARIABLE))
        arena = shared_memory.Arena(1 << 20)
        assert arena.put(np.zeros(1 << 16, np.uint8)) is None


V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of 512 MiB."""
    root = V2 if (V2 / "cgroup.controllers").exists() else V1
    path = root / f"tensorfleet-test-{os.getpid()}"
    try:
        path.mkdir()
        (path / ("memory.max" if root is V2 else "memory.limit_in_bytes")).write_text(str(512 << 20))
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error}")
    yield path
    path.rmdir()


def test_a_containers_limit_is_no_kill(group: Path) -> None:
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    flags = ["--job-name", "worker", "--task-index", "0", "--cluster-spec", json.dumps({"worker": [address]})]
    command = [sys.executable, "-m", "tensorfleet_service.main", *flags]
    environ = {name: text for name, text in os.environ.items() if name != VARIABLE}
    enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    with subprocess.Popen(["sh", "-c", enter, "sh", *command], env=environ) as process:
        try:
            with tf.Session(f"grpc://{address}") as session:
                one = tf.constant(1)
                assert session.run(one) == 1
                for op in ("Fill", "Range", "AddV2"):
                    with pytest.raises(
                        tf.errors.ResourceExhaustedError, match=r"512 MiB are in use \(the cont"
                    ):
                        session.run(tf.reduce_sum(LARGE[op]()))
                    assert session.run(one) == 1
            assert process.poll() is None
        finally:
            process.terminate()
            assert process.wait(30) == 0
