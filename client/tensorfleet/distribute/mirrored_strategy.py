"""`tf.distribute.MirroredStrategy`: several replicas in one graph, each with a copy of the variables."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorfleet.core.device import DeviceSpec
from tensorfleet.data.dataset import Dataset
from tensorfleet.distribute import optimizing  # noqa: F401 - serves optimizers
from tensorfleet.distribute.mirrored_variable import (
    MirroredVariable,
    SyncOnReadVariable,
    current_replica,
    updating,
)
from tensorfleet.distribute.per_replica import DistributedValues, Mirrored, PerReplica, mapped
from tensorfleet.distribute.reductions import CrossDeviceOps, ReductionToOneDevice
from tensorfleet.distribute.replica_context import (
    InputContext,
    InputReplicationMode,
    ReduceOp,
    entered,
    get_loss_reduction,
    get_replica_context,
    get_strategy,
    reduction,
)
from tensorfleet.distribute.replica_threads import call_for_each_replica
from tensorfleet.distribute.split_batches import DividedDataset, SplitIterator
from tensorfleet.distribute.strategies import Strategy, StrategyExtended
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.control_flow.control import group as grouped
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_creator_scope, variable_scope
from tensorfleet.session.session import Session


class MirroredExtended(StrategyExtended):
    """What a MirroredStrategy knows of its devices and variables."""

    def __init__(
        self, strategy: Strategy, devices: Sequence[str], cross_device_ops: CrossDeviceOps | None
    ) -> None:
        super().__init__(strategy)
        self._devices = tuple(DeviceSpec.from_string(device).to_string() for device in devices)
        if len(set(self._devices)) != len(self._devices):
            raise ValueError(f"The devices of replicas must differ: {list(devices)}")
        self._cross_device_ops = cross_device_ops or ReductionToOneDevice()
        # The variables that the first replica makes and no scope finds again, and how many of them each
        # of the others has taken.
        self._shared: dict[str, list[Any]] = {}
        self._taken: dict[tuple[int, str], int] = {}

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of replicas."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables' copies."""
        return self._devices

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls `fn` for each replica; results are PerReplica where they differ.

        Raises:
            TypeError: `fn` is no function.
            RuntimeError: inside of a replica.
        """
        if not callable(fn):
            raise TypeError(f"{type(fn).__name__!r} object is not callable")
        if get_strategy() is self._strategy and get_replica_context() is not None:
            raise RuntimeError("Must only be called in cross-replica context, not in a replica.")
        try:
            with self._strategy.scope():
                return call_for_each_replica(self._strategy, self._devices, fn, args, kwargs)
        finally:
            self._shared, self._taken = {}, {}

    # Variables

    def create_variable(self, next_creator: Callable[..., Any], **arguments: Any) -> Any:
        """The variable creator of the strategy's scope."""
        if arguments.get("variable_def") is not None:
            return next_creator(**arguments)
        replica = current_replica()
        key = arguments.get("name") or "Variable"
        if replica:
            count = self._taken[replica, key] = self._taken.get((replica, key), 0) + 1
            made = self._shared.get(key, [])
            if count > len(made):
                raise RuntimeError(f"Replica {replica} makes a variable {key!r} that the first does not.")
            return made[count - 1]
        variable = self._mirrored(next_creator, arguments)
        if replica == 0:
            self._shared.setdefault(key, []).append(variable)
        return variable

    def _mirrored(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> MirroredVariable:
        synchronization = arguments.get("synchronization") or VariableSynchronization.AUTO
        aggregation = arguments.get("aggregation") or VariableAggregation.NONE
        kind = SyncOnReadVariable if synchronization is VariableSynchronization.ON_READ else MirroredVariable
        given = {
            **arguments,
            "use_resource": True,
            "collections": [],
            "trainable": False,
            "constraint": None,
            "caching_device": None,
            "synchronization": VariableSynchronization.AUTO,
            "aggregation": VariableAggregation.NONE,
        }
        copies: list[Any] = []
        graph = get_default_graph()
        for number, device in enumerate(self._devices):
            with graph.colocate_with(None, ignore_existing=True), framework.device(device):
                if copies:
                    first = copies[0]
                    given["name"] = f"{first.op.name}/replica_{number}/"
                    given["initial_value"] = functools.partial(identity, first.initial_value)
                    given["dtype"] = None
                copies.append(next_creator(**given))
        return kind(
            self._strategy,
            copies,
            arguments.get("trainable"),
            arguments.get("collections"),
            arguments.get("constraint"),
            synchronization,
            aggregation,
        )

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """A `with` block whose variables have their copies on the devices of this one's: as all have."""
        yield

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """`fn(copy, *args, **kwargs)` for each copy, with its parts of the arguments.

        Returns:
            The operation that does all, or the results of each if not `group`.
        """
        results = []
        for number, copy in enumerate(var.values):
            own = mapped(functools.partial(_part, number), [(tuple(args), dict(kwargs or {}))])
            with (
                entered(self._strategy, None),
                updating(number),
                framework.colocate_with(copy.op),
                framework.name_scope(f"update_{number}") if number else contextlib.nullcontext(),
            ):
                results.append(fn(copy, *own[0], **own[1]))
        if not group:
            return tuple(results)
        return grouped(*(result for result in results if result is not None))

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """`fn(*args, **kwargs)` on each device."""
        results = []
        for number, device in enumerate(self._devices):
            own = mapped(functools.partial(_part, number), [(tuple(args), dict(kwargs or {}))])
            with entered(self._strategy, None), updating(number), framework.device(device):
                results.append(fn(*own[0], **own[1]))
        return grouped(*results) if group else tuple(results)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """The devices of variables that belong to no other one."""
        return self._devices

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return v.read_value()

    # Values

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        """The sum or mean of the replicas' values, on the devices of `destinations`.

        Raises:
            ValueError: a single value, of which there is no sum over replicas.
        """
        op = reduction(reduce_op)
        if isinstance(value, Mirrored) and op is ReduceOp.MEAN:
            return value
        if not isinstance(value, DistributedValues):
            if op is ReduceOp.MEAN or (isinstance(value, (int, float)) and value == 0):
                return value
            raise ValueError(
                f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {op}."
            )
        return self._cross_device_ops.reduce(op, value, destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> list[Any]:
        """`reduce_to` of several values at once."""
        return self._cross_device_ops.batch_reduce(reduction(reduce_op), list(value_destination_pairs))

    def all_reduced(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean of the replicas' values, or of those in a structure, on all devices."""
        op = reduction(reduce_op)

        def of(leaves: list[Any]) -> Any:
            [leaf] = leaves
            if not isinstance(leaf, DistributedValues):
                # The same object in each replica.
                leaf = PerReplica([leaf] * len(self._devices))
            return self._cross_device_ops.reduce(op, leaf, list(self._devices))

        return mapped(of, [value])

    def over_workers(self, tensor: Any) -> Any:
        """The sum of the tensors of all processes that train in step: of one it is the tensor."""
        return tensor

    def loss_of_replicas(self, losses: Any) -> Any:
        """The replicas' losses as one: their sum or mean, as that of the gradients."""
        with entered(self._strategy, None):
            return self._strategy.reduce(get_loss_reduction(), losses)

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """The tensor on the devices of `destinations`."""
        return self._cross_device_ops.broadcast(tensor, destinations or list(self._devices))

    def experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: int = 1, initial_loop_values: Any = None
    ) -> Any:
        """The operation that calls `fn` with so many elements, one after another."""
        made: list[Any] = []
        for _ in range(iterations):
            with framework.control_dependencies(made):
                result = self.call_for_each_replica(fn, (iterator.get_next(),))
                made = [self._strategy.group(result)]
        return made[0]


def _part(number: int, leaves: list[Any]) -> Any:
    [leaf] = leaves
    if isinstance(leaf, (MirroredVariable, DistributedValues)):
        return leaf.values[number]
    return leaf


class MirroredStrategy(Strategy):
    """Several replicas in one graph, each on a device, with a copy of every variable there
    (`tf.distribute.MirroredStrategy`).

    Each replica computes with a part of the batch; their gradients are added up, and applied to all copies.

    Args:
        devices: the replicas' devices, also of several tasks; by default this machine's GPUs, or its CPU if
            there are none.
        cross_device_ops: how gradients are added up, by default on the first device.

    Example:
        >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        >>> with strategy.scope():
        ...     v = tf.get_variable("v", initializer=1.0)
        >>> result = strategy.experimental_run_v2(
        ...     lambda: v * tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32))
        >>> total = strategy.reduce(tf.distribute.ReduceOp.SUM, result, axis=None)
        >>> with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(total)
        np.float32(1.0)
    """

    def __init__(
        self,
        devices: Any = None,
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        if isinstance(devices, str):
            devices = [devices]
        super().__init__(self._make_extended(devices or local_devices(), cross_device_ops))

    def _make_extended(
        self, devices: Sequence[str], cross_device_ops: CrossDeviceOps | None
    ) -> MirroredExtended:
        return MirroredExtended(self, devices, cross_device_ops)

    @property
    def _mirrored(self) -> MirroredExtended:
        extended = self._extended
        assert isinstance(extended, MirroredExtended)
        return extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are added up."""
        return len(self._extended.worker_devices)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A `with` block whose variables have a copy for each replica."""
        extended = self._mirrored
        with contextlib.ExitStack() as scopes:
            inside = get_strategy() is self
            scopes.enter_context(entered(self, None))
            if not inside:
                scopes.enter_context(variable_creator_scope(extended.create_variable))
                scopes.enter_context(variable_scope(get_variable_scope(), use_resource=True))
                scopes.enter_context(framework.device(self._device))
            yield self

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Calls `fn` for each replica; results are PerReplica where they differ."""
        return self._extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The sum or mean of the replicas' values, and of their elements along `axis` if it is given."""
        op = reduction(reduce_op)
        device = self._extended.worker_devices[0]

        def of(leaves: list[Any]) -> Any:
            [leaf] = leaves
            with entered(self, None), framework.device(device):
                if axis is None:
                    return self._extended.reduce_to(op, leaf, device)
                parts = leaf.values if isinstance(leaf, DistributedValues) else [leaf]
                parts = [convert_to_tensor(part) for part in parts]
                total = self._mirrored.over_workers(add_n([reduce_sum(part, axis) for part in parts]))
                if op is ReduceOp.SUM:
                    return total
                counts = self._mirrored.over_workers(add_n([shape(part)[axis] for part in parts]))
                return total / cast(counts, total.dtype)

        return mapped(of, [value])

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas."""
        return value.values if isinstance(value, DistributedValues) else (value,)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The values of all replicas."""
        return self.experimental_local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """The operation that computes the values of all replicas."""
        parts: list[Any] = []

        def seen(leaves: list[Any]) -> None:
            parts.extend(part for part in self.unwrap(leaves[0]) if part is not None)

        mapped(seen, [value])
        return grouped(*parts, name=name)

    def make_dataset_iterator(self, dataset: Dataset) -> Any:
        """An iterator over a dataset, whose batches are divided among the replicas."""
        return SplitIterator(dataset, self._extended.worker_devices)

    def experimental_distribute_dataset(self, dataset: Dataset, options: Any = None) -> Any:
        """A dataset whose iterators divide its batches among the replicas."""
        return DividedDataset(dataset, self._extended.worker_devices)

    def distribute_datasets_from_function(self, dataset_fn: Callable[..., Any], options: Any = None) -> Any:
        """The dataset of `dataset_fn(context)`, each of whose elements is for one replica."""
        return DividedDataset(dataset_fn(self._input_context()), self._extended.worker_devices, divides=False)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> Any:
        """An iterator over the dataset of `input_fn(context)`, each of whose elements is for one replica.

        Raises:
            ValueError: another mode than PER_WORKER.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError("Input replication mode not supported: only PER_WORKER is.")
        return SplitIterator(input_fn(self._input_context()), self._extended.worker_devices, divides=False)

    def _input_context(self) -> InputContext:
        return InputContext(num_replicas_in_sync=self.num_replicas_in_sync)


def local_devices() -> list[str]:
    """This machine's GPUs, or its CPU if there are none."""
    with Session() as session:
        found = [d.name for d in session.list_devices() if d.device_type == "GPU"]
    return [f"/gpu:{number}" for number in range(len(found))] or ["/cpu:0"]
