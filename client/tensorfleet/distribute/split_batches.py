"""Iterators of datasets for several replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import structures
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.iterator import make_initializable_iterator
from tensorfleet.distribute.per_replica import PerReplica
from tensorfleet.graph import framework
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor


class SplitIterator:
    """An iterator whose elements are PerReplica.

    Args:
        dataset: the dataset.
        devices: the replicas' devices.
        divides: whether an element is a batch whose rows are divided evenly among the replicas; else each
            replica gets an element of its own.
    """

    def __init__(self, dataset: Dataset, devices: Sequence[str], divides: bool = True) -> None:
        self._iterator = make_initializable_iterator(dataset)
        self._devices, self._divides = devices, divides

    def initialize(self) -> Any:
        """The operation that begins with the first element."""
        return self._iterator.initializer

    initializer = property(initialize, doc="The operation that begins with the first element.")

    def get_next(self) -> Any:
        """The next element, or parts of it, on the replicas' devices.

        Raises:
            NotImplementedError: batches of sparse tensors are to be divided.
        """
        if not self._divides:
            elements = []
            for device in self._devices:
                element = self._iterator.get_next()
                with framework.device(device):
                    elements.append(structures.map_structure(identity, element))
            return structures.map_structure(lambda *parts: PerReplica(parts), *elements)
        return structures.map_structure(self._divided, self._iterator.get_next())

    def _divided(self, batch: Any) -> PerReplica:
        """The rows of a batch, in order, as many for each replica; the last has fewer if they do not fit."""
        if isinstance(batch, SparseTensor):
            raise NotImplementedError("Batches of sparse tensors cannot be divided among replicas.")
        count = len(self._devices)
        known = batch.shape.as_list()[0] if batch.ndim else None
        rows = known if known is not None else shape(batch)[0]
        size = (rows + count - 1) // count
        parts = []
        for number, device in enumerate(self._devices):
            with framework.device(device):
                part = batch[number * size : (number + 1) * size]
                if known is not None:
                    begin = min(number * size, known)
                    part.set_shape([min(begin + size, known) - begin, *batch.dims[1:]])
                parts.append(part)
        return PerReplica(parts)


class DividedDataset:
    """A dataset of a strategy, of which iterators are made."""

    def __init__(self, dataset: Dataset, devices: Sequence[str], divides: bool = True) -> None:
        self._given = dataset, devices, divides

    def make_initializable_iterator(self) -> SplitIterator:
        """An iterator with an operation `initializer`, to be run first."""
        return SplitIterator(*self._given)

    make_one_shot_iterator = make_initializable_iterator
