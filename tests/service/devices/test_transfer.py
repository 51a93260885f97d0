"""Partitions on a device with memory of its own, played by an array module that refuses the host's arrays."""

from __future__ import annotations

import queue
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.devices.device import Device
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.worker.worker import Worker

TASK = "/job:localhost/replica:0/task:0"


class DeviceArray:
    """An array of the made-up device."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.dtype = self.values.dtype
        self.shape = self.values.shape

    def __add__(self, other: Any) -> DeviceArray:
        if not isinstance(other, DeviceArray):
            raise TypeError(f"{type(other).__name__} is not in the device's memory")
        return DeviceArray(self.values + other.values)


def device_module() -> ModuleType:
    module: Any = ModuleType("device_arrays")
    module.ndarray = DeviceArray
    module.asarray = DeviceArray
    module.asnumpy = lambda array: array.values
    return module  # type: ignore[no-any-return]


@pytest.mark.timeout(60)
def test_values_move_where_a_partition_begins_and_ends() -> None:
    devices = [
        Device(f"{TASK}/device:CPU:0", "CPU", 0, 1, "host", np),
        Device(f"{TASK}/device:GPU:0", "GPU", 0, 2, "made up", device_module()),
    ]
    worker = Worker(TASK, devices, 1)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            y = x + tf.constant([1.0, 2.0])
            z = y + y
        with tf.device("/cpu:0"):
            w = z + 1.0
    service_graph = SessionGraph()
    service_graph.extend(graph.as_graph_def())
    nodes = prune(service_graph, [x.name], [w.name, y.name], [])
    place(nodes, [d.name for d in devices], devices[0].name)
    parts = partition(nodes, {TASK: 1})
    _, registered = worker.register_graph("s", [node for part in parts for node in part.nodes])
    assert {plan.device for plan in registered.plans} == {d.name for d in devices}
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker.run(registered, 7, [np.float32([10, 20])], lambda error, values: results.put((error, values)))
    error, values = results.get(timeout=20)
    worker.close()
    assert error is None
    fetched = dict(zip(registered.layout.rets, values, strict=True))
    np.testing.assert_array_equal(fetched[0], [23, 45])
    np.testing.assert_array_equal(fetched[1], [11, 22])
    assert all(isinstance(value, np.ndarray) for value in values)
