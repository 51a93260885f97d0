"""The metrics of a task, made at each scrape from the numbers that its parts count.

All names, with their labels and meanings, are in docs/observability.md. The number of label values is
bounded: that of op types, stages, codes and peers is, and queues beyond the first MAX_QUEUES share a label.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import grpc
import numpy as np
from google import protobuf
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tensorfleet.core.printable import printable
from tensorfleet_service.devices.memory import BUDGET, find_limit
from tensorfleet_service.devices.nvml import Condition, condition
from tensorfleet_service.devices.watched import Watched
from tensorfleet_service.kernels.registry import is_blocking
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.state.queues import Queue
from tensorfleet_service.tracing.meter import BOUNDS, Histogram
from tensorfleet_service.tracing.timed import NOT_RUN
from tensorfleet_service.worker.progress import short_name

if TYPE_CHECKING:
    from tensorfleet.wire.traffic import Traffic
    from tensorfleet_service.master.master import Master
    from tensorfleet_service.net.peers import Peers
    from tensorfleet_service.net.refusals import Refusals
    from tensorfleet_service.observe.health import Health
    from tensorfleet_service.observe.watchdog import Watchdog
    from tensorfleet_service.security.guard import Guard
    from tensorfleet_service.tracing.meter import MasterMeter
    from tensorfleet_service.worker.worker import Worker

GpuReading = tuple[tuple[int, int, int, int], Condition | None]
"""A GPU's memory, as of `devices.gpu.memory`, and its condition."""

MAX_QUEUES = 50
MAX_LABEL = 200  # characters of a name that a client has chosen
OTHERS = "_other"
CLIENTS, GRPC = "clients", "grpc"
"""Peers that are not tasks: clients by stream, and all callers by gRPC, which do not say who they are."""

CODES = {code.value[0]: code.name for code in grpc.StatusCode if code is not grpc.StatusCode.OK}


class Clients(Protocol):
    """The connections of clients: the number of open ones, and the traffic of all."""

    traffic: Traffic

    @property
    def connections(self) -> int: ...


@dataclass(frozen=True)
class Task:
    """The parts of a task that count something."""

    version: str
    cluster_tasks: int
    gpus_required: int
    worker: Worker
    master: Master
    meter: MasterMeter
    clients: Clients
    peers: Peers
    grpc_traffic: Traffic
    health: Health
    watchdog: Watchdog
    guard: Guard
    refusals: Refusals
    gpu_readings: Watched[list[GpuReading]] = field(default_factory=Watched)


def registry(task: Task) -> CollectorRegistry:
    """The metrics of a task and of its process, which may have several tasks."""
    result = CollectorRegistry()
    result.register(TaskCollector(task))
    ProcessCollector(registry=result)
    return result


