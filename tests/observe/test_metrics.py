"""Every metric of a task in this process, against what was done with it."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import tensorfleet as tf
from tensorfleet_service.devices import gpu, nvml
from tensorfleet_service.observe import metrics
from tensorfleet_service.tracing import meter
from tensorfleet_service.tracing.meter import BOUNDS, Histogram, OpSampler
from tests.observe.conftest import MakeServer
from tests.observe.scrape import Scrape, scrape
from tests.until import until

ROOT = Path(__file__).resolve().parents[2]


# -------------------------------------------------------------------------------------------- the histogram


@pytest.mark.parametrize(
    ("nanoseconds", "bound"),
    [(0, 16e-6), (1, 16e-6), (16_000, 16e-6), (16_001, 32e-6), (32_000, 32e-6), (2**27 * 1000, 2**27 / 1e6)],
)
def test_a_duration_is_in_the_bucket_with_the_next_bound(nanoseconds: int, bound: float) -> None:
    histogram = Histogram()
    histogram.observe(nanoseconds)
    totals = histogram.cumulative()
    first = BOUNDS.index(bound)
    assert totals == [0] * first + [1] * (len(BOUNDS) + 1 - first)
    assert (histogram.count, histogram.seconds) == (1, nanoseconds / 1e9)


def test_what_is_over_the_last_bound_counts_in_the_sum_only() -> None:
    histogram = Histogram()
    histogram.observe(200 * 10**9)
    histogram.observe(10**15)
    assert histogram.cumulative() == [0] * len(BOUNDS) + [2]
    assert (histogram + histogram).cumulative()[-1] == 4


def test_the_bounds_are_powers_of_two() -> None:
    assert (BOUNDS[0], BOUNDS[-1], len(BOUNDS)) == (16e-6, 134.217728, 24)
    assert all(b == 2 * a for a, b in itertools.pairwise(BOUNDS))


# --------------------------------------------------------------------------------------------- steps and ops


def test_steps_ops_and_stages(server: MakeServer) -> None:
    task = server()
    registry = task.registry()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        x = tf.placeholder(tf.float32, [])
        y = tf.sin(x + 1) * 2
        run = session.make_callable(y, [x])
        for _ in range(7):
            run(1.0)
        found = scrape(registry)
        assert found("tensorfleet_sessions") == found("tensorfleet_run_signatures") == 1
        assert found("tensorfleet_graphs") == found("tensorfleet_client_connections") == 1
    assert found("tensorfleet_step_duration_seconds_count", kind="local") == 7
    assert found("tensorfleet_step_duration_seconds_count", kind="distributed") == 0
    assert 0 < found("tensorfleet_step_duration_seconds_sum", kind="local") < 10
    for stage in ("prune", "place", "optimize", "partition", "register"):
        assert found("tensorfleet_stage_duration_seconds_count", stage=stage) == 1
    assert found("tensorfleet_stage_duration_seconds_count", stage="run") == 7
    assert {op: found("tensorfleet_ops_total", op=op) for op in ("AddV2", "Sin", "Mul")} == {
        "AddV2": 7,
        "Sin": 7,
        "Mul": 7,
    }
    after = scrape(registry)
    assert after("tensorfleet_sessions") == after("tensorfleet_graphs") == 0
    assert after("tensorfleet_sessions_created_total") == 1
    # What a closed session has done stays counted.
    assert after("tensorfleet_ops_total", op="Sin") == 7


def test_a_loop_counts_what_has_really_run(server: MakeServer) -> None:
    task = server()
    registry = task.registry()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        n = tf.placeholder(tf.int32, [])
        end = tf.while_loop(lambda i: i < n, lambda i: i + 1, [tf.constant(0)])
        assert session.run(end, {n: 5}) == 5
        before = scrape(registry)("tensorfleet_ops_total", op="LoopCond")
        session.run(end, {n: 20})
        assert scrape(registry)("tensorfleet_ops_total", op="LoopCond") - before == 21


def test_the_time_of_ops_is_sampled(server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "SAMPLE_SECONDS", 0.0)
    task = server()
    registry = task.registry()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        x = tf.placeholder(tf.float32, [100])
        run = session.make_callable(tf.sin(x) + 1, [x])
        value = np.ones(100, np.float32)
        for _ in range(2 * (meter.SAMPLE_MASK + 1) + 1):
            run(value)
    found = scrape(registry)
    assert found.labels("tensorfleet_op_sampled_seconds_count", "op") == {"Sin", "AddV2"}
    # The runs after the 128th and the 256th.
    assert found("tensorfleet_op_sampled_seconds_count", op="Sin") == 2
    assert 0 < found("tensorfleet_op_sampled_seconds_sum", op="Sin") < 1
    assert found("tensorfleet_ops_total", op="Sin") == 257


class _Plan:
    def __init__(self, nodes: int, runs: int) -> None:
        self.nodes, self.runs, self.next_sample = [None] * nodes, runs, 0.0


def test_samples_are_seldom_and_of_graphs_of_moderate_size() -> None:
    sampler = OpSampler()
    assert not sampler.due([_Plan(10, 0)])  # a first run is slow as it is
    plan = _Plan(10, 128)
    assert sampler.due([plan])
    assert not sampler.due([plan])  # not twice in a second
    assert not sampler.due([_Plan(meter.MAX_SAMPLED_NODES, 128), _Plan(1, 128)])


def test_errors_are_counted_by_code(server: MakeServer) -> None:
    task = server()
    registry = task.registry()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        x = tf.placeholder(tf.float32, [])
        checked = tf.check_numerics(1 / x, "x")
        assert session.run(checked, {x: 1}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: 0})
        with tf.device("/job:worker/task:7"):
            elsewhere = tf.constant(1) + 1
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(elsewhere)
    found = scrape(registry)
    assert found("tensorfleet_step_errors_total", code="INVALID_ARGUMENT") == 1
    assert found("tensorfleet_prepare_errors_total", code="INVALID_ARGUMENT") == 1
    assert found("tensorfleet_step_errors_total", code="UNAVAILABLE") == 0
    assert found("tensorfleet_step_duration_seconds_count", kind="local") == 2


def test_variables_and_queues(server: MakeServer) -> None:
    task = server()
    registry = task.registry()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        tf.Variable(np.zeros((10, 25), np.float32))
        queue = tf.FIFOQueue(10, [tf.int32], [[]], name="work", shared_name="work")
        session.run(tf.global_variables_initializer())
        session.run(queue.enqueue_many([[1, 2, 3]]))
        found = scrape(registry)
    assert (found("tensorfleet_variables"), found("tensorfleet_variables_bytes")) == (1, 1000)
    assert found("tensorfleet_queue_length", queue="work") == 3


def by_transport(monkeypatch: pytest.MonkeyPatch, transport: str) -> None:
    """Has sessions reach servers by stream, by gRPC, or those of their own process without a socket."""
    if transport == "own process":
        monkeypatch.delenv("TENSORFLEET_TRANSPORT")
    else:
        monkeypatch.setenv("TENSORFLEET_TRANSPORT", transport)


def test_many_queues_are_put_together(server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_QUEUES", 2)
    task = server()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        for name in "abcd":
            queue = tf.FIFOQueue(10, [tf.int32], [[]], shared_name=name)
            session.run(queue.enqueue_many([[1, 2, 3]]))
        found = scrape(task)
    assert found.labels("tensorfleet_queue_length", "queue") == {"a", "b", "_other"}
    assert found("tensorfleet_queue_length", queue="_other") == 6


@pytest.mark.parametrize("transport", ["stream", "grpc", "own process"])
def test_running_steps_and_their_age(
    server: MakeServer, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    by_transport(monkeypatch, transport)
    task = server()
    registry = task.registry()
    entered, leave = threading.Event(), threading.Event()

    def wait() -> np.int64:
        entered.set()
        assert leave.wait(30)
        return np.int64(4)

    with tf.Graph().as_default(), tf.Session(task.target) as session:
        value = tf.py_func(wait, [], tf.int64)
        thread = threading.Thread(target=session.run, args=(value,))
        thread.start()
        assert entered.wait(30)
        found = scrape(registry)
        assert found("tensorfleet_steps_running", role="master") == 1
        first = found("tensorfleet_oldest_step_age_seconds", role="master")
        assert scrape(registry)("tensorfleet_oldest_step_age_seconds", role="master") > first > 0
        leave.set()
        thread.join(30)
    found = scrape(registry)
    assert found("tensorfleet_steps_running", role="master") == 0
    assert found("tensorfleet_oldest_step_age_seconds", role="master") == 0


def _grown_by(registry: CollectorRegistry, before: Scrape, name: str, peer: str) -> float:
    return scrape(registry)(name, peer=peer) - before(name, peer=peer)


def test_bytes_and_messages_of_clients(server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    task = server()
    registry = task.registry()
    array = np.zeros(250_000, np.float32)
    for transport, peer in (("stream", "clients"), ("grpc", "grpc")):
        by_transport(monkeypatch, transport)
        with tf.Graph().as_default(), tf.Session(task.target) as session:
            x = tf.placeholder(tf.float32, [None])
            before = scrape(registry)
            session.run(x + 1, {x: array})
            # A frame is counted once the socket has taken it: the client may have its answer before that.
            sent = partial(_grown_by, registry, before, "tensorfleet_sent_bytes_total", peer)
            until(lambda sent=sent: sent() >= 1_000_000)
            after = scrape(registry)
        for direction in ("sent", "received"):
            name = f"tensorfleet_{direction}_bytes_total"
            assert 1_000_000 <= after(name, peer=peer) - before(name, peer=peer) < 1_010_000
            name = f"tensorfleet_{direction}_messages_total"
            assert 1 <= after(name, peer=peer) - before(name, peer=peer) < 10


def test_several_tasks_in_a_process_have_metrics_of_their_own(server: MakeServer) -> None:
    first, second = server(), server()
    with tf.Graph().as_default(), tf.Session(second.target) as session:
        session.run(tf.constant(1) + 1)
    assert scrape(first)("tensorfleet_stage_duration_seconds_count", stage="run") == 0
    assert scrape(second)("tensorfleet_stage_duration_seconds_count", stage="run") == 1


def test_what_the_task_is(server: MakeServer) -> None:
    found = scrape(server())
    assert found("tensorfleet_task_info", job_name="worker", task_index="0") == 1
    assert found("tensorfleet_cluster_tasks") == found("tensorfleet_ready") == 1
    assert found("tensorfleet_draining_seconds") == found("tensorfleet_gpus_required") == 0
    assert found("process_resident_memory_bytes") < found("tensorfleet_memory_limit_bytes")


# ----------------------------------------------------------------------------------------- forms and the page


def lint(promtool: str, text: str) -> str:
    """The output of `promtool check metrics`."""
    done = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=30
    )
    return done.stdout + done.stderr


def test_names_and_units_are_as_prometheus_wants_them(server: MakeServer, promtool: str) -> None:
    task = server()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        session.run(tf.constant(1) + 1)
        assert lint(promtool, scrape(task).text) == ""
    assert "counter metrics should have" in lint(promtool, "# HELP a x\n# TYPE a counter\na 1\n")


def test_openmetrics_can_be_read(server: MakeServer) -> None:
    families = list(text_string_to_metric_families(openmetrics(server().registry()).decode()))
    assert {"tensorfleet_build", "tensorfleet_step_duration_seconds"} <= {family.name for family in families}


def documented() -> dict[str, tuple[str, set[str]]]:
    """Type and labels of every metric in the page."""
    rows = re.findall(
        r"^\| `([a-z_]+)` \| (\w+) \|([^|]*)\|",
        (ROOT / "docs" / "observability.md").read_text(),
        re.MULTILINE,
    )
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


GPU_MEMORY = {
    "tensorfleet_gpu_reading_age_seconds",
    "tensorfleet_gpu_memory_bytes",
    "tensorfleet_gpu_memory_used_bytes",
    "tensorfleet_gpu_pool_bytes",
    "tensorfleet_gpu_pool_used_bytes",
}
GPU_CONDITION = {
    "tensorfleet_gpu_utilization_ratio",
    "tensorfleet_gpu_memory_utilization_ratio",
    "tensorfleet_gpu_temperature_celsius",
    "tensorfleet_gpu_power_watts",
    "tensorfleet_gpu_memory_errors_total",
}
GPU_ONLY = GPU_MEMORY | GPU_CONDITION
GPU_PEERS = {"tensorfleet_gpu_ipc_sent_bytes_total", "tensorfleet_gpu_ipc_received_bytes_total"}
AT_ENDS = {"le"}  # of histograms


def described(found: Scrape) -> dict[str, tuple[str, set[str]]]:
    """The same of a scrape."""
    result = {}
    for name, family in found.families.items():
        total = f"{name}_total" if family.type == "counter" and not name.endswith("_total") else name
        labels = {label for sample in family.samples for label in sample.labels} - AT_ENDS
        result[total] = (family.type, labels)
    return result


def test_the_page_has_every_metric(monkeypatch: pytest.MonkeyPatch, server: MakeServer) -> None:
    monkeypatch.setattr(meter, "SAMPLE_SECONDS", 0.0)
    task = server()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        queue = tf.FIFOQueue(10, [tf.int32], [[]], shared_name="q")
        session.run(queue.enqueue([1]))
        x = tf.placeholder(tf.int32, [])
        run = session.make_callable(x + 1, [x])
        for _ in range(meter.SAMPLE_MASK + 3):
            run(1)
        found = described(scrape(task))
    page = documented()
    # A cluster of one has no peers; its metrics of peers have no samples that would show their labels.
    of_peers = {"tensorfleet_peer_connected", "tensorfleet_peer_send_queue"}
    assert set(found) == set(page) - GPU_ONLY - GPU_PEERS
    assert {n: f for n, f in found.items() if n not in of_peers} == {
        n: p for n, p in page.items() if n not in GPU_ONLY | GPU_PEERS | of_peers
    }


class _Runtime:
    """As much of CuPy as `gpu.memory`, `gpu.visible` and `nvml.condition` use, with two GPUs."""

    CUDARuntimeError = RuntimeError

    @staticmethod
    def getDeviceCount() -> int:
        return 2

    @staticmethod
    def memGetInfo() -> tuple[int, int]:
        return 300 - _Device.current, 1000

    @staticmethod
    def deviceGetPCIBusId(number: int) -> str:
        return f"0000:0{number}:00.0"


class _Device:
    current = 0

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        _Device.current = self._number

    def __exit__(self, *_: object) -> None:
        _Device.current = 0


@pytest.fixture
def task_with_gpus(server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    pool = SimpleNamespace(total_bytes=lambda: 200, used_bytes=lambda: 150)
    cuda = SimpleNamespace(runtime=_Runtime, Device=_Device)
    monkeypatch.setitem(
        sys.modules, "cupy", SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool, __spec__=cuda)
    )
    assert gpu.visible() == (2, "")
    task = server(gpus=0)
    device = next(iter(task._worker.devices.values()))
    for number in range(2):
        name = f"/job:worker/replica:0/task:0/device:GPU:{number}"
        task._worker.devices[name] = replace(device, name=name, type="GPU")
    nvml._library.cache_clear()
    yield task
    nvml._library.cache_clear()


def test_the_memory_of_gpus(task_with_gpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # cannot be imported
    found = scrape(task_with_gpus)
    assert found("tensorfleet_gpus") == 2
    assert found("tensorfleet_gpu_memory_bytes", gpu="1") == 1000
    assert found("tensorfleet_gpu_memory_used_bytes", gpu="0") == 700
    assert found("tensorfleet_gpu_memory_used_bytes", gpu="1") == 701
    assert found("tensorfleet_gpu_pool_bytes", gpu="1") == 200
    assert found("tensorfleet_gpu_pool_used_bytes", gpu="1") == 150
    assert {name for name in found.families if "_gpu_" in name} == GPU_MEMORY


def test_the_condition_of_gpus(task_with_gpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pynvml = pytest.importorskip("pynvml")

    def power(handle: str) -> int:
        if "01" in handle:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return 61_500

    def errors(handle: str, kind: int, counter: int) -> int:
        assert counter == pynvml.NVML_VOLATILE_ECC
        return {pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED: 7, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED: 1}[
            kind
        ]

    for name, function in {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByPciBusId": lambda address: address,
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=75, memory=20),
        "nvmlDeviceGetTemperature": lambda handle, sensor: 64,
        "nvmlDeviceGetPowerUsage": power,
        "nvmlDeviceGetTotalEccErrors": errors,
    }.items():
        monkeypatch.setattr(pynvml, name, function)
    found = scrape(task_with_gpus)
    assert found("tensorfleet_gpu_utilization_ratio", gpu="1") == 0.75
    assert found("tensorfleet_gpu_memory_utilization_ratio", gpu="1") == 0.2
    assert found("tensorfleet_gpu_temperature_celsius", gpu="0") == 64
    assert found("tensorfleet_gpu_memory_errors_total", gpu="0", kind="corrected") == 7
    assert found("tensorfleet_gpu_memory_errors_total", gpu="1", kind="uncorrected") == 1
    assert found("tensorfleet_gpu_power_watts", gpu="0") == 61.5
    families = found.families
    assert [sample.labels["gpu"] for sample in families["tensorfleet_gpu_power_watts"].samples] == ["0"]
    page = documented()
    described_now = described(found)
    assert {name: described_now[name] for name in GPU_ONLY} == {name: page[name] for name in GPU_ONLY}


def test_a_driver_that_hangs_does_not_hang_the_metrics(
    task_with_gpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    go_on = threading.Event()

    def hanging() -> tuple[int, int]:
        assert go_on.wait(60)
        return 100, 1000

    registry = task_with_gpus.registry()
    assert scrape(registry)("tensorfleet_gpu_memory_used_bytes", gpu="0") == 700
    monkeypatch.setattr("tensorfleet_service.devices.watched.READING_SECONDS", 0.2)
    monkeypatch.setattr(_Runtime, "memGetInfo", staticmethod(hanging))
    before = threading.active_count()
    for _ in range(3):
        found = scrape(registry)
        assert found("tensorfleet_gpu_memory_used_bytes", gpu="0") == 700
        assert found("tensorfleet_gpu_reading_age_seconds") >= 0.2
    assert threading.active_count() <= before + 2, "each scrape left a thread"
    go_on.set()

    def is_new() -> bool:
        found = scrape(registry)
        used = found("tensorfleet_gpu_memory_used_bytes", gpu="0")
        return (used, found("tensorfleet_gpu_reading_age_seconds")) == (900, 0)

    until(is_new, 20)  # a busy machine may take more than 0.2 s for a reading


def test_without_a_driver_there_is_no_condition(task_with_gpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pynvml = pytest.importorskip("pynvml")

    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    found = scrape(task_with_gpus)
    assert {name for name in found.families if "_gpu_" in name} == GPU_MEMORY


def test_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    runtime = SimpleNamespace(getDeviceCount=none, CUDARuntimeError=RuntimeError)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), __spec__=runtime)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert gpu.visible() == (0, "CuPy sees no GPU: cudaErrorNoDevice: no CUDA-capable device is detected")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert gpu.visible() == (0, "CuPy is not installed")
