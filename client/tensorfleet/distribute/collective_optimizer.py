"""CollectiveOptimizer: an optimizer that applies the mean of the workers' gradients."""

from __future__ import annotations

from typing import Any

from tensorfleet.distribute.collective_keys import CollectiveKeys
from tensorfleet.distribute.cross_device_ops import (
    BUCKET_BYTES,
    all_reduce_gradients,
    broadcast_variables,
)
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.session_run_hook import SessionRunHook


class CollectiveOptimizer(Optimizer):
    """Averages gradients over the workers, each of which applies the mean with another optimizer.

    Every worker builds the same graph, with all variables on its own task, and makes the same number of
    steps. They start with the chief's values: by `make_session_run_hook()`, or by running
    `broadcast_variables()` once, after the chief has initialized its variables. From then on their variables
    stay bitwise equal.

    Args:
        opt: the optimizer that applies the mean.
        num_workers: the number of workers.
        is_chief: whether this worker's values are the initial ones; true on exactly one worker.
        group_key: the group of the workers.
        keys: see `all_reduce_gradients`.
        bucket_bytes: the approximate number of bytes of gradients to reduce at once.
        timeout: the time limit of a collective, in seconds; 0 for the server's limit.

    Raises:
        ValueError: `num_workers` is less than 1.
    """

    def __init__(
        self,
        opt: Optimizer,
        num_workers: int,
        is_chief: bool,
        group_key: int = 1,
        keys: CollectiveKeys | None = None,
        bucket_bytes: int = BUCKET_BYTES,
        timeout: float = 0,
        use_locking: bool = False,
        name: str = "CollectiveOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        if num_workers < 1:
            raise ValueError(f"num_workers must be at least 1, but is {num_workers}")
        self._opt = opt
        self._num_workers = num_workers
        self._is_chief = is_chief
        self._keys = keys or CollectiveKeys.of_graph(group_key)
        self._bucket_bytes = bucket_bytes
        self._timeout = timeout

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """The inner optimizer's `compute_gradients`: the gradients of this worker alone."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(  # type: ignore[override]  # as in SyncReplicasOptimizer
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The operation that applies the mean over all workers, on each of them.

        Raises:
            ValueError: no variables, or a gradient of a dtype or shape that collectives do not support.
        """
        means = all_reduce_gradients(
            grads_and_vars,
            self._num_workers,
            keys=self._keys,
            bucket_bytes=self._bucket_bytes,
            timeout=self._timeout,
        )
        return self._opt.apply_gradients(means, global_step, name)

    def broadcast_variables(self, variables: Any = None) -> Any:
        """The operation that sends the chief's values, by default of all global variables, to all workers.

        Call this after `apply_gradients` or `minimize`, which make the optimizer's own variables.
        """
        return broadcast_variables(
            variables, self._is_chief, self._num_workers, keys=self._keys, timeout=self._timeout
        )

    def make_session_run_hook(self) -> SessionRunHook:
        """A hook for monitored sessions that sets the chief's values at the start of each session."""
        return _Hook(self)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The inner optimizer's variables."""
        return self._opt.variables()


class _Hook(SessionRunHook):
    def __init__(self, optimizer: CollectiveOptimizer) -> None:
        self._optimizer = optimizer
        self._broadcast: Any = None

    def begin(self) -> None:
        self._broadcast = self._optimizer.broadcast_variables()

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._broadcast)
