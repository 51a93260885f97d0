"""The unmodified TensorFlow client on our servers: programs, feeds, variables and ways to run."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf.config_pb2 import CallableOptions

from tests.compat.cluster import Cluster

tf.disable_v2_behavior()

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture(autouse=True)
def _fresh_graph() -> Any:
    with tf.Graph().as_default():
        yield


# The programs


def test_constants_split_over_two_tasks(local: Cluster) -> None:
    with tf.device("/job:local/task:1"):
        x = tf.constant(2)
        y2 = x - 66
    with tf.device("/job:local/task:0"):
        y1 = x + 300
        y = y1 + y2
    with tf.Session(local.target("local")) as session:
        assert session.run(y) == 238
    with tf.Session(local.target("local", 1)) as session:
        assert session.run(y) == 238


@pytest.mark.parametrize("first", [50, 30])
def test_mean_of_two_slices(local: Cluster, first: int) -> None:
    x = tf.placeholder(tf.float32, 100)
    with tf.device("/job:local/task:1"):
        part = tf.slice(x, [0], [first])
        sum1, size1 = tf.reduce_sum(part), tf.size(part)
    with tf.device("/job:local/task:0"):
        part = tf.slice(x, [first], [-1])
        sum2, size2 = tf.reduce_sum(part), tf.size(part)
        mean = (sum1 + sum2) / tf.cast(size1 + size2, tf.float32)
    values = np.random.default_rng(1).random(100, np.float32)
    with tf.Session(local.target("local")) as session:
        result = session.run(mean, {x: values})
    assert result == pytest.approx(values.mean(), rel=1e-6)


def test_placeholder_on_ps_split_over_two_workers(fleet: Cluster) -> None:
    with tf.device("/job:ps/task:0"):
        x = tf.placeholder(tf.int32, [8], name="X")
        halves = tf.split(x, 2)
    sums = []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            shown = tf.Print(halves[index], [halves[index]], message=f"half {index}: ")
            sums.append(tf.reduce_sum(shown))
    with tf.device("/job:ps/task:0"):
        total = tf.reduce_sum(tf.stack(sums))
    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=True)
    metadata = tf.RunMetadata()
    with tf.Session(fleet.target("worker"), config=config) as session:
        result = session.run(
            total,
            {x: np.ones(8)},  # floats into an int32 placeholder
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True),
            run_metadata=metadata,
        )
    assert result == 8
    assert result.dtype == np.int32
    devices = {stats.device for stats in metadata.step_stats.dev_stats}
    assert {f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("worker", 0), ("worker", 1))} == {
        device.split("/device")[0] for device in devices
    }
    assert all(stats.node_stats for stats in metadata.step_stats.dev_stats)
    assert len(metadata.partition_graphs) == 3
    fleet.wait_for_log("half 0: [1 1 1...]", "worker", 0)
    fleet.wait_for_log("half 1: [1 1 1...]", "worker", 1)
    fleet.wait_for_log("/job:worker/replica:0/task:1/device:CPU:0", "worker", 0)  # the placement


def test_trace_of_a_step_of_constants(fleet: Cluster) -> None:
    """A device that has part in a step is in its statistics, whatever was left to compute there."""
    metadata = tf.RunMetadata()
    with tf.Session(fleet.target("worker")) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(tf.constant(2.0) + 1, options=options, run_metadata=metadata) == 3
    (stats,) = metadata.step_stats.dev_stats
    assert stats.device == "/job:worker/replica:0/task:0/device:CPU:0"


def test_in_graph_replication(fleet: Cluster) -> None:
    values = np.arange(24, dtype=np.float32).reshape(6, 4)
    with tf.device("/job:ps/task:0/cpu:0"):
        weights = tf.Variable(np.eye(4, 3, dtype=np.float32), name="weights")
        x = tf.placeholder(tf.float32, [6, 4])
        parts = tf.split(x, 2, axis=0)
    products = []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}/gpu:0"):
            products.append(tf.matmul(parts[index], weights))
    with tf.device("/job:ps/task:0/cpu:0"):
        y = tf.concat(products, axis=0)
    with tf.Session(fleet.target("ps"), config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(y, {x: values}), values @ np.eye(4, 3, dtype=np.float32))


def test_random_matrix_program(local: Cluster) -> None:
    with tf.device("/cpu:0"):
        a = tf.random_uniform([50, 50], 0, 1, seed=3)
        total = tf.reduce_sum(tf.matmul(a, tf.transpose(a)))
    with tf.Session(local.target("local")) as session:
        matrix, first = session.run([a, total])
        second = session.run(total)
    assert first == pytest.approx((matrix @ matrix.T).sum(), rel=1e-4)
    assert first != second
    assert 0 <= matrix.min() < 0.05 < 0.95 < matrix.max() < 1


# Feeds and fetches

_FEEDS: list[tuple[Any, Any]] = [
    (tf.float32, [1.5, -2.25]),
    (tf.float64, [1.5, np.inf]),
    (tf.float16, [1.5, -0.1]),
    (tf.bfloat16, np.array([1.5, 3.0], ml_dtypes.bfloat16)),
    (tf.dtypes.experimental.float8_e5m2, np.array([1.5, -3.0], ml_dtypes.float8_e5m2)),
    (tf.dtypes.experimental.float8_e4m3fn, np.array([1.5, -3.0], ml_dtypes.float8_e4m3fn)),
    (tf.dtypes.experimental.int4, np.array([-8, 7], ml_dtypes.int4)),
    (tf.dtypes.experimental.uint4, np.array([0, 15], ml_dtypes.uint4)),
    (tf.int8, [-128, 127]),
    (tf.int16, [-32768, 32767]),
    (tf.int32, [-(2**31), 2**31 - 1]),
    (tf.int64, [-(2**63), 2**63 - 1]),
    (tf.uint8, [0, 255]),
    (tf.uint16, [0, 65535]),
    (tf.uint32, [0, 2**32 - 1]),
    (tf.uint64, [0, 2**64 - 1]),
    (tf.bool, [True, False]),
    (tf.complex64, [1 + 2j, -1j]),
    (tf.complex128, [1 + 2j, -1j]),
    (tf.string, [b"one", "two ü", b"\x00\xff" * 200]),
    (tf.qint8, np.array([-3, 4], tf.qint8.as_numpy_dtype)),
    (tf.quint8, np.array([3, 4], tf.quint8.as_numpy_dtype)),
    (tf.qint32, np.array([-3, 4], tf.qint32.as_numpy_dtype)),
]


@pytest.mark.parametrize(("dtype", "value"), _FEEDS, ids=[dtype.name for dtype, _ in _FEEDS])
def test_feeds_of_every_type(local: Cluster, dtype: Any, value: Any) -> None:
    """Vectors, a matrix without elements and a scalar, fed on one task and returned by the other."""
    array = np.array(value) if dtype != tf.string else np.array(value, object)

    def outputs(target: str, device: str) -> Any:
        with tf.Graph().as_default(), tf.Session(target) as session:
            vector = tf.placeholder(dtype, [None])
            empty = tf.placeholder(dtype, [0, 3])
            scalar = tf.placeholder(dtype, [])
            feeds = {vector: value, empty: array[:0].reshape(0, 3), scalar: array[0]}
            with tf.device(device):
                return session.run([tf.identity(x) for x in feeds], feeds)

    results, expected = outputs(local.target("local"), "/job:local/task:1"), outputs("", "")
    for ours, theirs in zip(results, expected, strict=True):
        assert type(ours) is type(theirs)
        if not isinstance(ours, bytes):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_equal(ours, theirs)


def test_fetches_of_operations_and_structures(local: Cluster) -> None:
    x = tf.constant([1, 2], name="x")
    op = tf.no_op()
    with tf.Session(local.target("local")) as session:
        result = session.run({"a": x, "b": [x, (op, "x:0")], "c": op})
    assert result["b"][1][0] is None
    assert result["c"] is None
    for value in (result["a"], result["b"][0], result["b"][1][1]):
        np.testing.assert_array_equal(value, [1, 2])


def test_intermediate_tensors_can_be_fed(local: Cluster) -> None:
    x = tf.constant(1)
    y = x + 1
    with tf.Session(local.target("local")) as session:
        assert session.run(y * 10, {y: 7}) == 70
        assert session.run([x, y], {x: 5}) == [5, 6]


# Variables


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_variables(fleet: Cluster, use_resource: bool) -> None:
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(np.zeros((3, 2), np.float32), use_resource=use_resource, name=f"v{use_resource}")
        counter = tf.Variable(0, dtype=tf.int64, use_resource=use_resource, name=f"n{use_resource}")
    with tf.device("/job:worker/task:1"):
        doubled = v * 2
    scatter = tf.scatter_add(v, [2, 0, 2], np.ones((3, 2), np.float32))
    with tf.Session(fleet.target("worker")) as session:
        assert len(session.run(tf.report_uninitialized_variables([v, counter]))) == 2
        session.run(tf.global_variables_initializer())
        assert session.run(tf.is_variable_initialized(v))
        np.testing.assert_array_equal(session.run(v.assign(np.full((3, 2), 2.0))), np.full((3, 2), 2))
        session.run(v.assign_add(np.ones((3, 2))))
        session.run(v.assign_sub(np.full((3, 2), 0.5)))
        np.testing.assert_array_equal(session.run(doubled), np.full((3, 2), 5))
        session.run(scatter)
        np.testing.assert_array_equal(session.run(v), [[3.5, 3.5], [2.5, 2.5], [4.5, 4.5]])
        session.run(tf.scatter_update(v, [1], [[9.0, 8.0]]))
        session.run(tf.scatter_sub(v, [0], [[1.0, 1.0]]))
        np.testing.assert_array_equal(session.run(doubled), [[5, 5], [18, 16], [9, 9]])
        increment = counter.assign_add(1)
        assert [session.run(increment) for _ in range(3)] == [1, 2, 3]
        v.load(np.ones((3, 2), np.float32), session)
        assert session.run(tf.reduce_sum(tf.gather(v, [0, 2]))) == 4


def test_variables_are_shared_between_sessions_and_survive_them(local: Cluster) -> None:
    with tf.device("/job:local/task:0"):  # else it would be on the task of each session's master
        v = tf.Variable(1.0, name="shared_variable")
    add = v.assign_add(1.0)
    with tf.Session(local.target("local")) as first, tf.Session(local.target("local", 1)) as second:
        first.run(v.initializer)
        first.run(add)
        assert second.run(v) == 2
        second.run(add)
        assert first.run(v) == 3
    with tf.Session(local.target("local")) as third:
        assert third.run(v) == 3
    config = tf.ConfigProto(isolate_session_state=True)
    with (
        tf.Session(local.target("local"), config=config) as isolated,
        pytest.raises(tf.errors.FailedPreconditionError),
    ):
        isolated.run(v)


def test_reset_clears_variables_and_closes_sessions(local: Cluster) -> None:
    v = tf.Variable(1.0, name="reset_variable")
    with tf.device("/job:local/task:1"):
        w = tf.Variable(2.0, name="reset_variable_1")
    session = tf.Session(local.target("local"))
    session.run([v.initializer, w.initializer])
    tf.Session.reset(local.target("local"))
    with pytest.raises(tf.errors.AbortedError):
        session.run(v)
    with tf.Session(local.target("local")) as fresh:
        for variable in (v, w):
            with pytest.raises(tf.errors.FailedPreconditionError, match="reset_variable"):
                fresh.run(variable)


def test_get_variable_and_control_dependencies(local: Cluster) -> None:
    with tf.variable_scope("scope", use_resource=True):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    with tf.control_dependencies([v.assign_add([1.0, 2.0])]), tf.device("/job:local/task:1"):
        y = v.read_value() * 10
    with tf.Session(local.target("local")) as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(y), [10, 20])
        np.testing.assert_array_equal(session.run(y), [20, 40])


# The session's own calls


def test_the_graph_grows_between_runs(local: Cluster) -> None:
    with tf.Session(local.target("local")) as session:
        x = tf.constant(1)
        assert session.run(x) == 1
        for step in range(5):
            with tf.device(f"/job:local/task:{step % 2}"):
                x = x + 1
            assert session.run(x) == step + 2


def test_list_devices(fleet: Cluster) -> None:
    with tf.Session(fleet.target("worker", 1)) as session:
        devices = session.list_devices()
    names = sorted(device.name for device in devices)
    assert [name for name in names if "CPU" in name] == [
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:1/device:CPU:0",
    ]
    assert all(device.incarnation for device in devices)
    assert len({device.incarnation for device in devices if "CPU" in device.name}) == 3


def test_make_callable(local: Cluster) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/job:local/task:1"):
        y = x * 3
    with tf.Session(local.target("local")) as session:
        call = session.make_callable([y, x], [x])
        for value in ([1, 2], [3, 4]):
            tripled, same = call(value)
            np.testing.assert_array_equal(tripled, np.multiply(value, 3))
            np.testing.assert_array_equal(same, value)


def test_callable_from_options(local: Cluster) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    s = tf.placeholder(tf.string, [], name="s")
    with tf.device("/job:local/task:1"):
        tf.multiply(x, 3, name="y")
        tf.identity(s, name="t")
    options = CallableOptions(feed=["x:0", "s:0"], fetch=["t:0", "y:0"], target=["y"])
    with tf.Session(local.target("local")) as session:
        call = session._make_callable_from_options(options)
        for value in ([1, 2], [3, 4]):
            text, tripled = call(np.array(value, np.float32), np.array(b"text"))
            assert text == b"text"
            np.testing.assert_array_equal(tripled, np.multiply(value, 3))
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(np.array([1, 2], np.float32))
        other = session._make_callable_from_options(CallableOptions(fetch=["y:0"]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value for placeholder"):
            other()
        del call, other


def test_partial_run(local: Cluster) -> None:
    a = tf.placeholder(tf.float32, [])
    b = tf.placeholder(tf.float32, [])
    c = tf.placeholder(tf.float32, [])
    with tf.device("/job:local/task:0"):
        r1 = a + b
    with tf.device("/job:local/task:1"):
        r2 = r1 * c
    with tf.Session(local.target("local")) as session:
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3
        assert session.partial_run(handle, r2, {c: 10}) == 30
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3
        # What was computed may be replaced by a feed in a new partial run.
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.partial_run(handle, r1, {a: 1})


def test_two_clients_at_once(local: Cluster) -> None:
    from concurrent.futures import ThreadPoolExecutor

    x = tf.placeholder(tf.int32, [])
    with tf.device("/job:local/task:1"):
        y = x * x
    graph = tf.get_default_graph()

    def client(offset: int) -> list[int]:
        with tf.Session(local.target("local", offset % 2), graph=graph) as session:
            return [session.run(y, {x: offset + i}) for i in range(20)]

    with ThreadPoolExecutor(4) as executor:
        results = list(executor.map(client, range(4)))
    assert results == [[(offset + i) ** 2 for i in range(20)] for offset in range(4)]


def test_large_tensors(local: Cluster) -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/job:local/task:1"):
        y = x + 1
    value = np.arange(3_000_000, dtype=np.float32)
    with tf.Session(local.target("local")) as session:
        np.testing.assert_array_equal(session.run(y, {x: value}), value + 1)


def test_constants_of_variants(local: Cluster) -> None:
    """A number, and a list, in a variant, as TensorFlow's own graphs have them."""
    number = tensor_pb2.VariantTensorDataProto(type_name=b"int", metadata=np.int32(1).tobytes())
    rows = tensor_pb2.VariantTensorDataProto(
        type_name=b"tensorflow::TensorList",
        metadata=b"\x00\x01" + b"\xff" * 9 + b"\x01" + b"\x12\x02\x08\x02",
        tensors=[tf.make_tensor_proto(row, tf.float32) for row in ([1, 2], [3, 4])],
    )
    constants = [
        tf.constant(tensor_pb2.TensorProto(dtype=tf.variant.as_datatype_enum, variant_val=[item]))
        for item in (number, rows)
    ]
    zeros = [tf.zeros_like(constant) for constant in constants]
    stacked = [
        tf.raw_ops.TensorListStack(input_handle=handle, element_shape=[2], element_dtype=tf.float32)
        for handle in (constants[1], zeros[1])
    ]
    with tf.Session(local.target("local")) as session:
        found, empty = session.run(stacked)
        session.run([tf.Print(constants[0], [constants[0]]).op, zeros[0].op])
        np.testing.assert_array_equal(found, [[1, 2], [3, 4]])
        np.testing.assert_array_equal(empty, np.zeros((2, 2)))
