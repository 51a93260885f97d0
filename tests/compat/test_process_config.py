"""`tf.config` beside TensorFlow's own: what it gives, what it refuses, and what it makes of sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow.python.eager import context

import tensorfleet as fleet
from tensorfleet.api import process_devices
from tensorfleet.session import process_config, session as sessions

real.disable_v2_behavior()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options as at a process's start, on both sides."""
    own = process_config.ProcessConfig()
    monkeypatch.setattr(process_devices, "PROCESS", own)
    monkeypatch.setattr(sessions, "PROCESS", own)
    monkeypatch.setattr(process_devices, "_Switches", type("_Switches", (process_devices._Switches,), {}))
    monkeypatch.setattr(context, "_context", context.Context())


def outcome(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:
        return type(error).__name__


def gpu(tf: Any) -> Any:
    return tf.config.PhysicalDevice("/physical_device:GPU:7", "GPU")


def cpu(tf: Any) -> Any:
    return tf.config.list_physical_devices("CPU")[0]


def two_cpus(tf: Any) -> Any:
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu(tf), [part, part])
    return (
        len(tf.config.get_logical_device_configuration(cpu(tf))),
        [tuple(device) if tf is fleet else (device.name, device.device_type) for device in listed(tf)],
        outcome(lambda: tf.config.set_logical_device_configuration(cpu(tf), [part])),
        outcome(lambda: tf.config.set_visible_devices([], "CPU")),
        outcome(lambda: tf.config.threading.set_intra_op_parallelism_threads(3)),
    )


def listed(tf: Any) -> Any:
    return tf.config.list_logical_devices()


def switched(setter: str, getter: str, *values: Any) -> Callable[[Any], Any]:
    def run(tf: Any) -> Any:
        def find(path: str) -> Any:
            place = tf
            for part in path.split("."):
                place = getattr(place, part)
            return place

        found = [find(getter)()]
        for value in values:
            found.append(outcome(lambda value=value: find(setter)(value)))  # type: ignore[misc]
            found.append(find(getter)())
        return found

    run.__name__ = setter
    return run


CASES: list[Callable[[Any], Any]] = [
    lambda tf: [tuple(device) for device in tf.config.experimental.list_physical_devices()],
    lambda tf: tf.config.list_physical_devices("GPU"),
    lambda tf: [device.name for device in tf.config.get_visible_devices()],
    lambda tf: outcome(lambda: tf.config.experimental.set_memory_growth(gpu(tf), True)),
    lambda tf: outcome(lambda: tf.config.experimental.set_memory_growth(cpu(tf), True)),
    lambda tf: outcome(lambda: tf.config.experimental.get_memory_growth(cpu(tf))),
    lambda tf: outcome(lambda: tf.config.set_visible_devices(gpu(tf))),
    lambda tf: outcome(lambda: tf.config.set_visible_devices(cpu(tf), "GPU")),
    lambda tf: outcome(lambda: tf.config.experimental.get_memory_info("CPU:0")),
    lambda tf: tf.config.experimental.get_device_details(cpu(tf)),
    lambda tf: outcome(lambda: tf.config.experimental.get_device_details("CPU:0")),
    lambda tf: outcome(
        lambda: tf.config.experimental.set_virtual_device_configuration(
            cpu(tf), [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=5)]
        )
    ),
    two_cpus,
    switched("config.set_soft_device_placement", "config.get_soft_device_placement", True, False),
    switched("debugging.set_log_device_placement", "debugging.get_log_device_placement", True),
    switched(
        "config.threading.set_intra_op_parallelism_threads",
        "config.threading.get_intra_op_parallelism_threads",
        2,
    ),
    switched(
        "config.threading.set_inter_op_parallelism_threads",
        "config.threading.get_inter_op_parallelism_threads",
        3,
    ),
    switched("config.optimizer.set_jit", "config.optimizer.get_jit", True, False, "autoclustering"),
    switched(
        "config.optimizer.set_experimental_options",
        "config.optimizer.get_experimental_options",
        {"constant_folding": False, "remapping": True},
        {"disable_meta_optimizer": True, "min_graph_nodes": 3},
    ),
    switched(
        "config.experimental.set_device_policy",
        "config.experimental.get_device_policy",
        "warn",
        "other",
        None,
    ),
    switched(
        "config.experimental.set_synchronous_execution",
        "config.experimental.get_synchronous_execution",
        None,
    ),
    switched("config.run_functions_eagerly", "config.functions_run_eagerly", False),
]


@pytest.mark.parametrize("case", CASES)
def test_both_say_the_same(case: Callable[[Any], Any]) -> None:
    ours, theirs = case(fleet), case(real)
    assert ours == theirs


@pytest.mark.parametrize("tf", [fleet, real], ids=["fleet", "real"])
def test_a_session_without_a_config_has_the_options(tf: Any) -> None:
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu(tf), [part, part, part])
    tf.config.set_soft_device_placement(True)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/device:GPU:0"):
            x = tf.constant(1.0) + 2.0
        assert session.run(x) == 3
        assert sorted(device.name[-5:] for device in session.list_devices()) == ["CPU:0", "CPU:1", "CPU:2"]
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto()) as session:
        assert [device.name[-5:] for device in session.list_devices()] == ["CPU:0"]


def test_a_session_says_where_ops_run(capfd: pytest.CaptureFixture[str]) -> None:
    fleet.debugging.set_log_device_placement(True)
    with fleet.Graph().as_default(), fleet.Session() as session:
        session.run(fleet.constant(1.0, name="here") + 2.0)
    assert "here" in capfd.readouterr().err


def test_limits_of_gpus() -> None:
    def find(_: Any) -> Any:
        kinds = ["CPU", "GPU", "GPU"]
        return [type("D", (), {"device_type": kind, "memory_limit_bytes": 1 << 30}) for kind in kinds]

    config = process_config.ProcessConfig()
    _, first, second = config.physical(find)
    config.set_visible([second], "GPU", find)
    config.set_growth(second, True, find)
    with pytest.raises(NotImplementedError):
        config.set_logical(second, [process_config.LogicalDeviceConfiguration(256)] * 2, find)
    made = config.config()
    assert (made.device_count["GPU"], made.gpu_options.visible_device_list) == (1, "1")
    assert made.gpu_options.allow_growth
    config.set_logical(second, [process_config.LogicalDeviceConfiguration(256)], find)
    assert config.config().gpu_options.per_process_gpu_memory_fraction == 0.25
    assert [device.name for device in config.logical(find)] == ["/device:CPU:0", "/device:GPU:0"]
    with pytest.raises(RuntimeError):
        config.set_growth(first, True, find)
