"""Strategies of one replica: `tf.distribute.Strategy`, `tf.distribute.OneDeviceStrategy`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.core import structures
from tensorfleet.core.device import DeviceSpec
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.iterator import make_initializable_iterator
from tensorfleet.distribute.replica_context import (
    InputContext,
    InputReplicationMode,
    ReduceOp,
    ReplicaContext,
    entered,
    reduction,
    serve_default_strategy,
)
from tensorfleet.graph import framework
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.control_flow.control import group as grouped
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum


class StrategyExtended:
    """What optimizers and libraries ask of a strategy (`tf.distribute.StrategyExtended`).

    Args:
        container_strategy: the strategy.
    """

    # Where variables and the replica are; "" for wherever they are placed.
    _device = ""

    def __init__(self, container_strategy: Strategy) -> None:
        self._strategy = container_strategy

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of replicas."""
        return (self._device,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables."""
        return (self._device,)

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a graph of its own: no."""
        return False

    @property
    def worker_count(self) -> int:
        """How many processes train in step, each with a graph of its own: one."""
        return 1

    @property
    def first_replica(self) -> int:
        """The number of this process's first replica among all."""
        return 0

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether shapes must be known: no."""
        return False

    @property
    def experimental_should_init(self) -> bool:
        """Whether this process initializes variables: yes."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process writes checkpoints: yes."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries: yes."""
        return True

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """`Strategy.run`."""
        return self._strategy.run(fn, args, kwargs)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        """The sum or mean of the replicas' values."""
        reduction(reduce_op)
        return value

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> list[Any]:
        """`reduce_to` of several values."""
        return [self.reduce_to(reduce_op, value, place) for value, place in value_destination_pairs]

    def loss_of_replicas(self, losses: Any) -> Any:
        """The replicas' losses as one: that of the replica."""
        return losses

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """The tensor on other devices: it is sent where it is used."""
        return tensor

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """`fn(var, *args, **kwargs)`, beside the variable; in a tuple if not `group`."""
        with entered(self._strategy, None), framework.colocate_with(var.op):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else (result,)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """`fn(*args, **kwargs)` on the strategy's device; in a tuple if not `group`."""
        with entered(self._strategy, None), framework.device(self._device or None):
            result = fn(*args, **(kwargs or {}))
        return result if group else (result,)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """The devices of variables that belong to no other one."""
        return self.parameter_devices

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return identity(v)

    def value_container(self, value: Any) -> Any:
        """What a value is a part of: itself."""
        return value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable can be used in the strategy: yes."""
        return True

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """A `with` block whose variables lie beside this one."""
        with framework.colocate_with(colocate_with_variable.op):
            yield

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """A dataset of the rows of arrays."""
        return Dataset.from_tensor_slices(numpy_input)

    def experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: int = 1, initial_loop_values: Any = None
    ) -> Any:
        """The operation that calls `fn` with so many elements, one after another."""
        made: list[Any] = []
        for _ in range(iterations):
            with framework.control_dependencies(made):
                result = self._strategy.run(fn, (iterator.get_next(),))
            made = [grouped(*structures.flatten(result))]
        return made[0]


class DistributedIterator:
    """An iterator over a dataset for the replica of a strategy."""

    def __init__(self, dataset: Dataset, device: str) -> None:
        with framework.device(device or None):
            self._iterator = make_initializable_iterator(dataset)
        self._device = device

    def initialize(self) -> Any:
        """The operation that begins with the first element."""
        return self._iterator.initializer

    initializer = property(initialize, doc="The operation that begins with the first element.")

    def get_next(self) -> Any:
        """The next element."""
        with framework.device(self._device or None):
            return self._iterator.get_next()


class Strategy:
    """How a program is spread over devices (`tf.distribute.Strategy`): here one replica.

    Args:
        extended: what knows the devices; made by the strategies themselves.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self.replica = ReplicaContext(self, 0)

    @property
    def extended(self) -> StrategyExtended:
        """What optimizers and libraries ask of the strategy."""
        return self._extended

    @property
    def cluster_resolver(self) -> Any:
        """The cluster of the strategy: None."""
        return None

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are added up."""
        return 1

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A `with` block whose variables belong to the strategy."""
        with entered(self, None), framework.device(self._device or None):
            yield self

    @property
    def _device(self) -> str:
        return self._extended.worker_devices[0]

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Calls `fn` for the replica.

        Raises:
            TypeError: `fn` is no function.
        """
        if not callable(fn):
            raise TypeError(f"{type(fn).__name__!r} object is not callable")
        with self.replica, framework.device(self._device or None):
            return fn(*args, **(kwargs or {}))

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None
    ) -> Any:
        """`run` by its name in TensorFlow 1.15."""
        return self.run(fn, args, kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Calls `fn` for the replica, with the next element of an iterator if there is one."""
        return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """The sum or mean of the replicas' values, and of their elements along `axis` if it is given."""
        op = reduction(reduce_op)
        if axis is None:
            return value
        return (reduce_sum if op is ReduceOp.SUM else reduce_mean)(value, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of this process's replicas."""
        return (value,)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The values of all replicas."""
        return (value,)

    def group(self, value: Any, name: str | None = None) -> Any:
        """The operation that computes the values of all replicas."""
        return grouped(*structures.flatten(value), name=name)

    def make_dataset_iterator(self, dataset: Dataset) -> DistributedIterator:
        """An iterator over a dataset, whose batches are divided among the replicas."""
        return DistributedIterator(dataset, self._device)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> DistributedIterator:
        """An iterator over the dataset of `input_fn(context)`.

        Raises:
            ValueError: another mode than PER_WORKER.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError("Input replication mode not supported: only PER_WORKER is.")
        return self.make_dataset_iterator(input_fn(InputContext()))

    def experimental_distribute_dataset(self, dataset: Dataset, options: Any = None) -> Dataset:
        """The dataset, whose batches would be divided among several replicas."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[..., Any], options: Any = None
    ) -> Dataset:
        """The dataset of `dataset_fn(context)`."""
        made: Dataset = dataset_fn(InputContext())
        return made

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[..., Any], options: Any = None
    ) -> Dataset:
        """`distribute_datasets_from_function` by its older name."""
        return self.distribute_datasets_from_function(dataset_fn, options)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """A dataset of the rows of arrays."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A `with` block whose variables lie beside this one."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Does nothing: one device needs no configuration."""

    def update_config_proto(self, config_proto: Any) -> Any:
        """A configuration of sessions, as it is."""
        return config_proto


class OneDeviceStrategy(Strategy):
    """Places variables and the replica on one device (`tf.distribute.OneDeviceStrategy`).

    Args:
        device: the device.

    Example:
        >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        >>> with strategy.scope():
        ...     v = tf.Variable(2.0)
        >>> v.device
        '/device:CPU:0'
    """

    def __init__(self, device: str) -> None:
        extended = StrategyExtended(self)
        extended._device = DeviceSpec.from_string(device).to_string()
        super().__init__(extended)


class _DefaultStrategy(Strategy):
    """The strategy where the program has none."""

    def __init__(self) -> None:
        super().__init__(StrategyExtended(self))


serve_default_strategy(_DefaultStrategy())
