"""`tf.config`: the devices of this machine, and the options of sessions without a ConfigProto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tensorfleet.graph.graph import Graph
from tensorfleet.proto import config_pb2
from tensorfleet.proto.rewriter_config_pb2 import RewriterConfig
from tensorfleet.session.process_config import (
    PROCESS,
    LogicalDevice as LogicalDevice,
    LogicalDeviceConfiguration as LogicalDeviceConfiguration,
    PhysicalDevice as PhysicalDevice,
)
from tensorfleet.session.session import Session

_TOGGLES = (
    *("layout_optimizer", "constant_folding", "shape_optimization", "remapping", "arithmetic_optimization"),
    *("dependency_optimization", "loop_optimization", "function_optimization", "debug_stripper"),
    *("scoped_allocator_optimization", "pin_to_host_optimization", "implementation_selector"),
    *("auto_mixed_precision", "use_plugin_optimizers", "auto_mixed_precision_onednn_bfloat16"),
    "auto_mixed_precision_mkl",
)
_FLAGS = ("disable_model_pruning", "disable_meta_optimizer")
_POLICIES = ("explicit", "warn", "silent", "silent_for_int32")


class _Switches:
    """What is remembered for those who ask, and means nothing to graphs in sessions."""

    device_policy = "silent"
    synchronous = True
    tensor_float_32 = True


def _find(config: config_pb2.ConfigProto) -> Sequence[Any]:
    try:
        with Session(graph=Graph(), config=config) as session:
            return session.list_devices()
    except ImportError:
        return ()  # the client alone, which computes nothing


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, of one type or of all (`tf.config.list_physical_devices`).

    Those of other tasks are in `Session(target).list_devices()`.
    """
    return _of_type(PROCESS.physical(_find), device_type)


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that sessions of this process have, which then stay (`tf.config.list_logical_devices`)."""
    return _of_type(PROCESS.logical(_find), device_type)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that sessions without a ConfigProto use (`tf.config.get_visible_devices`)."""
    return _of_type(PROCESS.visible(_find), device_type)


def _of_type(devices: list[Any], kind: str | None) -> list[Any]:
    return [device for device in devices if kind is None or device.device_type == kind]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Sets the devices that sessions without a ConfigProto use (`tf.config.set_visible_devices`).

    Raises:
        ValueError: a device that is not there, or of another type.
        RuntimeError: logical devices were listed already.
    """
    PROCESS.set_visible(devices, device_type, _find)


def get_memory_growth(device: Any) -> Any:
    """What `set_memory_growth` set for a GPU (`tf.config.experimental.get_memory_growth`)."""
    return PROCESS.growth(device, _find)


def set_memory_growth(device: Any, enable: Any) -> None:
    """Has a GPU's memory taken as it is needed, as it is here in any case (`set_memory_growth`).

    Raises:
        ValueError: the device is not there, or is no GPU.
        RuntimeError: logical devices were listed already.
    """
    PROCESS.set_growth(device, enable, _find)


def get_logical_device_configuration(device: Any) -> list[LogicalDeviceConfiguration] | None:
    """What `set_logical_device_configuration` set for a device, or None."""
    return PROCESS.logical_configuration(device, _find)


def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    """Makes several logical devices of a CPU, or limits a GPU's memory.

    Args:
        device: one of `tf.config.list_physical_devices()`.
        logical_devices: a list of `tf.config.LogicalDeviceConfiguration`.

    Raises:
        ValueError: the device is not there, or its type does not allow the configuration.
        NotImplementedError: several logical devices of one GPU.
        RuntimeError: logical devices were listed already.
    """
    PROCESS.set_logical(device, logical_devices, _find)


def get_device_details(device: Any) -> dict[str, Any]:
    """What is known of a device: nothing more, as of a CPU in TensorFlow (`get_device_details`).

    Raises:
        ValueError: the device is none of `tf.config.list_physical_devices()`.
    """
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    if device not in PROCESS.physical(_find):
        raise ValueError(
            "The PhysicalDevice must be one obtained from calling `tf.config.list_physical_devices`, but "
            f"got: {device}"
        )
    return {}


def get_memory_info(device: str) -> NoReturn:
    """Refuses: a session's memory belongs to its task, which tells of it by its metrics.

    Raises:
        ValueError: always, as for a CPU in TensorFlow.
    """
    raise ValueError(
        f"Memory statistics are not tracked in this process for {device!r}: see the metrics of the task, or "
        "`tensorfleet status`."
    )


def get_memory_usage(device: str) -> NoReturn:
    """`get_memory_info` under its older name, which refuses as well."""
    get_memory_info(device)


def reset_memory_stats(device: str) -> NoReturn:
    """Refuses as `get_memory_info` does: there are no statistics to reset."""
    get_memory_info(device)


def get_soft_device_placement() -> bool:
    """Whether sessions without a ConfigProto place ops elsewhere that a device cannot run."""
    return PROCESS.options.allow_soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Sets `allow_soft_placement` of sessions without a ConfigProto."""
    PROCESS.options.allow_soft_placement = enabled


def get_log_device_placement() -> bool:
    """Whether sessions without a ConfigProto log where ops run (`tf.debugging.get_log_device_placement`)."""
    return PROCESS.options.log_device_placement


def set_log_device_placement(enabled: bool) -> None:
    """Sets `log_device_placement` of sessions without a ConfigProto."""
    PROCESS.options.log_device_placement = enabled


