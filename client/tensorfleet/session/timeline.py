"""Traces of steps for Chrome's trace viewer and Perfetto (TensorFlow's `tensorflow.python.client.timeline`).

metadata = tf.RunMetadata()
session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any, NamedTuple

from tensorfleet.core.device import parse
from tensorfleet.graph.graph import Graph
from tensorfleet.proto.step_stats_pb2 import NodeExecStats, StepStats

_LABEL = re.compile(r"\S+ = (?P<op>[\w>]+)\((?P<inputs>.*)\)")
_TRANSFER = re.compile(r"_(?P<end>send|recv)_(?P<edge>\d+_.+)")
_NANOSECOND = 0.001  # the unit of a trace is the microsecond


class _Span(NamedTuple):
    """One run of a node: its process and row in the trace, and from when to when, in microseconds."""

    name: str
    op: str
    inputs: list[str]
    pid: int
    row: int
    start: float
    end: float
    size: int


class Timeline:
    """The trace of a step.

    Args:
        step_stats: `RunMetadata.step_stats` of a step run with FULL_TRACE.
        graph: ignored, as the trace says what was placed where.
    """

    def __init__(self, step_stats: StepStats, graph: Graph | None = None) -> None:
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The trace as JSON.

        Each device of each task is a process in it, with more than one row where things overlap: a tensor
        that is waited for beside one that is computed. Time starts with the first node.

        Args:
            show_dataflow: arrows from where a tensor is sent to where it is received.
            show_memory: a counter of the bytes of each device's tensors, from when they are made until their
                last use there.
        """
        events: list[dict[str, Any]] = []
        spans: list[_Span] = []
        stats: dict[str, list[NodeExecStats]] = {}
        for device in self._step_stats.dev_stats:
            stats.setdefault(device.device, []).extend(device.node_stats)
        # Since 1970 it is too many microseconds for the digits of a JSON number to tell nanoseconds.
        origin = min((_start(node) for nodes in stats.values() for node in nodes), default=0)
        for pid, name in enumerate(sorted(stats, key=_place)):
            found = _spans(pid, stats[name], origin)
            spans += found
            events += _metadata(pid, name, 1 + max((span.row for span in found), default=0))
            if show_memory:
                events += _memory(pid, found)
        events += map(_complete, spans)
        if show_dataflow:
            events += _arrows(spans)
        return json.dumps({"traceEvents": events}, indent=1)


def _place(device: str) -> tuple[str, int, str, int]:
    """The key by which devices are sorted; names that are no devices come last."""
    try:
        parsed = parse(device)
    except ValueError:
        return "\uffff", 0, device, 0
    return parsed.job or "", parsed.task or 0, parsed.type or "", parsed.index or 0


def _spans(pid: int, stats: list[NodeExecStats], origin: int) -> list[_Span]:
    """The spans of a device since `origin`, each on the first row that is free at its start."""
    free: list[float] = []
    result = []
    for node in sorted(stats, key=_start):
        start = (_start(node) - origin) / 1000
        end = start + max((node.all_end_rel_nanos or 1000 * node.all_end_rel_micros) / 1000, _NANOSECOND)
        row = next((i for i, until in enumerate(free) if until <= start), len(free))
        free[row : row + 1] = [end]
        label = _LABEL.fullmatch(node.timeline_label)
        result.append(
            _Span(
                name=node.node_name,
                op=label["op"] if label else node.node_name,
                inputs=label["inputs"].split(", ") if label and label["inputs"] else [],
                pid=pid,
                row=row,
                start=start,
                end=end,
                size=sum(
                    output.tensor_description.allocation_description.allocated_bytes for output in node.output
                ),
            )
        )
    return result


def _start(node: NodeExecStats) -> int:
    """The time at which a node started, in nanoseconds since 1970."""
    return node.all_start_nanos or 1000 * node.all_start_micros


def _metadata(pid: int, device: str, rows: int) -> list[dict[str, Any]]:
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": device}},
        {"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}},
    ]
    for row in range(rows):
        name = "nodes" if row == 0 else f"nodes, overlapping ({row})"
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": row, "args": {"name": name}})
    return events


def _complete(span: _Span) -> dict[str, Any]:
    args: dict[str, Any] = {"name": span.name, "op": span.op, "bytes": span.size}
    args |= {f"input{i}": name for i, name in enumerate(span.inputs)}
    return {
        "ph": "X",
        "cat": "Op",
        "name": span.op,
        "pid": span.pid,
        "tid": span.row,
        "ts": span.start,
        "dur": span.end - span.start,
        "args": args,
    }


def _arrows(spans: list[_Span]) -> list[dict[str, Any]]:
    """Arrows from every send to the receives of its tensor: the names of both have the number of the edge."""
    ends: dict[str, dict[str, list[_Span]]] = defaultdict(lambda: {"send": [], "recv": []})
    for span in spans:
        match = _TRANSFER.fullmatch(span.name)
        if match:
            ends[match["edge"]][match["end"]].append(span)
    events: list[dict[str, Any]] = []
    for edge, both in ends.items():
        # In a loop a tensor travels once an iteration, in order.
        for sent, received in zip(both["send"], both["recv"], strict=False):
            arrow = {"cat": "DataFlow", "name": edge.split("_", 1)[1], "id": len(events) // 2}
            events.append({"ph": "s", **arrow, "pid": sent.pid, "tid": sent.row, "ts": sent.start})
            # An arrow belongs to the span that it ends in, so just before the end of that.
            at = max(received.end - _NANOSECOND, received.start)
            events.append({"ph": "f", "bp": "e", **arrow, "pid": received.pid, "tid": received.row, "ts": at})
    return events


def _memory(pid: int, spans: list[_Span]) -> list[dict[str, Any]]:
    last_use = {span.name: span.end for span in spans}
    for span in spans:
        for name in span.inputs:
            if name in last_use:
                last_use[name] = max(last_use[name], span.end)
    changes: dict[float, int] = defaultdict(int)
    for span in spans:
        changes[span.start] += span.size
        changes[last_use[span.name]] -= span.size
    total = 0
    events = []
    for at in sorted(changes):
        total += changes[at]
        events.append({"ph": "C", "name": "memory", "pid": pid, "tid": 0, "ts": at, "args": {"bytes": total}})
    return events
