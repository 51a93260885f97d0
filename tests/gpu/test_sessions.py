"""Sessions on GPUs of the stand-in: placing, copies, state, several devices, options, want of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.gpu.strict_array import Counters, Machine

Gpus = Callable[..., Machine]
GPU, CPU = "/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"


def placed(session: tf.Session, fetches: Any, feeds: dict[Any, Any] | None = None) -> dict[str, str]:
    """The device of each node of a step, by its name; runs the step."""
    metadata = tf.RunMetadata()
    session.run(fetches, feeds, tf.RunOptions(output_partition_graphs=True), metadata)
    return {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}


def counted(machine: Machine, session: tf.Session, fetches: Any, feeds: dict[Any, Any]) -> Counters:
    """What the second run of a step copies, as the first one also brings constants to the device."""
    session.run(fetches, feeds)
    machine.counters = Counters()
    session.run(fetches, feeds)
    return machine.counters


def test_an_op_goes_to_the_gpu_if_it_has_a_kernel_there(gpus: Gpus) -> None:
    gpus()
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.matmul(x, tf.Variable(np.ones((3, 2), np.float32), name="w")) + tf.constant(1.0)
    text = tf.as_string(y)
    counter = tf.Variable(0, name="counter")
    half = tf.cast(y, tf.bfloat16) * 2
    with tf.device("/cpu:0"):
        own = tf.exp(y, name="own")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        devices = placed(session, [y, text, counter, half, own], {x: np.ones((2, 3))})
    assert devices[y.op.name] == devices["w"] == devices["MatMul"] == GPU
    assert devices[text.op.name] == devices["counter"] == devices[half.op.name] == devices["own"] == CPU


def test_the_placement_says_why(gpus: Gpus, capfd: pytest.CaptureFixture[str]) -> None:
    gpus()
    text = tf.as_string(tf.exp(tf.placeholder_with_default([1.0], [1]), name="e"), name="text")
    step = tf.Variable(np.int64(0), name="step")
    tf.count_up_to(step, 10, name="count")
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        session.run([text, step.initializer])
    report = capfd.readouterr().err
    assert f"e: (Exp): {GPU}, default\n" in report
    assert f"text: (AsString): {CPU}, default: no kernel for GPUs of AsString\n" in report
    assert f"step: (VariableV2): {CPU}, default: no kernel for GPUs of CountUpTo (count)\n" in report


def test_state_goes_where_all_of_its_ops_can_run(gpus: Gpus) -> None:
    gpus()
    step = tf.Variable(np.int64(0), name="step")
    tf.count_up_to(step, 10)
    other = tf.Variable(np.int64(0), name="other")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        devices = placed(session, [step + 1, other + 1])
    assert (devices["step"], devices["other"]) == (CPU, GPU)


def test_a_request_for_a_gpu_without_a_kernel(gpus: Gpus) -> None:
    gpus()
    with tf.device("/gpu:0"):
        text = tf.as_string(tf.constant([1.0]), name="text")
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError, match="no supported kernel for GPU devices is available"
        ),
    ):
        session.run(text)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert placed(session, text)["text"] == CPU


def test_only_feeds_and_fetches_are_copied(gpus: Gpus) -> None:
    machine = gpus()
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reshape(tf.tile(tf.nn.relu(x * 2.0), [1, 2]), [-1, 2])[:, 0]
    with tf.Session() as session:
        counters = counted(machine, session, [y, tf.shape(y)], {x: np.ones((4, 3))})
    assert counters.to_device == [(4, 3)]
    assert counters.to_host == [(12,)]
    assert counters.synchronizations == 1


def test_all_fetches_wait_once(gpus: Gpus) -> None:
    machine = gpus()
    x = tf.placeholder(tf.float32, [3])
    with tf.Session() as session:
        counters = counted(machine, session, [x + 1.0, x * 2.0, tf.exp(x)], {x: np.ones(3)})
    assert (len(counters.to_host), counters.synchronizations) == (3, 1)


def test_small_integers_stay_on_the_host(gpus: Gpus) -> None:
    machine = gpus()
    n = tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        counters = counted(machine, session, (n + 2) * 3 - 1, {n: 4})
        assert session.run((n + 2) * 3 - 1, {n: 4}) == 17
    assert counters == Counters(kernels=0)


def test_a_loop_and_a_conditional(gpus: Gpus) -> None:
    machine = gpus()
    x = tf.placeholder(tf.float32, [2])
    _, y = tf.while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, y * 2.0), [0, x])
    z = tf.cond(tf.reduce_sum(y) > 10.0, lambda: y - 1.0, lambda: y + 1.0)
    gradient = tf.gradients(z, x)[0]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(z, {x: [1, 2]}), [31, 63])
        np.testing.assert_array_equal(session.run(gradient, {x: [0, 0]}), [32, 32])
        counters = counted(machine, session, z, {x: [1, 2]})
    assert counters.to_device == [(2,)]
    assert counters.to_host == [(), (2,)], "the condition is read by the host, the counter never leaves it"


def test_indices_and_labels_out_of_range(gpus: Gpus) -> None:
    """The host does not wait to refuse them."""
    machine = gpus()
    rows = tf.placeholder(tf.int32, [None])
    table = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=rows, logits=table)
    fetches = [tf.gather(table, rows), loss, tf.gradients(loss, table)[0]]
    with tf.Session() as session:
        found, losses, gradient = session.run(fetches, {rows: [1, 2]})
        counters = counted(machine, session, fetches, {rows: [1, 2]})
    np.testing.assert_array_equal(found, [[3, 4], [0, 0]])
    np.testing.assert_array_equal(np.isnan(losses), [False, True])
    np.testing.assert_array_equal(np.isnan(gradient), [[False] * 2, [True] * 2])
    assert counters.synchronizations == 1


def test_a_string_and_a_dataset_stay_on_the_cpu(gpus: Gpus) -> None:
    gpus()
    batch = (
        tf.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32)).batch(2).make_one_shot_iterator()
    )
    doubled = batch.get_next() * 2.0
    with tf.Session() as session:
        assert placed(session, doubled)[doubled.op.name] == GPU
        np.testing.assert_array_equal(session.run(doubled), [4, 6])


def test_two_gpus_in_one_task(gpus: Gpus) -> None:
    machine = gpus(2)
    x = tf.placeholder(tf.float32, [3])
    with tf.device("/gpu:0"):
        w = tf.Variable(np.ones(3, np.float32))
        y = x * w
    with tf.device("/gpu:1"):
        z = tf.exp(y) + 1.0
    with tf.device("/gpu:0"):
        back = z - y
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(back, {x: [0, 1, 2]})
        np.testing.assert_allclose(found, np.exp([0, 1, 2]) + 1 - [0, 1, 2], rtol=1e-6)
        counters = counted(machine, session, back, {x: [0, 1, 2]})
    assert counters.peer == [(3,), (3,)], "from GPU to GPU without the host"
    assert (len(counters.to_device), len(counters.to_host), counters.synchronizations) == (1, 1, 1)


def test_visible_devices_are_numbered_anew(gpus: Gpus) -> None:
    machine = gpus(3)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="2,0"))
    with tf.device("/gpu:0"):
        tf.Variable(np.ones(1000, np.float32))
    with tf.Session(config=config) as session:
        found = [d.name for d in session.list_devices() if d.device_type == "GPU"]
        session.run(tf.global_variables_initializer())
        assert [len(found), machine.pools[2].used >= 4000, machine.pools[0].used] == [2, True, 0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"visible_device_list": "0,3"}, "names '3', and there are the GPUs 0 to 1"),
        ({"visible_device_list": "1,1"}, "names GPU 1 twice"),
        ({"per_process_gpu_memory_fraction": 1.5}, r"must be in \(0, 1\]"),
    ],
)
def test_options_that_cannot_be(gpus: Gpus, options: dict[str, Any], text: str) -> None:
    gpus(2)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(**options))
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.Session(config=config).list_devices()


def test_want_of_memory_names_the_op_and_the_pool(gpus: Gpus) -> None:
    gpus(1, memory=1 << 24)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.5))
    x = tf.placeholder(tf.float32, [None])
    y = tf.tile(x, [1000], name="too_much")
    with tf.Session(config=config) as session:
        assert [d.memory_limit_bytes for d in session.list_devices() if d.device_type == "GPU"] == [1 << 23]
        with pytest.raises(tf.errors.ResourceExhaustedError) as raised:
            session.run(y, {x: np.ones(10_000)})
        assert session.run(y, {x: np.ones(10)}).size == 10_000
    text = raised.value.message
    assert f"Out of memory on {GPU} in Tile of [10000], [1]" in text
    assert "may hold 8 MiB (per_process_gpu_memory_fraction)" in text
    assert "{{node too_much}}" in text


def test_a_failing_kernel_names_its_node(gpus: Gpus) -> None:
    gpus()
    x = tf.placeholder(tf.float32, [None])
    y = tf.add(x, tf.constant([1.0, 2.0]), name="sum")
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs. \[2\]"),
    ):
        session.run(y, {x: np.ones(3)})


def test_variables_and_their_updates(gpus: Gpus) -> None:
    machine = gpus()
    v = tf.Variable(np.ones((4, 2), np.float32))
    r = tf.get_variable("r", initializer=np.ones((4, 2), np.float32), use_resource=True)
    rows = tf.placeholder(tf.int32, [None])
    updates = [
        tf.assign_add(v, r * 2.0),
        tf.scatter_add(v, rows, tf.ones([2, 2])),
        tf.scatter_sub(v, rows, tf.ones([2, 2]) * 3.0),
        r.assign_sub(tf.ones([4, 2])),
        tf.scatter_update(v, [3], [[7.0, 8.0]]),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for update in updates:
            session.run(update.op, {rows: [1, 1]})
        np.testing.assert_array_equal(session.run(v), [[3, 3], [-1, -1], [3, 3], [7, 8]])
        np.testing.assert_array_equal(session.run(r), np.zeros((4, 2)))
        assert session.run([tf.is_variable_initialized(v), tf.shape(r)])[0]
        counters = counted(machine, session, updates[0].op, {})
    assert counters.to_device == counters.to_host == []


def test_a_checkpoint_of_the_device(gpus: Gpus, tmp_path: Any) -> None:
    gpus()
    v = tf.Variable(np.arange(3, dtype=np.float32))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run(tf.assign(v, np.zeros(3)))
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(v), [0, 1, 2])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32])
def test_arrays_of_tensors(gpus: Gpus, dtype: tf.DType) -> None:
    gpus()
    rows = tf.placeholder(dtype, [4, 2])
    array = tf.TensorArray(dtype, 4, clear_after_read=False).unstack(rows)
    total = array.read(1) + array.read(2)
    found = [array.stack(), array.concat(), array.gather([2, 0]), array.size(), total]
    parts = tf.TensorArray(dtype, 2, infer_shape=False).split(rows, [1, 3])
    found += [parts.read(1)]
    value = np.arange(8).reshape(4, 2)
    with tf.Session() as session:
        stacked, flat, gathered, size, total, part = session.run(found, {rows: value})
        devices = placed(session, found, {rows: value})
    np.testing.assert_array_equal(stacked, value)
    np.testing.assert_array_equal(flat, value.reshape(-1))
    np.testing.assert_array_equal(gathered, value[[2, 0]])
    np.testing.assert_array_equal(total, value[1] + value[2])
    np.testing.assert_array_equal(part, value[1:])
    assert size == 4
    assert devices["TensorArrayStack/TensorArrayGatherV3"] == GPU