class TaskCollector(Collector):
    """Makes the metrics of one task at each scrape."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        task = self._task
        yield from _task(task)
        yield from _steps(task)
        yield from _ops(task)
        yield from _traffic(task)
        yield from _state(task)
        yield from _gpus(task)


def _task(task: Task) -> Iterator[Metric]:
    build = {
        "version": task.version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "grpc": grpc.__version__,
        "protobuf": protobuf.__version__,
    }
    yield InfoMetricFamily("tensorfleet_build", "Versions of the task's software.", build)
    job, index = task.worker.task.removeprefix("/job:").split("/replica:0/task:")
    yield InfoMetricFamily(
        "tensorfleet_task", "The task that this process is.", {"job_name": job, "task_index": index}
    )
    yield _gauge("cluster_tasks", "Tasks in the ClusterSpec.", task.cluster_tasks)
    memory = find_limit({})
    yield _gauge(
        "memory_limit_bytes",
        "Memory of the container or, without a limit, of the machine; 0 if unknown.",
        memory.size if memory else 0,
    )
    budget = BUDGET.limit
    yield _gauge(
        "memory_budget_bytes", "Limit on the memory of the process, 0 for none.", budget.size if budget else 0
    )
    yield _gauge("ready", "Whether work should be sent to the task.", task.health.ready)
    yield _gauge(
        "draining_seconds",
        "Time for which the task has been draining, 0 if it is not.",
        task.health.draining_seconds,
    )
    yield _gauge(
        "drain_limit_seconds",
        "Time for which running steps may go on while the task drains.",
        task.health.drain_limit,
    )
    yield _gauge(
        "insecure",
        "Whether the task serves others without authentication, or their tokens without encryption.",
        bool(task.guard.exposure),
    )
    refused = CounterMetricFamily(
        "tensorfleet_refused", "Connections and calls that were refused.", labels=["reason"]
    )
    for reason in ("unauthenticated", "forbidden"):
        refused.add_metric([reason], task.guard.refused[reason])
    yield refused
    yield _gauge(
        "shed_networks",
        "Networks of which most new connections are dropped, as they are refused too often.",
        task.refusals.shed,
    )
    yield _gauge("compute_threads", "Threads that compute steps now.", task.worker.pool.busy)
    yield _gauge(
        "compute_threads_limit",
        "Limit on them, beyond which new steps are refused.",
        task.worker.pool.limit,
    )


def _steps(task: Task) -> Iterator[Metric]:
    meter, worker = task.meter, task.worker
    duration = HistogramMetricFamily(
        "tensorfleet_step_duration_seconds",
        "Steps that this task's master has run, failed ones included, by whether other tasks took part.",
        labels=["kind"],
    )
    _add(duration, ["local"], meter.local)
    _add(duration, ["distributed"], meter.distributed)
    yield duration
    stages = HistogramMetricFamily(
        "tensorfleet_stage_duration_seconds",
        "Stages of a run signature's first step (prune, place, optimize, partition, register), and run.",
        labels=["stage"],
    )
    for stage, histogram in meter.stages.items():
        _add(stages, [stage], histogram)
    _add(stages, ["run"], meter.local + meter.distributed)
    yield stages
    yield _by_code(
        "step_errors", "Steps of this task's master that have failed.", meter.step_errors.by_code()
    )
    yield _by_code(
        "prepare_errors", "Run signatures that could not be prepared.", meter.prepare_errors.by_code()
    )
    yield _counter("worker_steps", "Parts of steps that masters have run on this task.", worker.steps_total)
    yield _by_code("worker_step_errors", "Parts of steps that failed here.", worker.step_errors.by_code())

    sessions = task.master.sessions()
    now, monotonic = time.perf_counter_ns(), time.monotonic()
    on_master = [began for session in sessions for began in session.began]
    on_worker = worker.running
    running = GaugeMetricFamily("tensorfleet_steps_running", "Steps that are running.", labels=["role"])
    running.add_metric(["master"], len(on_master))
    running.add_metric(["worker"], len(on_worker))
    yield running
    oldest = GaugeMetricFamily(
        "tensorfleet_oldest_step_age_seconds",
        "Running time of the oldest running step, 0 without any.",
        labels=["role"],
    )
    oldest.add_metric(["master"], max(now - min(on_master, default=now), 0) / 1e9)
    oldest.add_metric(["worker"], max(monotonic - min(on_worker, default=monotonic), 0))
    yield oldest
    yield _gauge(
        "steps_stalled",
        "Parts of steps on this task that have made no progress for TENSORFLEET_STALL_SECONDS.",
        task.watchdog.stalled,
    )
    yield _counter("step_stalls", "Parts of steps that were found without progress.", task.watchdog.stalls)
    yield _gauge("sessions", "Open sessions of this task's master.", len(sessions))
    yield _counter("sessions_created", "Sessions that were opened.", task.master.sessions_created)
    yield _gauge(
        "run_signatures",
        "Combinations of feeds and fetches that sessions have prepared.",
        sum(session.signatures for session in sessions),
    )
    yield _gauge("graphs", "Graphs that are registered on this task.", worker.graphs)


def _ops(task: Task) -> Iterator[Metric]:
    totals = task.worker.totals()
    ops = CounterMetricFamily(
        "tensorfleet_ops", "Ops that have run on this task, in steps that ended well.", labels=["op"]
    )
    for op, count in sorted(totals.ops.items()):
        ops.add_metric([op], count)
    yield ops
    sampled = SummaryMetricFamily(
        "tensorfleet_op_sampled_seconds",
        "The time of ops, from a sample of the steps; ops that wait for others are left out.",
        labels=["op"],
    )
    for op, (count, seconds) in task.meter.sampler.times().items():
        if op not in NOT_RUN and op != "_Recv" and not is_blocking(op):
            sampled.add_metric([op], count, seconds)
    yield sampled
    waits = SummaryMetricFamily(
        "tensorfleet_wait_seconds",
        "Times for which parts of steps were suspended, for tensors of other devices (the rendezvous) or for "
        "resources, such as queues.",
        labels=["for"],
    )
    for what in sorted(totals.waits):
        waits.add_metric([what], totals.waits[what], totals.wait_seconds[what])
    yield waits


def _traffic(task: Task) -> Iterator[Metric]:
    families = {
        "sent_bytes": "Bytes sent to a peer.",
        "received_bytes": "Bytes received from a peer.",
        "sent": "Messages sent to a peer.",
        "received": "Messages received from a peer.",
    }
    by_peer = {short_name(peer): traffic for peer, traffic in task.peers.traffic.items()}
    by_peer |= {CLIENTS: task.clients.traffic, GRPC: task.grpc_traffic}
    for attribute, text in families.items():
        name = attribute if attribute.endswith("bytes") else f"{attribute}_messages"
        family = CounterMetricFamily(f"tensorfleet_{name}", text, labels=["peer"])
        for peer, traffic in by_peer.items():
            family.add_metric([peer], getattr(traffic, attribute))
        yield family
    connected = GaugeMetricFamily(
        "tensorfleet_peer_connected", "Whether the task is connected to a peer.", labels=["peer"]
    )
    waiting = GaugeMetricFamily(
        "tensorfleet_peer_send_queue", "Writes that wait for a peer to read.", labels=["peer"]
    )
    for name in task.peers.traffic:
        found = task.peers.existing(name)
        connected.add_metric([short_name(name)], found is not None)
        waiting.add_metric([short_name(name)], found.waiting if isinstance(found, Peer) else 0)
    yield connected
    yield waiting
    yield _gauge("client_connections", "Open stream connections of clients.", task.clients.connections)


def _state(task: Task) -> Iterator[Metric]:
    resources = task.worker.all_resources()
    variables = [variable for table in resources for variable in table.variables()]
    yield _gauge("variables", "Variables on this task.", len(variables))
    yield _gauge(
        "variables_bytes", "Bytes that the variables hold.", sum(variable.nbytes for variable in variables)
    )
    sizes: dict[str, int] = {}
    for queue in sorted((q for table in resources for q in table.of_type(Queue)), key=lambda q: q.name):
        name = label(queue.name)
        if name not in sizes and len(sizes) >= MAX_QUEUES:
            name = OTHERS
        sizes[name] = sizes.get(name, 0) + queue.size
    lengths = GaugeMetricFamily("tensorfleet_queue_length", "Elements in a queue.", labels=["queue"])
    for name, size in sizes.items():
        lengths.add_metric([name], size)
    yield lengths


def label(name: str) -> str:
    """The label of what a client has named, in whatever way: printable, and with the middle of a long name
    left out.
    """
    if len(name) > MAX_LABEL:
        name = f"{name[: MAX_LABEL // 2]}…{name[-(MAX_LABEL // 2) :]}"
    return printable(name)


def _read_gpus(numbers: Sequence[int]) -> list[GpuReading]:
    from tensorfleet_service.devices.gpu import memory

    return [(memory(number), condition(number)) for number in numbers]


def _gpu_traffic(task: Task) -> Iterator[Metric]:
    for attribute, text in (("sent", "Bytes sent"), ("received", "Bytes received")):
        family = CounterMetricFamily(
            f"tensorfleet_gpu_ipc_{attribute}_bytes",
            f"{text} from one GPU's memory to another's, without the host's.",
            labels=["peer"],
        )
        for peer, traffic in task.peers.gpu_traffic.items():
            family.add_metric([short_name(peer)], getattr(traffic, f"{attribute}_bytes"))
        if family.samples:
            yield family


def _gpus(task: Task) -> Iterator[Metric]:
    devices = [device for device in task.worker.devices.values() if device.type == "GPU"]
    yield _gauge("gpus", "GPUs that the task uses.", len(devices))
    yield _gauge("gpus_required", "GPUs that the task must have to be ready.", task.gpus_required)
    if not devices:
        return
    yield from _gpu_traffic(task)
    numbers = [n if device.scope is None else device.scope.number for n, device in enumerate(devices)]
    # A driver that hangs must not make the metrics hang: they tell then how things were.
    readings, age = task.gpu_readings.read(lambda: _read_gpus(numbers))
    yield _gauge("gpu_reading_age_seconds", "Time since the GPUs' drivers told what follows.", age)
    families = [
        GaugeMetricFamily("tensorfleet_gpu_memory_bytes", "The memory of a GPU.", labels=["gpu"]),
        GaugeMetricFamily(
            "tensorfleet_gpu_memory_used_bytes", "GPU memory that all processes use.", labels=["gpu"]
        ),
        GaugeMetricFamily(
            "tensorfleet_gpu_pool_bytes",
            "GPU memory that this task has, including its reserve.",
            labels=["gpu"],
        ),
        GaugeMetricFamily(
            "tensorfleet_gpu_pool_used_bytes",
            "GPU memory of this task's arrays.",
            labels=["gpu"],
        ),
    ]
    conditions = [
        GaugeMetricFamily(
            "tensorfleet_gpu_utilization_ratio",
            "Share of the last moment in which a GPU computed.",
            labels=["gpu"],
        ),
        GaugeMetricFamily(
            "tensorfleet_gpu_memory_utilization_ratio",
            "Share of the last moment in which a GPU used its memory.",
            labels=["gpu"],
        ),
        GaugeMetricFamily(
            "tensorfleet_gpu_temperature_celsius", "The temperature of a GPU's chip.", labels=["gpu"]
        ),
        GaugeMetricFamily("tensorfleet_gpu_power_watts", "Power that a GPU's board draws.", labels=["gpu"]),
    ]
    ecc = CounterMetricFamily(
        "tensorfleet_gpu_memory_errors",
        "Errors of a GPU's memory since its driver was loaded.",
        labels=["gpu", "kind"],
    )
    for number, (sizes, found) in enumerate(readings or ()):
        for family, value in zip(families, sizes, strict=True):
            family.add_metric([str(number)], value)
        if found is None:
            continue
        told = found.utilization, found.memory_utilization, found.temperature, found.power
        for family, share in zip(conditions, told, strict=True):
            if share is not None:
                family.add_metric([str(number)], share)
        for kind, count in (("corrected", found.corrected_errors), ("uncorrected", found.uncorrected_errors)):
            if count is not None:
                ecc.add_metric([str(number), kind], count)
    yield from families
    yield from (family for family in (*conditions, ecc) if family.samples)


def _add(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    totals = histogram.cumulative()
    buckets = [(str(bound), float(total)) for bound, total in zip(BOUNDS, totals, strict=False)]
    family.add_metric(labels, [*buckets, ("+Inf", float(totals[-1]))], histogram.seconds)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tensorfleet_{name}", text, value)


def _counter(name: str, text: str, value: float) -> CounterMetricFamily:
    return CounterMetricFamily(f"tensorfleet_{name}", text, value)


def _by_code(name: str, text: str, counts: dict[int, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"tensorfleet_{name}", text, labels=["code"])
    # All codes from the start, as a counter that appears with its first error shows no increase.
    for code, name in CODES.items():
        family.add_metric([name], counts.get(code, 0))
    return family
