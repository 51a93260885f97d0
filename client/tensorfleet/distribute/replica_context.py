"""Which strategy and which replica code is built for: `tf.distribute.get_strategy`, ….

Without a strategy there is one replica. Several workers train one model by parameter servers, or by
`CollectiveOptimizer`; several devices of one graph by `mirrored_strategy`.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from tensorfleet.graph.convert import constant
from tensorfleet.losses.weighted import Reduction, last_reduction


class ReduceOp(enum.Enum):
    """How values of replicas become one (`tf.distribute.ReduceOp`)."""

    SUM = "SUM"
    MEAN = "MEAN"


class InputReplicationMode(enum.Enum):
    """For whom `make_input_fn_iterator` calls its function (`tf.distribute.InputReplicationMode`)."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class RunOptions(NamedTuple):
    """Options of `Strategy.run` for TPUs, which have no effect here (`tf.distribute.RunOptions`)."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


class InputContext:
    """What an input function may know of its place among others (`tf.distribute.InputContext`).

    Args:
        num_input_pipelines: how many there are.
        input_pipeline_id: the number of this one.
        num_replicas_in_sync: the number of replicas.
    """

    def __init__(
        self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1
    ) -> None:
        self._pipelines, self._id, self._replicas = (
            num_input_pipelines,
            input_pipeline_id,
            num_replicas_in_sync,
        )

    @property
    def num_input_pipelines(self) -> int:
        """How many pipelines there are."""
        return self._pipelines

    @property
    def input_pipeline_id(self) -> int:
        """The number of this pipeline."""
        return self._id

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._replicas

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of a replica's part of a batch.

        Raises:
            ValueError: the batch cannot be divided evenly.
        """
        if global_batch_size % self._replicas:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self._replicas}"
            )
        return global_batch_size // self._replicas

    def __str__(self) -> str:
        return f"tf.distribute.InputContext(input pipeline id {self._id}, total: {self._pipelines})"


class ReplicaContext:
    """What a replica knows of itself (`tf.distribute.ReplicaContext`), in whose `with` block it is built.

    Args:
        strategy: the replica's strategy.
        replica_id_in_sync_group: its number.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: int) -> None:
        self._strategy, self._id = strategy, replica_id_in_sync_group

    @property
    def strategy(self) -> Any:
        """The strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return 1

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica, an int32 tensor."""
        return constant(self._id, name="replica_id_in_sync_group")

    @property
    def devices(self) -> tuple[str, ...]:
        """The replica's devices."""
        return tuple(self._strategy.extended.worker_devices)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or mean over all replicas: of one it is the value.

        Raises:
            ValueError: an unknown reduction.
        """
        reduction(reduce_op)
        return value

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls `merge_fn(strategy, *args, **kwargs)` outside of the replica."""
        with entered(self._strategy, None):
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    def __enter__(self) -> ReplicaContext:
        _stack().append((self._strategy, self))
        return self

    def __exit__(self, *error: object) -> None:
        _stack().pop()


def reduction(reduce_op: Any) -> ReduceOp:
    """A ReduceOp, or its name in any case, as a ReduceOp; raises ValueError if it is none."""
    if isinstance(reduce_op, ReduceOp):
        return reduce_op
    try:
        return ReduceOp[str(reduce_op).upper()]
    except KeyError:
        raise ValueError(
            f"reduce_op must be tf.distribute.ReduceOp.SUM or MEAN, not {reduce_op!r}."
        ) from None


class _Places(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Any, ReplicaContext | None]] = []


_places = _Places()
_default: Any = None


def _stack() -> list[tuple[Any, ReplicaContext | None]]:
    return _places.stack


def serve_default_strategy(strategy: Any) -> None:
    """Says which strategy there is where the program has none."""
    global _default
    _default = strategy


class entered:
    """A `with` block that is built for a strategy, and in it for a replica, or across all (None)."""

    def __init__(self, strategy: Any, replica: ReplicaContext | None) -> None:
        self._place = strategy, replica

    def __enter__(self) -> Any:
        _stack().append(self._place)
        return self._place[0]

    def __exit__(self, *error: object) -> None:
        _stack().pop()


def get_strategy() -> Any:
    """The strategy of the `with` block, or the default one (`tf.distribute.get_strategy`)."""
    return _stack()[-1][0] if _stack() else _default


def has_strategy() -> bool:
    """Whether the strategy is another than the default one (`tf.distribute.has_strategy`)."""
    return get_strategy() is not _default


def in_cross_replica_context() -> bool:
    """Whether what is built now belongs to no replica (`tf.distribute.in_cross_replica_context`)."""
    return get_replica_context() is None


def get_replica_context() -> ReplicaContext | None:
    """The replica for which is built now, or None (`tf.distribute.get_replica_context`)."""
    if _stack():
        return _stack()[-1][1]
    replica: ReplicaContext = _default.replica
    return replica


def get_cross_replica_context() -> Any:
    """The strategy, where what is built now belongs to no replica, or None
    (`tf.contrib.distribute.get_cross_replica_context`)."""
    return get_strategy() if in_cross_replica_context() else None


def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """Checks that is built for this replica now (`tf.contrib.distribute.require_replica_context`).

    Raises:
        RuntimeError: it is for another, or for none.
    """
    now = get_replica_context()
    if now is replica_ctx:
        return
    if now is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    if now.strategy is replica_ctx.strategy:
        raise RuntimeError("Mismatching ReplicaContext.")
    raise RuntimeError(
        f"Mismatching tf.distribute.Strategy objects: {now.strategy} is not {replica_ctx.strategy}."
    )


def get_loss_reduction() -> ReduceOp:
    """How losses of replicas become one (`tf.distribute.get_loss_reduction`).

    That is by their sum; in an estimator by their mean, unless the last loss of `tf.losses` was a sum itself.
    """
    if not getattr(get_strategy(), "_scale_loss_for_estimator", False):
        return ReduceOp.SUM
    return ReduceOp.SUM if last_reduction() in (Reduction.SUM, Reduction.NONE) else ReduceOp.MEAN


def experimental_set_strategy(strategy: Any) -> None:
    """Makes a strategy that of the rest of the program (`tf.distribute.experimental_set_strategy`).

    Args:
        strategy: None for the default one.

    Raises:
        RuntimeError: in a `with strategy.scope()` block.
    """
    if any(place[0] is not _set_strategy.get("now") for place in _stack()):
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    _stack().clear()
    _set_strategy["now"] = strategy
    if strategy is not None:
        _stack().append((strategy, None))


_set_strategy: dict[str, Any] = {}
