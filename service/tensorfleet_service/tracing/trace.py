"""Traces of single steps: the times and outputs of their nodes, as TensorFlow's StepStats."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tensorfleet.core import shapes
from tensorfleet.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node


class StepTrace:
    """Collects the records of a step's plans, from any threads.

    Args:
        devices: those that have part in the step. They are in its statistics even if all that ran there were
            constants, which take no time.
    """

    def __init__(self, devices: Iterable[str] = ()) -> None:
        self._devices = devices
        # Node, start, end, shape, size and thread of each: the collector would look at a tuple for each.
        self._records: list[Any] = []
        self._merged: list[StepStats] = []

    def record(self, node: Node, start: int, end: int, value: Any) -> None:
        """Notes that a node ran from `start` to `end` (nanoseconds since the epoch) and made `value`."""
        shape = getattr(value, "shape", None)
        size = getattr(value, "nbytes", 0)
        self._records += (node, start, end, shape, size, threading.get_ident())

    def merge(self, stats: StepStats) -> None:
        """Adds the records of another task."""
        self._merged.append(stats)

    def step_stats(self, result: StepStats | None = None) -> StepStats:
        """All records, by device, with the nodes in the order of their starts; in `result`, if given."""
        if result is None:
            result = StepStats()
        threads: dict[int, int] = {}
        devices: dict[str, DeviceStepStats] = {}
        records = self._records
        for place in sorted(range(0, len(records), 6), key=lambda place: records[place + 1]):
            node, start, end, shape, size, thread = records[place : place + 6]
            device = devices.get(node.assigned)
            if device is None:
                device = devices[node.assigned] = result.dev_stats.add(device=node.assigned)
            stats = device.node_stats.add()
            _fill(stats, node, start, end)
            stats.thread_id = threads.setdefault(thread, len(threads))
            if node.output_types:
                output = stats.output.add(slot=0)
                description = output.tensor_description
                description.dtype = node.output_types[0].base.enum
                description.shape.CopyFrom(shapes.to_proto(shape))
                description.allocation_description.requested_bytes = size
                description.allocation_description.allocated_bytes = size
                description.allocation_description.allocator_name = "cpu"
        for stats_of_task in self._merged:
            result.dev_stats.extend(stats_of_task.dev_stats)
        recorded = {stats_of_device.device for stats_of_device in result.dev_stats}
        for name in dict.fromkeys(self._devices):
            if name and name not in recorded:
                result.dev_stats.add(device=name)
        return result


def _fill(stats: NodeExecStats, node: Node, start: int, end: int) -> None:
    stats.node_name = node.name
    stats.timeline_label = f"{node.name} = {node.op}({', '.join(source.name for source, _ in node.inputs)})"
    stats.all_start_micros = start // 1000
    stats.all_start_nanos = start
    stats.op_end_rel_micros = (end - start) // 1000
    stats.op_end_rel_nanos = end - start
    stats.all_end_rel_micros = max((end - start) // 1000, 1)
    stats.all_end_rel_nanos = end - start
