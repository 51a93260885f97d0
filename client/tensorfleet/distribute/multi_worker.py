"""`tf.distribute.experimental.MultiWorkerMirroredStrategy`: replicas of several processes without parameter
servers."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from tensorfleet.cluster.cluster_resolver import TFConfigClusterResolver
from tensorfleet.core import errors, structures
from tensorfleet.core.logging import warning
from tensorfleet.data.dataset import Dataset
from tensorfleet.distribute.mirrored_strategy import MirroredExtended, MirroredStrategy
from tensorfleet.distribute.per_replica import Mirrored
from tensorfleet.distribute.reductions import CrossDeviceOps
from tensorfleet.distribute.replica_context import InputContext, ReduceOp, reduction
from tensorfleet.distribute.worker_reductions import WorkersReduction, per_replica
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import shape
from tensorfleet.train.session_run_hook import SessionRunHook

# The first job with tasks has the chief, which comes before the workers.
_JOBS = ("chief", "worker")
# How long a worker that has ended waits for the others, which may have been lost.
_FAREWELL_SECONDS = 30.0


class CommunicationImplementation(enum.Enum):
    """By what workers would reduce (`tf.distribute.experimental.CommunicationImplementation`); without
    effect."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class WorkersExtended(MirroredExtended):
    """What the strategy of one of several workers knows of its devices, its variables and the others.

    Args:
        strategy: the strategy.
        devices: this worker's devices, named with its task.
        worker_count: the number of workers.
        worker: the number of this one; 0 is the chief.
    """

    def __init__(self, strategy: Any, devices: Sequence[str], worker_count: int, worker: int) -> None:
        self.reduction = WorkersReduction(worker_count, devices[0])
        super().__init__(strategy, devices, self.reduction)
        self._worker_count, self._worker = worker_count, worker

    @property
    def worker_count(self) -> int:
        """How many processes train in step."""
        return self._worker_count

    @property
    def worker(self) -> int:
        """The number of this process."""
        return self._worker

    @property
    def first_replica(self) -> int:
        """The number of this worker's first replica among all."""
        return self._worker * len(self._devices)

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a graph of its own: yes."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process writes checkpoints: the chief does."""
        return self._worker == 0

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries: the chief does."""
        return self._worker == 0

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        """The sum or mean of all workers' replicas, on the devices of `destinations`."""
        if isinstance(value, Mirrored) and reduction(reduce_op) is ReduceOp.MEAN:
            return value
        if isinstance(value, Tensor):
            value = per_replica(value, len(self._devices))
        return super().reduce_to(reduce_op, value, destinations, options)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> list[Any]:
        """`reduce_to` of several values at once."""
        count = len(self._devices)
        pairs = [(per_replica(value, count), place) for value, place in value_destination_pairs]
        return super().batch_reduce_to(reduce_op, pairs, options)

    def over_workers(self, tensor: Any) -> Any:
        """The sum of the workers' tensors."""
        return self.reduction.over_workers(tensor)


