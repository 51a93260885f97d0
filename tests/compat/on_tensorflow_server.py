"""Runs our client on a real TensorFlow server and prints what came of it, as JSON; a program, not a test.

The server listens on all interfaces, so this is only for a network namespace that has nothing but a loopback.
"""

# ruff: noqa: PT017 - a program, which pytest does not run

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as real
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import tensorfleet as tf
from tests.compat import conftest
from tests.compat.random_graphs import programs
from tests.compat.random_graphs.table import ALONE
from tests.ports import free_ports

__all__ = ["conftest"]  # imported for what it registers

PROGRAMS: dict[str, Callable[[str], None]] = {}


def program(function: Callable[[str], None]) -> Callable[[str], None]:
    PROGRAMS[function.__name__] = function
    return function


@program
def constants_over_two_tasks(target: str) -> None:
    with tf.device("/job:local/task:1"):
        x = tf.constant(2)
        y2 = x - 66
    with tf.device("/job:local/task:0"):
        y = x + 300 + y2
    with tf.Session(target) as session:
        assert session.run(y) == 238


@program
def mean_of_slices(target: str) -> None:
    x = tf.placeholder(tf.float32, 100)
    means = []
    for task, (begin, size) in enumerate([(0, 30), (30, -1)]):
        with tf.device(f"/job:local/task:{task}"):
            part = tf.slice(x, [begin], [size])
            means.append((tf.reduce_sum(part), tf.cast(tf.size(part), tf.float32)))
    mean = (means[0][0] + means[1][0]) / (means[0][1] + means[1][1])
    values = np.arange(100) / 7
    with tf.Session(target) as session:
        np.testing.assert_allclose(session.run(mean, {x: values}), values.mean(), rtol=1e-5)


@program
def traced_sum_of_halves(target: str) -> None:
    x = tf.placeholder(tf.int32, [8])
    sums = []
    for task, half in enumerate(tf.split(x, 2)):
        with tf.device(f"/job:local/task:{task}"):
            sums.append(tf.reduce_sum(tf.Print(half, [half], "half: ")))
    total = tf.reduce_sum(tf.stack(sums))
    metadata = tf.RunMetadata()
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(target, config=config) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(total, {x: np.ones(8)}, options, metadata) == 8
    assert len(metadata.step_stats.dev_stats) >= 2


def _variable(target: str, use_resource: bool) -> None:
    with tf.device("/job:local/task:1"):
        v = tf.Variable(np.zeros((3, 2), np.float32), use_resource=use_resource, name=f"v{use_resource}")
    with tf.device("/job:local/task:0"):
        doubled = v * 2
    with tf.Session(target) as session:
        try:
            session.run(doubled)
            raise AssertionError("an uninitialized variable was read")
        except tf.errors.FailedPreconditionError as error:
            assert error.op is not None
        session.run(tf.global_variables_initializer())
        session.run(v.assign_add(np.ones((3, 2), np.float32)))
        session.run(tf.scatter_add(v, [2, 2], np.ones((2, 2), np.float32)))
        np.testing.assert_array_equal(session.run(doubled), [[2, 2], [2, 2], [6, 6]])
    with tf.Session(target) as session:
        np.testing.assert_array_equal(session.run(doubled), [[2, 2], [2, 2], [6, 6]])


@program
def reference_variable(target: str) -> None:
    _variable(target, use_resource=False)


@program
def resource_variable(target: str) -> None:
    _variable(target, use_resource=True)


@program
def extend_and_callables(target: str) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.Session(target) as session:
        y = x
        for step in range(3):
            y = y + 1
            assert session.run(y, {x: 1}) == step + 2
        call = session.make_callable(y, [x])
        assert [float(call(i)) for i in range(3)] == [3, 4, 5]
        names = [device.name for device in session.list_devices() if device.device_type == "CPU"]
        assert sorted(names) == [f"/job:local/replica:0/task:{i}/device:CPU:0" for i in range(2)]


@program
def partial_run(target: str) -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = a + 1
    second = first * b
    with tf.Session(target) as session:
        handle = session.partial_run_setup([first, second], [a, b])
        assert session.partial_run(handle, first, {a: 2}) == 3
        assert session.partial_run(handle, second, {b: 10}) == 30


@program
def errors_name_the_operation(target: str) -> None:
    x = tf.placeholder(tf.float32, [2])
    y = tf.placeholder(tf.float32)
    with tf.device("/job:local/task:1"):
        z = tf.add(x, y, name="sum")
    with tf.Session(target) as session:
        for feeds, op, text in [
            ({y: [1, 2]}, x.op, "must feed a value"),
            ({x: [1, 2], y: [1, 2, 3]}, z.op, ""),
        ]:
            try:
                session.run(z, feeds)
                raise AssertionError("no error")
            except tf.errors.InvalidArgumentError as error:
                assert error.op is op, error
                assert text in error.message
        np.testing.assert_array_equal(session.run(z, {x: [1, 2], y: [3, 4]}), [4, 6])


@program
def feeds_of_many_types(target: str) -> None:
    values = {
        tf.string: np.array([b"a", b"\xff" * 300], object),
        tf.bfloat16: np.array([1.5, 2], tf.bfloat16.as_numpy_dtype),
        tf.float16: np.array([1.5, 2], np.float16),
        tf.bool: np.array([True, False]),
        tf.complex64: np.array([1 + 2j], np.complex64),
        tf.uint16: np.array([1, 65535], np.uint16),
        tf.uint64: np.array([2**64 - 1], np.uint64),
        tf.int8: np.zeros((0, 3), np.int8),
    }
    feeds = {tf.placeholder(dtype): value for dtype, value in values.items()}
    with tf.device("/job:local/task:1"):
        outputs = [tf.identity(x) for x in feeds]
    with tf.Session(target) as session:
        for value, result in zip(feeds.values(), session.run(outputs, feeds), strict=True):
            assert (value.dtype, value.shape) == (result.dtype, result.shape)
            np.testing.assert_array_equal(value, result)


def one_node(op: str, target: str) -> None:
    """Nodes of one op type, as TensorFlow takes them, over two tasks where they hold no state."""

    @settings(
        deadline=None, derandomize=True, database=None, max_examples=3, print_blob=False,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate,),
    )  # fmt: skip
    @given(st.data())
    def check(data: Any) -> None:
        made = programs.draw_program(data.draw, [op], faulty=False)
        if made.refused:
            return  # test_random_graphs.py compares what is refused
        ours = programs.run_ours(made)
        if op not in ALONE:
            for position, node in enumerate(made.graph.get_operations()):
                node._set_device(f"/job:local/task:{position % 2}")
        programs.compare(made, ours, programs.run_ours(made, target))

    check()


def main() -> None:
    ports = free_ports(2)
    cluster = real.train.ClusterSpec({"local": [f"localhost:{port}" for port in ports]})
    servers = [real.train.Server(cluster, job_name="local", task_index=index) for index in range(2)]
    target = servers[0].target
    results: dict[str, str] = {}

    def attempt(name: str, function: Callable[..., None], *arguments: Any) -> None:
        try:
            with tf.Graph().as_default():
                function(*arguments)
            results[name] = ""
        except BaseException:
            results[name] = traceback.format_exc()

    for name, function in PROGRAMS.items():
        attempt(name, function, target)
    for op in sorted(programs.covered()):
        attempt(f"op {op}", one_node, op, target)
    json.dump(results, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # TensorFlow's servers cannot be stopped


if __name__ == "__main__":
    main()
