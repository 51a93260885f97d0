"""Strategies of several processes, and of one place for variables: `tf.distribute.experimental`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.cluster.cluster_resolver import TFConfigClusterResolver
from tensorfleet.distribute.mirrored_strategy import MirroredStrategy
from tensorfleet.distribute.reductions import CrossDeviceOps
from tensorfleet.distribute.replica_context import InputContext, InputReplicationMode, entered
from tensorfleet.distribute.strategies import DistributedIterator, Strategy, StrategyExtended
from tensorfleet.graph import framework
from tensorfleet.train.device_setter import replica_device_setter


class ParameterServerStrategy(Strategy):
    """Workers that train at their own pace, with the variables on parameter servers
    (`tf.distribute.experimental.ParameterServerStrategy`).

    Each worker builds a graph with one replica, its own. An estimator gets its place from TF_CONFIG.

    Args:
        cluster_resolver: the cluster, by default that of TF_CONFIG.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        extended = StrategyExtended(self)
        super().__init__(extended)
        self._resolver = cluster_resolver or TFConfigClusterResolver()

    @property
    def cluster_resolver(self) -> Any:
        """The cluster."""
        return self._resolver

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A `with` block whose variables are on the parameter servers, in turn."""
        with entered(self, None), framework.device(self._setter()):
            yield self

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Calls `fn` for this worker's replica."""
        with framework.device(self._setter()):
            return super().run(fn, args, kwargs, options)

    def _setter(self) -> Any:
        cluster = self._resolver.cluster_spec()
        if not cluster or "ps" not in cluster.jobs:
            return None
        job, index = self._resolver.task_type, self._resolver.task_id
        worker = f"/job:{job}/task:{index}" if job else "/job:worker"
        return replica_device_setter(cluster=cluster, worker_device=worker)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> DistributedIterator:
        """An iterator over the dataset of `input_fn(context)`, whose context has this worker's number."""
        cluster = self._resolver.cluster_spec()
        workers = sum(cluster.num_tasks(job) for job in ("chief", "worker") if job in cluster.jobs)
        number = int(self._resolver.task_id or 0)
        if self._resolver.task_type == "worker" and "chief" in cluster.jobs:
            number += 1
        return self.make_dataset_iterator(input_fn(InputContext(max(1, workers), number)))


class ContribMirroredStrategy(MirroredStrategy):
    """`MirroredStrategy` with the arguments of `tf.contrib.distribute.MirroredStrategy`.

    Args:
        devices: the replicas' devices.
        num_gpus: instead of devices, how many GPUs.
        num_gpus_per_worker: the same.
        cross_device_ops: how gradients are added up.
        auto_shard_dataset: without effect in one process.
    """

    def __init__(
        self,
        devices: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: CrossDeviceOps | None = None,
    ) -> None:
        count = num_gpus if num_gpus is not None else num_gpus_per_worker
        if not devices and count is not None:
            devices = [f"/gpu:{number}" for number in range(count)] or ["/cpu:0"]
        super().__init__(devices, cross_device_ops or cross_tower_ops)


class ContribParameterServerStrategy(ParameterServerStrategy):
    """`ParameterServerStrategy` with the argument of `tf.contrib.distribute.ParameterServerStrategy`.

    Args:
        num_gpus_per_worker: without effect: the replica is placed by the worker.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__()
