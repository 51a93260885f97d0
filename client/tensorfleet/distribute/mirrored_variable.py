"""Variables with a copy on each replica's device: `MirroredVariable`, `SyncOnReadVariable`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tensorfleet.core import shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.distribute.per_replica import DistributedValues
from tensorfleet.distribute.reductions import reduced
from tensorfleet.distribute.replica_context import ReduceOp, get_replica_context
from tensorfleet.distribute.replica_threads import ReplicaOfSeveral
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor, register_tensor_conversion_function
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state.resource_variables import ResourceVariable
from tensorfleet.ops.state.variable_options import VariableAggregation
from tensorfleet.train.saveables import SaveableObject, SaveSpec

_REDUCTIONS = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}


class _Updating(threading.local):
    number: int | None = None


_updating = _Updating()


@contextlib.contextmanager
def updating(number: int) -> Iterator[None]:
    """A block that updates the copies of one replica: mirrored variables stand for these in it."""
    old, _updating.number = _updating.number, number
    try:
        yield
    finally:
        _updating.number = old


def current_replica() -> int | None:
    """The number of the replica that is built or updated; None across all of them."""
    if _updating.number is not None:
        return _updating.number
    context = get_replica_context()
    return context.number if isinstance(context, ReplicaOfSeveral) else None


class MirroredVariable(DistributedValues, ResourceVariable):
    """A variable with equal copies; each replica reads its own.

    Across replicas it stands for the first copy, and assignments change all. In a replica, assignments
    bring the replicas together (`merge_call`), and all copies get the values' aggregate.

    Args:
        strategy: the strategy.
        values: the copies, resource variables.
        trainable: whether optimizers change it.
        collections: where to add it.
        aggregation: what becomes of the values that replicas assign.
    """

    def __init__(
        self,
        strategy: Any,
        values: Sequence[ResourceVariable],
        trainable: bool | None,
        collections: Any,
        constraint: Any,
        synchronization: Any,
        aggregation: Any,
    ) -> None:
        DistributedValues.__init__(self, values)
        self._strategy = strategy
        joined = self._set_up(collections, trainable, constraint, synchronization, aggregation)
        self._validate_shape = values[0]._validate_shape
        self.primary.graph.add_to_collections(joined, self)

    @property
    def primary(self) -> ResourceVariable:
        """The first copy, whose name is the variable's."""
        first: ResourceVariable = self.values[0]
        return first

    def copy_of_replica(self) -> ResourceVariable:
        """The copy of the current replica; across replicas the first."""
        copy: ResourceVariable = self.values[current_replica() or 0]
        return copy

    # What ResourceVariable keeps in attributes, of the current copy.

    @property
    def _variable(self) -> Tensor:  # type: ignore[override]
        return self.copy_of_replica()._variable

    @property
    def _graph_element(self) -> Tensor:  # type: ignore[override]
        return self.copy_of_replica()._graph_element

    @property
    def _cached_value(self) -> Tensor | None:  # type: ignore[override]
        return self.copy_of_replica()._cached_value

    @property
    def _dtype(self) -> DType:  # type: ignore[override]
        return self.primary._dtype

    @property
    def _shape(self) -> shapes.TensorShape:  # type: ignore[override]
        return self.primary._shape

    @property
    def _name(self) -> str:  # type: ignore[override]
        return self.primary._name

    @property
    def _initial_value(self) -> Tensor | None:  # type: ignore[override]
        return self.primary._initial_value

    @property
    def _initializer_op(self) -> Operation:  # type: ignore[override]
        if not hasattr(self, "_initializers"):
            with get_default_graph().control_dependencies(None), framework.device(None):
                name = f"{self.primary.op.name}/Initializers/"
                self._initializers = group(*(v.initializer for v in self.values), name=name[:-1] + "/")
        return self._initializers

    def set_shape(self, shape: Any) -> None:
        """Merges `shape` into the static shape."""
        for value in self.values:
            value.set_shape(shape)

    def get(self) -> ResourceVariable:
        """The copy of the current replica."""
        return self.copy_of_replica()

    # Changing

    def _change(self, method: str, value: Any, name: str | None, read_value: bool) -> Any:
        if _updating.number is not None:
            return getattr(self.copy_of_replica(), method)(value, name=name, read_value=read_value)
        if current_replica() is None:
            return self._change_all(method, value, name, read_value)
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(
                "You must specify an aggregation method to update a MirroredVariable in Replica Context: "
                f"pass tf.VariableAggregation.SUM, MEAN or ONLY_FIRST_REPLICA for {self.name}."
            )

        def changed(strategy: Any, given: Any) -> Any:
            return self._change_all(method, self._aggregated(given), name, read_value)

        context = get_replica_context()
        assert context is not None
        return context.merge_call(changed, args=(value,))

    def _aggregated(self, given: Any) -> Any:
        """The value for all copies from those of the replicas."""
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return given.values[0] if isinstance(given, DistributedValues) else given
        return self._strategy.extended.reduce_to(_REDUCTIONS[self._aggregation], given, self)

    def _change_all(self, method: str, value: Any, name: str | None, read_value: bool) -> Any:
        changes = []
        for number, copy in enumerate(self.values):
            own = value.values[number] if isinstance(value, DistributedValues) else value
            with updating(number), framework.device(copy.device or None):
                changes.append(getattr(copy, method)(own, read_value=False))
        done = group(*changes, name=name)
        if not read_value:
            return done
        with framework.control_dependencies([done]):
            return identity(self.primary.read_value())

    def assign(
        self, value: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Sets the value of all copies, in a replica to the replicas' aggregate."""
        return self._change("assign", value, name, read_value)

    def assign_add(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds `delta` to all copies, in a replica the replicas' aggregate."""
        return self._change("assign_add", delta, name, read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts `delta` from all copies, in a replica the replicas' aggregate."""
        return self._change("assign_sub", delta, name, read_value)

    # Saving

    def _to_save(self) -> Tensor:
        return self.primary._graph_element

    def _restored(self, value: Tensor) -> Any:
        """The value of a copy from the saved one."""
        return value

    def saveable(self, name: str) -> SaveableObject:
        """One tensor in a checkpoint, which all copies are restored from."""
        return _MirroredSaveable(self, name)


class SyncOnReadVariable(MirroredVariable):
    """A variable whose copies differ: each replica changes its own, and all are aggregated where the variable
    is read across replicas, or saved."""

    def _change(self, method: str, value: Any, name: str | None, read_value: bool) -> Any:
        if current_replica() is not None:
            return getattr(self.copy_of_replica(), method)(value, name=name, read_value=read_value)
        if method != "assign":
            raise ValueError(
                f"{method} of a variable that is synchronized on read, {self.name}, is only supported in "
                "replica context."
            )
        given = convert_to_tensor(value, dtype=self._dtype)
        return self._change_all(method, self._restored(given), name, read_value)

    def aggregated(self) -> Tensor:
        """The sum or mean of the copies, or the first."""
        if self._aggregation in _REDUCTIONS:
            values = [value.value() for value in self.values]
            total: Tensor = reduced(_REDUCTIONS[self._aggregation], values)
            return total
        return self.primary.value()

    def value(self) -> Tensor:
        """The current replica's value; across replicas the aggregate."""
        return self.aggregated() if current_replica() is None else super().value()

    def read_value(self) -> Tensor:
        """The current replica's value, read anew; across replicas the aggregate."""
        return self.aggregated() if current_replica() is None else super().read_value()

    def _as_graph_element(self) -> Tensor:
        if current_replica() is not None:
            return super()._as_graph_element()
        if not hasattr(self, "_aggregate"):
            with get_default_graph().control_dependencies(None):
                self._aggregate = self.aggregated()
        return self._aggregate

    def _to_save(self) -> Tensor:
        return self._as_graph_element()

    def _restored(self, value: Tensor) -> Any:
        # The sum of the copies is the saved value again.
        if self._aggregation is not VariableAggregation.SUM:
            return value
        parts: Any = value / len(self.values) if value.dtype.is_floating else value // len(self.values)
        return parts


class _MirroredSaveable(SaveableObject):
    """A mirrored variable in a checkpoint."""

    def __init__(self, variable: MirroredVariable, name: str) -> None:
        tensor = variable._to_save()
        self._mirrored = variable
        super().__init__(tensor, [SaveSpec(tensor, "", name)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        [value] = restored_tensors
        value = self._mirrored._restored(value)
        assigned = []
        for number, copy in enumerate(self._mirrored.values):
            with updating(number), framework.device(copy.device or None):
                assigned.append(copy.assign(identity(value), read_value=False))
        return group(*assigned)


def _to_tensor(
    variable: MirroredVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for a variable of type "
            f"{variable.dtype.name!r}."
        )
    return variable.value()


register_tensor_conversion_function(MirroredVariable, _to_tensor, 50)
