"""Counters of a task: plain numbers, which only a scrape turns into metrics.

A step takes some 40 µs, an op less than one, so nothing on a step's way takes a lock or calls a metrics
library. An increment such as `counts[i] += 1` is not interrupted by another thread in CPython, which switches
threads only at calls and jumps.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.tracing.timed import Timed

SMALLEST_POWER = 4
LARGEST_POWER = 27
BOUNDS = tuple(2**power / 1e6 for power in range(SMALLEST_POWER, LARGEST_POWER + 1))
"""The upper bounds of a histogram's buckets in seconds: from 16 µs, each twice the one before, to 134 s."""

STAGES = ("prune", "place", "optimize", "partition", "register")
"""The stages of `prepare` for a run signature, in order."""

SAMPLE_MASK = 127
SAMPLE_SECONDS = 1.0
MAX_SAMPLED_NODES = 10_000


class Histogram:
    """A histogram of times, in powers of two of a microsecond."""

    __slots__ = ("_counts", "_nanoseconds")

    def __init__(self) -> None:
        self._counts = [0] * (LARGEST_POWER + 2)
        self._nanoseconds = 0

    def observe(self, nanoseconds: int) -> None:
        """Counts a time. A bucket includes its upper bound, as in Prometheus."""
        power = ((nanoseconds - 1) // 1000).bit_length()
        if power > LARGEST_POWER:
            power = LARGEST_POWER + 1
        self._counts[power] += 1
        self._nanoseconds += nanoseconds

    @property
    def count(self) -> int:
        return sum(self._counts)

    @property
    def seconds(self) -> float:
        """The sum of all times."""
        return self._nanoseconds / 1e9

    def cumulative(self) -> list[int]:
        """The number of times up to each of BOUNDS, and last the number of all."""
        counts = list(self._counts)
        totals = [sum(counts[: SMALLEST_POWER + 1])]
        for count in counts[SMALLEST_POWER + 1 :]:
            totals.append(totals[-1] + count)
        return totals

    def __add__(self, other: Histogram) -> Histogram:
        result = Histogram()
        result._counts = [a + b for a, b in zip(self._counts, other._counts, strict=True)]
        result._nanoseconds = self._nanoseconds + other._nanoseconds
        return result


class OpSampler:
    """The times of single ops, from a few steps that run op by op as for a trace.

    At most one in 128 of a graph's runs is a sample, and at most one per second. Graphs with more than
    MAX_SAMPLED_NODES ops are left out, as code with clocks would have to be compiled for them.
    """

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = {}

    def due(self, plans: Sequence[Timed]) -> bool:
        """Whether this run of a graph, whose first plan has run a multiple of 128 times, is a sample."""
        first = plans[0]
        now = time.monotonic()
        if not first.runs or now < first.next_sample:
            return False
        if sum(len(plan.nodes) for plan in plans) > MAX_SAMPLED_NODES:
            first.next_sample = float("inf")
            return False
        first.next_sample = now + SAMPLE_SECONDS
        return True

    def record(self, node: Node, start: int, end: int, value: Any) -> None:
        """Notes that a node has run from `start` to `end`, in nanoseconds; called by generated code."""
        entry = self._times.get(node.op)
        if entry is None:
            entry = self._times.setdefault(node.op, [0, 0])
        entry[0] += 1
        entry[1] += end - start

    trace = record  # the name by which generated code calls it

    def times(self) -> dict[str, tuple[int, float]]:
        """The number of timed ops and their total time in seconds, by op type."""
        return {op: (count, ns / 1e9) for op, (count, ns) in sorted(self._times.copy().items())}


class Errors:
    """The number of errors by code. It takes a lock, as errors are rare."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()

    def add(self, code: int) -> None:
        with self._lock:
            self._counts[code] += 1

    def by_code(self) -> dict[int, int]:
        with self._lock:
            return dict(self._counts)


class MasterMeter:
    """The counts of a master.

    Attributes:
        local: steps that this task ran alone.
        distributed: steps in which other tasks took part.
        stages: the times of the stages of `prepare`.
        step_errors, prepare_errors: the errors of steps and of preparing run signatures.
        sampler: the sampler of the times of ops, which is the worker's.
    """

    def __init__(self, sampler: OpSampler) -> None:
        self.local = Histogram()
        self.distributed = Histogram()
        self.stages = {stage: Histogram() for stage in STAGES}
        self.step_errors = Errors()
        self.prepare_errors = Errors()
        self.sampler = sampler


@contextmanager
def timed(meter: MasterMeter | None, stage: str) -> Iterator[None]:
    """Counts the time of the block as a stage of `prepare`; has no effect without a meter."""
    started = time.perf_counter_ns()
    yield
    if meter is not None:
        meter.stages[stage].observe(time.perf_counter_ns() - started)


class PlanTotals:
    """The work of plans, including those of dropped graphs.

    Attributes:
        ops: the number of ops that have run, by type.
        waits, wait_seconds: the number and the total time of suspensions of plans, for tensors of other
            devices
            ("tensor") and for resources such as queues ("resource").
    """

    def __init__(self) -> None:
        self.ops: Counter[str] = Counter()
        self.waits = {"resource": 0, "tensor": 0}
        self.wait_seconds = {"resource": 0.0, "tensor": 0.0}

    def add(self, plans: Iterable[Timed]) -> None:
        for plan in plans:
            self.ops.update(plan.ops_run())
            self.waits["tensor"] += plan.tensor_waits
            self.wait_seconds["tensor"] += plan.tensor_wait_seconds
            self.waits["resource"] += plan.resource_waits
            self.wait_seconds["resource"] += plan.resource_wait_seconds

    def copy(self) -> PlanTotals:
        result = PlanTotals()
        result.ops.update(self.ops)
        result.waits.update(self.waits)
        result.wait_seconds.update(self.wait_seconds)
        return result
