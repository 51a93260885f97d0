"""Sums and means of replicas' values in one graph: `tf.distribute.CrossDeviceOps` and its kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.distribute.per_replica import DistributedValues, Mirrored
from tensorfleet.distribute.replica_context import ReduceOp, reduction
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.add_n import add_n


def reduced(op: ReduceOp, values: Sequence[Any], add: Callable[..., Any] = add_n) -> Any:
    """The sum or mean of tensors, or of IndexedSlices, which are joined."""
    if all(isinstance(value, IndexedSlices) for value in values):
        rows = concat([value.values for value in values], 0)
        if op is ReduceOp.MEAN:
            rows = rows / len(values)
        return IndexedSlices(rows, concat([v.indices for v in values], 0), values[0].dense_shape)
    total = add([convert_to_tensor(value) for value in values])
    return total if op is ReduceOp.SUM else total / len(values)


def devices_of(destinations: Any) -> tuple[str, ...]:
    """The devices of a distributed value, of a variable or tensor, or those named."""
    if isinstance(destinations, DistributedValues):
        return tuple(value.device for value in destinations.values)
    if isinstance(destinations, str):
        return (destinations,)
    if isinstance(destinations, (list, tuple)):
        return tuple(device for part in destinations for device in devices_of(part))
    return (destinations.device,)


def on_devices(value: Any, devices: Sequence[str]) -> Any:
    """The value itself for one device, else a copy on each."""
    if len(devices) == 1:
        return value
    copies = []
    for device in devices:
        with framework.device(device or None):
            copies.append(
                IndexedSlices(identity(value.values), identity(value.indices), value.dense_shape)
                if isinstance(value, IndexedSlices)
                else identity(value)
            )
    return Mirrored(copies)


class CrossDeviceOps:
    """The base class of ways to reduce values of replicas, and to bring values to devices
    (`tf.distribute.CrossDeviceOps`). A subclass implements `reduce_implementation`."""

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None) -> Any:
        """The sum or mean on the devices of `destinations`: Mirrored if these are several.

        Raises:
            ValueError: an unknown reduction, or a value that is not of replicas.
        """
        if not isinstance(per_replica_value, DistributedValues):
            raise ValueError(f"A value of each replica is needed to be reduced, not {per_replica_value!r}.")
        return self.reduce_implementation(reduction(reduce_op), per_replica_value, destinations, options)

    def batch_reduce(
        self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any = None
    ) -> list[Any]:
        """`reduce` of several values.

        Raises:
            ValueError: as `reduce`.
        """
        for value, _ in value_destination_pairs:
            if not isinstance(value, DistributedValues):
                raise ValueError(f"A value of each replica is needed to be reduced, not {value!r}.")
        return self.batch_reduce_implementation(reduction(reduce_op), value_destination_pairs, options)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """The tensor on the devices of `destinations`."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """`reduce`, of checked arguments."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[Any], options: Any
    ) -> list[Any]:
        """`batch_reduce`, of checked arguments: one after another."""
        return [
            self.reduce_implementation(reduce_op, v, place, options) for v, place in value_destination_pairs
        ]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """`broadcast`: a copy on each device."""
        return on_devices(tensor, devices_of(destinations))


class ReductionToOneDevice(CrossDeviceOps):
    """Reduces on one device and copies the result to the others (`tf.distribute.ReductionToOneDevice`).

    Args:
        reduce_to_device: the device, by default the first of the destinations.
        accumulation_fn: the sum of a list of tensors, by default `tf.add_n`.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or add_n

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """The sum or mean on one device, and copies on the others."""
        devices = devices_of(destinations)
        with framework.device(self.reduce_to_device or devices[0] or None):
            result = reduced(reduce_op, per_replica_value.values, self.accumulation_fn)
        return on_devices(result, devices)


class _AllReduce(CrossDeviceOps):
    """Reduces tensors in packs, each on another device."""

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified")
        self._num_packs = num_packs

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """The sum or mean on the first device, and copies on the others."""
        return ReductionToOneDevice().reduce(reduce_op, per_replica_value, destinations)

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Sequence[Any], options: Any
    ) -> list[Any]:
        """Each pack of values is joined and reduced on a device of its own, by turns."""
        pairs = list(value_destination_pairs)
        results: list[Any] = [None] * len(pairs)
        dense = [n for n, (v, _) in enumerate(pairs) if not isinstance(v.values[0], IndexedSlices)]
        for n in set(range(len(pairs))) - set(dense):
            results[n] = self.reduce(reduce_op, *pairs[n])
        for pack, members in enumerate(_packs(dense, self._num_packs, pairs)):
            devices = devices_of(pairs[members[0]][1])
            with framework.device(devices[pack % len(devices)] or None):
                totals = _reduced_together(reduce_op, [pairs[n][0].values for n in members])
            for n, total in zip(members, totals, strict=True):
                results[n] = on_devices(total, devices_of(pairs[n][1]))
        return results


class HierarchicalCopyAllReduce(_AllReduce):
    """Reduces packs of tensors on different devices (`tf.distribute.HierarchicalCopyAllReduce`).

    Args:
        num_packs: how many packs the tensors of a batch are joined to; 0 for none.
    """


class NcclAllReduce(_AllReduce):
    """`HierarchicalCopyAllReduce` by another name: there is no NCCL here (`tf.distribute.NcclAllReduce`)."""


AllReduceCrossDeviceOps = HierarchicalCopyAllReduce
MultiWorkerAllReduce = HierarchicalCopyAllReduce


def _packs(members: list[int], count: int, pairs: Sequence[Any]) -> list[list[int]]:
    """Values of one dtype and one set of devices in about `count` packs; each alone if that is 0."""
    if not count:
        return [[n] for n in members]
    kinds: dict[Any, list[int]] = {}
    for n in members:
        value, destination = pairs[n]
        kinds.setdefault((value.values[0].dtype.base, devices_of(destination)), []).append(n)
    packs = []
    for alike in kinds.values():
        size = -(-len(alike) // count)
        packs += [alike[begin : begin + size] for begin in range(0, len(alike), size)]
    return packs


def _reduced_together(op: ReduceOp, values: list[Sequence[Any]]) -> list[Any]:
    """The sum or mean of each list of tensors; those of several are joined for it."""
    if len(values) == 1:
        return [reduced(op, values[0])]
    replicas = list(zip(*values, strict=True))
    total = reduced(op, [concat([reshape(t, [-1]) for t in replica], 0) for replica in replicas])
    first = replicas[0]
    if all(t.shape.is_fully_defined() for t in first):
        parts = split(total, [t.shape.num_elements() for t in first])
        return [reshape(part, t.shape) for part, t in zip(parts, first, strict=True)]
    found, begin = [], convert_to_tensor(0)
    for tensor in first:
        count = size_of(tensor)
        found.append(reshape(total[begin : begin + count], shape(tensor)))
        begin += count
    return found


def size_of(tensor: Any) -> Any:
    """The number of elements, as a tensor."""
    return shape(reshape(tensor, [-1]))[0]
