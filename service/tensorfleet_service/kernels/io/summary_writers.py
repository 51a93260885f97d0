"""Kernels of `tensorfleet.ops.io.summary_writers`: event files of this task."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import errors
from tensorfleet.core.files import path_of
from tensorfleet.proto.event_pb2 import Event
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_handle, invalid
from tensorfleet_service.state.event_files import EventFile
from tensorfleet_service.state.variables import DEFAULT_CONTAINER


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        if np.ndim(value):
            raise invalid(f"Expected a scalar string, got shape {list(value.shape)}")
        value = value[()]
    text: bytes = value
    return text


@kernel("SummaryWriter")
def summary_writer(node: KernelNode) -> Kernel:
    container = node.attrs["container"].decode() or DEFAULT_CONTAINER
    name = node.attrs["shared_name"].decode() or node.name
    resources = node.resources
    return lambda: resources.get_or_create(container, "summary writer", name, lambda: EventFile(name))


@kernel("CreateSummaryFileWriter")
def create_summary_file_writer(node: KernelNode) -> Kernel:
    files = node.resources.files

    def run(writer: EventFile, logdir: Any, max_queue: Any, flush_millis: Any, suffix: Any) -> None:
        check_handle(writer, EventFile)
        writer.create(files, path_of(_bytes(logdir)), path_of(_bytes(suffix)))

    return run


@kernel("WriteRawProtoSummary", "WriteGraphSummary", "ImportEvent")
def write(node: KernelNode) -> Kernel:
    kind = node.op

    def run(writer: EventFile, *inputs: Any) -> None:
        check_handle(writer, EventFile)
        event, text = Event(), _bytes(inputs[-1])
        try:
            if kind == "ImportEvent":
                event.ParseFromString(text)
            elif kind == "WriteRawProtoSummary":
                event.summary.ParseFromString(text)
            else:
                event.graph_def = text
        except DecodeError as e:
            what = "tf.Event" if kind == "ImportEvent" else "tf.Summary"
            raise errors.DataLossError(None, None, f"Bad {what} binary proto tensor string: {e}") from None
        if kind != "ImportEvent":
            event.step = int(inputs[0])
        writer.add(event)

    return run


@kernel("FlushSummaryWriter")
def flush_summary_writer(node: KernelNode) -> Kernel:
    def run(writer: EventFile) -> None:
        check_handle(writer, EventFile)  # events are in the file already

    return run


@kernel("CloseSummaryWriter")
def close_summary_writer(node: KernelNode) -> Kernel:
    def run(writer: EventFile) -> None:
        check_handle(writer, EventFile)
        writer.close()

    return run