def get_intra_op_parallelism_threads() -> int:
    """The number of threads within one op of sessions without a ConfigProto; 0 for the system's choice."""
    return PROCESS.options.intra_op_parallelism_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets `intra_op_parallelism_threads` of sessions without a ConfigProto."""
    PROCESS.set_threads("intra_op_parallelism_threads", "Intra op parallelism", num_threads)


def get_inter_op_parallelism_threads() -> int:
    """The number of threads for ops beside each other of sessions without a ConfigProto."""
    return PROCESS.options.inter_op_parallelism_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Sets `inter_op_parallelism_threads` of sessions without a ConfigProto."""
    PROCESS.set_threads("inter_op_parallelism_threads", "Inter op parallelism", num_threads)


def get_jit() -> str:
    """The wish for XLA, "autoclustering" or "" (`tf.config.optimizer.get_jit`)."""
    level = PROCESS.options.graph_options.optimizer_options.global_jit_level
    wanted = level in (config_pb2.OptimizerOptions.ON_1, config_pb2.OptimizerOptions.ON_2)
    return "autoclustering" if wanted else ""


def set_jit(enabled: bool | str) -> None:
    """Sets the wish for XLA, which is not there: ops are fused in any case (`set_jit`)."""
    on = enabled in (True, "autoclustering")
    levels = config_pb2.OptimizerOptions
    PROCESS.options.graph_options.optimizer_options.global_jit_level = levels.ON_1 if on else levels.OFF


def get_experimental_options() -> dict[str, Any]:
    """The rewrites of graphs that were switched (`tf.config.optimizer.get_experimental_options`)."""
    options = PROCESS.options.graph_options.rewrite_options
    found: dict[str, Any] = {name: getattr(options, name) for name in _FLAGS}
    for name in _TOGGLES:
        if getattr(options, name):
            found[name] = getattr(options, name) == RewriterConfig.ON
    if options.min_graph_nodes:
        found["min_graph_nodes"] = options.min_graph_nodes
    return found


def set_experimental_options(options: dict[str, Any]) -> None:
    """Switches rewrites of graphs, by their names (`tf.config.optimizer.set_experimental_options`)."""
    rewrites = PROCESS.options.graph_options.rewrite_options
    for name, value in options.items():
        if name in _TOGGLES:
            setattr(rewrites, name, RewriterConfig.ON if value else RewriterConfig.OFF)
        elif name in _FLAGS or name == "min_graph_nodes":
            setattr(rewrites, name, value)


def get_device_policy() -> str:
    """What `set_device_policy` set; "silent" by default."""
    return _Switches.device_policy


def set_device_policy(device_policy: str | None) -> None:
    """Remembers how eager ops treat inputs of other devices; graphs copy them in any case.

    Raises:
        ValueError: the policy is not known.
    """
    if device_policy is not None and device_policy not in _POLICIES:
        raise ValueError(
            f"Invalid argument `device_policy`: {device_policy!r}. Please refer to "
            "https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_device_policy for valid "
            "`device_policy` arguments."
        )
    _Switches.device_policy = device_policy or "silent"


def get_synchronous_execution() -> bool:
    """What `set_synchronous_execution` set; True by default."""
    return _Switches.synchronous


def set_synchronous_execution(enable: bool | None) -> None:
    """Remembers whether eager ops wait for each other; steps of sessions are complete when `run` returns."""
    _Switches.synchronous = enable is None or bool(enable)


def tensor_float_32_execution_enabled() -> bool:
    """What `enable_tensor_float_32_execution` set; True by default."""
    return _Switches.tensor_float_32


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Remembers whether GPUs may round the factors of products to 10 bits; they do not here.

    Raises:
        TypeError: `enabled` is not a bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool, got {type(enabled).__name__}")
    _Switches.tensor_float_32 = enabled


def enable_mlir_bridge() -> None:
    """Does nothing: graphs are not compiled by MLIR."""


def disable_mlir_bridge() -> None:
    """Does nothing: graphs are not compiled by MLIR."""


def experimental_connect_to_host(remote_host: Any = None, job_name: str = "worker") -> NoReturn:
    """Refuses: a session connects.

    Raises:
        NotImplementedError: always.
    """
    experimental_connect_to_cluster(remote_host, job_name)


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: Any,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: Any = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> NoReturn:
    """Refuses: a session connects.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "Eager ops connect to clusters by tf.config; here a session does: tf.Session('grpc://host:port'), or "
        "tf.train.MonitoredTrainingSession(master=…)."
    )


class ClusterDeviceFilters:
    """Which devices the tasks of a cluster see (`tf.config.experimental.ClusterDeviceFilters`).

    `experimental_connect_to_cluster` takes them in TensorFlow; sessions have `ConfigProto.device_filters`.
    """

    def __init__(self) -> None:
        self._filters: dict[tuple[str, int], list[str]] = {}

    def set_device_filters(self, job_name: str, task_index: int, device_filters: Any) -> None:
        """Sets the filters of one task.

        Raises:
            TypeError: the filters are not a list of strings.
        """
        listed = list(device_filters)
        if not all(isinstance(each, str) for each in listed):
            raise TypeError(f"Device filters must be strings: {device_filters!r}")
        self._filters[job_name, task_index] = listed
