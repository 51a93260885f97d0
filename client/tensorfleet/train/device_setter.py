"""replica_device_setter: variables on the parameter servers, everything else on the worker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core.device import DeviceSpec
from tensorfleet.core.dims import num_elements
from tensorfleet.graph.operation import Operation
from tensorfleet.proto.cluster_pb2 import ClusterDef

STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)
"""The op types that are placed on parameter servers by default."""


class RoundRobinStrategy:
    """Assigns operations to the parameter servers in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, op: Operation) -> int:
        task = self._next_task
        self._next_task = (task + 1) % self._num_tasks
        return task


class RandomStrategy:
    """Assigns each operation to a parameter server by a hash of its name, the same in every process
    (`tf.contrib.training.RandomStrategy`).

    Args:
        num_ps_tasks: the number of parameter servers.
        seed: another one gives another assignment.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Operation) -> int:
        key = f"{op.name}_{self._seed}".encode()
        return int(hashlib.md5(key, usedforsecurity=False).hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Assigns each operation to the parameter server with the least load so far
    (`tf.contrib.training.GreedyLoadBalancingStrategy`).

    Args:
        num_tasks: the number of parameter servers.
        load_fn: the load that an operation adds, such as `byte_size_load_fn`.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._load_fn = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op: Operation) -> int:
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> float:
    """The bytes of an operation's only output (`tf.contrib.training.byte_size_load_fn`).

    Raises:
        ValueError: its static shape is not fully known.
    """
    output = op.outputs[0]
    dims, dtype = output.dims, output.dtype.base
    if op.type == "VarHandleOp":
        dims, dtype = op.attrs["shape"], op.attrs["dtype"]
    count = num_elements(dims)
    if count is None:
        raise ValueError(f"The size of {op.name} is not known: its shape is {output.shape}")
    return float(count * dtype.size)


class _Chooser:
    def __init__(
        self,
        ps_device: str,
        worker_device: str,
        merge_devices: bool,
        ps_ops: Sequence[str],
        strategy: Callable[[Operation], int],
    ) -> None:
        self._has_ps = bool(ps_device)
        self._ps = DeviceSpec.from_string(ps_device)
        self._worker = DeviceSpec.from_string(worker_device or "")
        self._merge_devices = merge_devices
        self._ps_ops = frozenset(ps_ops)
        self._strategy = strategy

    def __call__(self, op: Operation) -> str:
        # A device requested for the operation takes precedence over the choice made here.
        if not self._merge_devices and op.device:
            return op.device
        asked = DeviceSpec.from_string(op.device or "")
        if not self._has_ps or op.type not in self._ps_ops:
            return self._worker.make_merged_spec(asked).to_string()
        chosen = self._ps
        if chosen.job and asked.job in (None, chosen.job):
            chosen = chosen.replace(task=self._strategy(op))
        return chosen.make_merged_spec(asked).to_string()


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """A function for `tf.device` that spreads variables over parameter servers
    (`tf.train.replica_device_setter`).

    Args:
        ps_tasks: the number of parameter servers; not used with `cluster`.
        ps_device, worker_device: the devices of variables and of all other operations.
        merge_devices: complete the device requested for an operation, instead of keeping it as it is.
        cluster: a ClusterSpec, ClusterDef or dictionary, which gives the number of parameter servers.
        ps_ops: the op types of variables.
        ps_strategy: a function from an operation to the index of its server; by default they take turns.

    Returns:
        The function; None if there are no parameter servers.

    Raises:
        TypeError: `ps_strategy` is not callable, or `cluster` is of another type.
    """
    if cluster is not None:
        if isinstance(cluster, (ClusterDef, dict)):
            cluster = ClusterSpec(cluster)
        if not isinstance(cluster, ClusterSpec):
            raise TypeError(
                f"`cluster` must be a ClusterSpec, a ClusterDef or a dictionary. Got {cluster!r}."
            )
        ps_tasks = len(cluster.as_dict().get(DeviceSpec.from_string(ps_device).job or "", ()))
    if ps_tasks == 0:
        return None
    strategy = RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    return _Chooser(ps_device, worker_device, merge_devices, ps_ops or STANDARD_PS_OPS, strategy)
