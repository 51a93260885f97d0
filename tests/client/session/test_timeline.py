"""Traces for Chrome's viewer, of made-up steps and of real ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import tensorfleet as tf
from tensorfleet.proto.step_stats_pb2 import StepStats
from tensorfleet.session import timeline

PS, WORKER = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:10/device:CPU:0"


def add(stats: StepStats, device: str, label: str, start: int, end: int, size: int = 0) -> None:
    """A run of a node, in microseconds."""
    found = next((d for d in stats.dev_stats if d.device == device), None) or stats.dev_stats.add(
        device=device
    )
    node = found.node_stats.add(node_name=label.split(" ")[0], timeline_label=label)
    node.all_start_micros, node.all_start_nanos = start, start * 1000
    node.all_end_rel_micros, node.all_end_rel_nanos = end - start, (end - start) * 1000
    output = node.output.add(slot=0)
    output.tensor_description.allocation_description.allocated_bytes = size


def step() -> StepStats:
    stats = StepStats()
    add(stats, WORKER, "_recv_0_v = _Recv()", 100, 150, 8)
    add(stats, WORKER, "a = Add(b, c)", 110, 120, 16)
    add(stats, WORKER, "m = Mul(_recv_0_v, a)", 150, 160, 32)
    add(stats, PS, "v = Identity(w)", 90, 95, 8)
    add(stats, PS, "_send_0_v = _Send(v)", 95, 96)
    return stats


def events(text: str, phase: str) -> list[dict[str, Any]]:
    return [event for event in json.loads(text)["traceEvents"] if event["ph"] == phase]


def test_devices_are_processes_and_spans_do_not_overlap() -> None:
    text = timeline.Timeline(step()).generate_chrome_trace_format()
    names = [e["args"]["name"] for e in events(text, "M") if e["name"] == "process_name"]
    assert names == [PS, WORKER]
    spans = {event["args"]["name"]: event for event in events(text, "X")}
    assert spans["m"]["args"] == {
        "name": "m",
        "op": "Mul",
        "bytes": 32,
        "input0": "_recv_0_v",
        "input1": "a",
    }
    assert (spans["m"]["ts"], spans["m"]["dur"]) == (60, 10)
    assert {name: (s["pid"], s["tid"]) for name, s in spans.items()} == {
        "v": (0, 0),
        "_send_0_v": (0, 0),
        "_recv_0_v": (1, 0),
        "a": (1, 1),
        "m": (1, 0),
    }


def test_arrows_join_sends_and_receives() -> None:
    text = timeline.Timeline(step()).generate_chrome_trace_format()
    (start,), (end,) = events(text, "s"), events(text, "f")
    assert start["id"] == end["id"]
    assert (start["pid"], start["tid"], start["ts"]) == (0, 0, 5)
    assert (end["pid"], end["tid"], end["bp"]) == (1, 0, "e")
    assert 10 <= end["ts"] < 60
    text = timeline.Timeline(step()).generate_chrome_trace_format(show_dataflow=False)
    assert not events(text, "s") + events(text, "f")


def test_memory_counts_tensors_until_their_last_use() -> None:
    text = timeline.Timeline(step()).generate_chrome_trace_format(show_memory=True)
    counts = {event["ts"]: event["args"]["bytes"] for event in events(text, "C") if event["pid"] == 1}
    assert counts == {10: 8, 20: 24, 60: 56, 70: 0}


def test_what_is_not_ours() -> None:
    stats = StepStats()
    add(stats, "no device", "label without a signature", 1, 1)
    (span,) = events(timeline.Timeline(stats).generate_chrome_trace_format(), "X")
    assert span["name"] == "label"
    assert span["dur"] > 0
    assert json.loads(timeline.Timeline(StepStats()).generate_chrome_trace_format()) == {"traceEvents": []}


def test_a_real_step_on_two_devices() -> None:
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            x = tf.random_uniform([100, 100])
        with tf.device("/cpu:1"):
            y = tf.matmul(x, x, name="y")
        metadata = tf.RunMetadata()
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            value = session.run(y, options=options, run_metadata=metadata)
    assert value.dtype == np.float32
    text = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True)
    spans = events(text, "X")
    assert {"_Send", "_Recv", "MatMul"} <= {span["name"] for span in spans}
    (start,), (end,) = events(text, "s"), events(text, "f")
    assert start["pid"] != end["pid"]
    for arrow in (start, end):
        assert any(
            s["pid"] == arrow["pid"]
            and s["tid"] == arrow["tid"]
            and s["ts"] <= arrow["ts"] < s["ts"] + s["dur"]
            for s in spans
        )
