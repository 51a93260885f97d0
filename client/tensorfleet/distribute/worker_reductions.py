"""Reductions among the replicas of several workers, each of which builds a graph with its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.distribute.collective_keys import CollectiveKeys
from tensorfleet.distribute.cross_device_ops import all_reduce_gradients, barrier, broadcast_variables
from tensorfleet.distribute.per_replica import DistributedValues, PerReplica
from tensorfleet.distribute.reductions import CrossDeviceOps, devices_of, on_devices, reduced
from tensorfleet.distribute.replica_context import ReduceOp
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.collective import collective_ops
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state.variable_collections import global_variables


class WorkersReduction(CrossDeviceOps):
    """Adds up on each worker, and then among the workers, by collectives.

    The workers build the same graph, so that their collectives have the same keys.

    Args:
        worker_count: the number of workers.
        device: the device of this worker that takes part.
    """

    def __init__(self, worker_count: int, device: str) -> None:
        self._worker_count, self._device = worker_count, device

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """The sum or mean over all replicas of all workers."""
        with framework.device(self._device):
            local = reduced(ReduceOp.SUM, per_replica_value.values)
            if isinstance(local, IndexedSlices):
                local = convert_to_tensor(local)
            total = self.over_workers(local)
            if reduce_op is ReduceOp.MEAN:
                total = total / (self._worker_count * len(per_replica_value.values))
        return on_devices(total, devices_of(destinations))

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[Any], options: Any
    ) -> list[Any]:
        """The same of gradients, with their variables as destinations: packed, and sparse ones gathered."""
        replicas = self._worker_count * len(value_destination_pairs[0][0].values)
        with framework.device(self._device):
            local = [(reduced(ReduceOp.SUM, v.values), variable) for v, variable in value_destination_pairs]
            totals = [total for total, _ in all_reduce_gradients(local, self._worker_count, mean=False)]
            if reduce_op is ReduceOp.MEAN:
                totals = [_divided(total, replicas) for total in totals]
        return [
            on_devices(total, devices_of(variable))
            for total, (_, variable) in zip(totals, value_destination_pairs, strict=True)
        ]

    def over_workers(self, tensor: Any) -> Any:
        """The sum of the workers' tensors."""
        keys = CollectiveKeys.of_graph()
        return collective_ops.all_reduce(
            tensor, self._worker_count, keys.group_key, keys.next_instance_key(), "Add", "Id"
        )

    def broadcast_from_chief(self, is_chief: bool) -> Any:
        """The operation that gives all workers' global variables the chief's values."""
        with framework.device(self._device):
            variables = global_variables()
            first = [v.values[0] if isinstance(v, DistributedValues) else v for v in variables]
            sent = broadcast_variables(first, is_chief, self._worker_count)
            with framework.control_dependencies([sent]):
                copies = [
                    copy.assign(v.values[0].read_value(), read_value=False)
                    for v in variables
                    if isinstance(v, DistributedValues)
                    for copy in v.values[1:]
                ]
            return group(sent, *copies)

    def barrier(self, timeout: float) -> Any:
        """The operation that ends when all workers run it."""
        with framework.device(self._device):
            return barrier(self._worker_count, timeout=timeout)


def per_replica(value: Any, replicas: int) -> Any:
    """A value of this worker's replicas as PerReplica: what is the same for all comes as itself."""
    return value if isinstance(value, DistributedValues) else PerReplica([value] * replicas)


def _divided(total: Any, count: int) -> Any:
    if isinstance(total, IndexedSlices):
        return IndexedSlices(total.values / count, total.indices, total.dense_shape)
    return total / count
