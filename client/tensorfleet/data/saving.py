"""The position of an iterator in checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.data.iterator import Iterator
from tensorfleet.data.options import ExternalStatePolicy
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.train.saveables import SaveableObject, SaveSpec


class _IteratorSaveable(SaveableObject):
    """An iterator, whose state is one variant."""

    def __init__(self, resource: Tensor, policy: ExternalStatePolicy) -> None:
        with get_default_graph().colocate_with(resource):
            state = apply_op("SerializeIterator", resource, external_state_policy=policy.value)
        name = resource.name
        super().__init__(resource, [SaveSpec(state, "", f"{name}_STATE", device=resource.device)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        with get_default_graph().colocate_with(self.op):
            return apply_op("DeserializeIterator", self.op, restored_tensors[0])


def make_saveable_from_iterator(
    iterator: Iterator, external_state_policy: ExternalStatePolicy | None = None
) -> SaveableObject:
    """An object that has a Saver keep an iterator's position, with what its dataset keeps, such as the buffer
    of `shuffle` (`tf.data.experimental.make_saveable_from_iterator`).

    Add it to the collection SAVEABLE_OBJECTS before the Saver is made. Restore after the iterator is
    initialized with the same dataset.

    Args:
        external_state_policy: what saving does where functions of the dataset have state that is not kept
            with the iterator, such as random numbers: FAIL (default), WARN or IGNORE.
    """
    return _IteratorSaveable(iterator._iterator_resource, external_state_policy or ExternalStatePolicy.FAIL)