class MultiWorkerMirroredStrategy(MirroredStrategy):
    """Replicas on the devices of several processes, which stay in step by collectives
    (`tf.distribute.experimental.MultiWorkerMirroredStrategy`).

    Each worker builds the graph of its own replicas, with a copy of all variables; gradients are added up
    over all workers. TF_CONFIG tells the workers; the chief, or the first worker where there is none, writes
    checkpoints. Without a cluster, and for an evaluator, it is a `MirroredStrategy` of this process.

    With an estimator that is all. Other programs pass `make_session_run_hook()` to a MonitoredSession that
    each worker makes as its own chief: variables get the chief's values with it.

    Args:
        communication: without effect.
        cluster_resolver: the cluster, by default that of TF_CONFIG.

    Raises:
        ValueError: the cluster has several workers, and this process is none of them.
    """

    def __init__(
        self,
        communication: CommunicationImplementation = CommunicationImplementation.AUTO,
        cluster_resolver: Any = None,
    ) -> None:
        self._resolver = cluster_resolver or TFConfigClusterResolver()
        super().__init__(self._own_devices())

    def _own_devices(self) -> list[str] | None:
        """The devices of this worker's replicas; None: those that its process sees."""
        return None

    @property
    def cluster_resolver(self) -> Any:
        """The cluster."""
        return self._resolver

    def _make_extended(
        self, devices: Sequence[str], cross_device_ops: CrossDeviceOps | None
    ) -> MirroredExtended:
        cluster = self._resolver.cluster_spec()
        tasks = [(job, i) for job in _JOBS if job in cluster.jobs for i in cluster.task_indices(job)]
        own = self._resolver.task_type, int(self._resolver.task_id or 0)
        if len(tasks) < 2 or own[0] == "evaluator":
            return super()._make_extended(devices, cross_device_ops)
        if own not in tasks:
            raise ValueError(
                f"MultiWorkerMirroredStrategy trains on the tasks of {' and '.join(_JOBS)}; this process is "
                f"{own[0]!r} {own[1]}, as TF_CONFIG or the cluster resolver says."
            )
        named = [f"/job:{own[0]}/task:{own[1]}{device}" for device in devices]
        return WorkersExtended(self, named, len(tasks), tasks.index(own))

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas of all workers."""
        return self._extended.worker_count * len(self._extended.worker_devices)

    def make_session_run_hook(self) -> SessionRunHook:
        """A hook for monitored sessions that sets the chief's values at the start of each session, and
        waits for the other workers at the end."""
        return _InStep(self._extended)

    def make_dataset_iterator(self, dataset: Dataset) -> Any:
        """An iterator over a dataset, whose batches are divided among the replicas of all workers."""
        return super().make_dataset_iterator(self._part_of_worker(dataset))

    def experimental_distribute_dataset(self, dataset: Dataset, options: Any = None) -> Any:
        """A dataset whose iterators divide its batches among the replicas of all workers."""
        return super().experimental_distribute_dataset(self._part_of_worker(dataset), options)

    def _part_of_worker(self, dataset: Dataset) -> Dataset:
        """This worker's rows of each batch."""
        extended = self._extended
        if not isinstance(extended, WorkersExtended):
            return dataset
        worker, count = extended.worker, extended.worker_count

        def rows(batch: Any) -> Any:
            size = (shape(batch)[0] + count - 1) // count
            return batch[worker * size : (worker + 1) * size]

        def part(*element: Any) -> Any:
            return structures.map_structure(rows, element if len(element) > 1 else element[0])

        return dataset.map(part)

    def _input_context(self) -> InputContext:
        extended = self._extended
        if not isinstance(extended, WorkersExtended):
            return super()._input_context()
        return InputContext(extended.worker_count, extended.worker, self.num_replicas_in_sync)


class CollectiveAllReduceStrategy(MultiWorkerMirroredStrategy):
    """`MultiWorkerMirroredStrategy` with the argument of
    `tf.contrib.distribute.CollectiveAllReduceStrategy`.

    Args:
        num_gpus_per_worker: how many GPUs of each worker have a replica; 0: one is on its CPU.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        self._num_gpus = num_gpus_per_worker
        super().__init__()

    def _own_devices(self) -> list[str]:
        return [f"/gpu:{number}" for number in range(self._num_gpus)] or ["/cpu:0"]


class _InStep(SessionRunHook):
    """Has a worker begin with the chief's values, and leave with the others."""

    def __init__(self, extended: Any) -> None:
        self._extended = extended
        self._begin: Any = None
        self._end: Any = None

    def begin(self) -> None:
        if isinstance(self._extended, WorkersExtended):
            self._begin = self._extended.reduction.broadcast_from_chief(self._extended.worker == 0)
            self._end = self._extended.reduction.barrier(_FAREWELL_SECONDS)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._begin is not None:
            session.run(self._begin)

    def end(self, session: Any) -> None:
        # The others may still wait for what this worker's server has of the last step.
        if self._end is None:
            return
        try:
            session.run(self._end)
        except (errors.DeadlineExceededError, errors.UnavailableError, errors.AbortedError) as e:
            warning("The other workers did not end with this one: %s", e.message)
