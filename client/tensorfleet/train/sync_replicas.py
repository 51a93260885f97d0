"""Synchronous training of replicas that share variables (`tf.train.SyncReplicasOptimizer`).

Each worker adds its gradients to accumulators on the variables' devices and then waits for a token. The chief
takes the mean of each accumulator once it has enough gradients, applies it, increases the global step, and
puts tokens with the new step into a queue, one for each worker. A gradient computed from older variables
has an older step, and its accumulator drops it.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.core.logging import info
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.data_flow.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from tensorfleet.ops.data_flow.queues import FIFOQueue
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.variable_collections import global_variables, report_uninitialized_variables
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.queue_runners import QueueRunner
from tensorfleet.train.session_run_hook import SessionRunHook


class SyncReplicasOptimizer(Optimizer):
    """Applies the mean of the gradients of several replicas with another optimizer.

    The chief needs `make_session_run_hook(is_chief=True)`, or what the hook runs: `chief_init_op` and
    `get_init_tokens_op()` once, and the threads of `get_chief_queue_runner()`. The other workers need the
    hook or `local_step_init_op`.

    Args:
    opt: the optimizer that applies the mean.
    replicas_to_aggregate: the number of gradients for one step.
    total_num_replicas: the number of workers, by default `replicas_to_aggregate`. With more workers, the
        late gradients of a step are dropped; with fewer, some workers contribute several batches.
        variable_averages, variables_to_average: a moving average to update after each step.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._tokens_per_step = max(total, replicas_to_aggregate)
        info("SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate, total)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._tokens: FIFOQueue | None = None
        self._chief_queue_runner: QueueRunner | None = None
        self.local_step_init_op: Any = None
        self.chief_init_op: Any = None
        self.ready_for_local_init_op: Any = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """The inner optimizer's `compute_gradients`."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(  # type: ignore[override]  # TensorFlow's has no fourth argument either
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The operation that contributes this replica's gradients and waits until the step is done.

        Raises:
            ValueError: no variables, or no `global_step`.
        """
        pairs = list(grads_and_vars or ())
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        # On the worker itself, even if a device function places variables on parameter servers.
        with framework.colocate_with(no_op()):
            local_step = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = variable_ops.assign(local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with framework.name_scope(None, self._name):
            accumulators, contributed, means = self._accumulate(pairs, local_step)
            with framework.device(global_step.device), framework.name_scope(""):
                updated = self._opt.apply_gradients(
                    list(zip(means, (var for _, var in pairs), strict=True)), global_step
                )
                self._tokens = FIFOQueue(
                    -1, global_step.dtype.base, shapes=(), name="sync_token_q", shared_name="sync_token_q"
                )
                # The runner closes its queue at the end, but the queue of tokens must outlive a chief.
                dummy = FIFOQueue(1, "int32", shapes=(), name="dummy_queue", shared_name="dummy_queue")
                with framework.control_dependencies(contributed):
                    token = self._tokens.dequeue()
                train = variable_ops.assign(local_step, token)
                with framework.control_dependencies([updated]):
                    done = self._put_tokens(self._tokens_per_step)
                if self._variable_averages is not None:
                    with framework.control_dependencies([done]), framework.name_scope(""):
                        done = self._variable_averages.apply(self._variables_to_average)
                self._chief_queue_runner = _StepRunner(dummy, [done])
            started = [self.local_step_init_op]
            for accumulator, device in accumulators:
                with framework.device(device):
                    started.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*started)
        self._gradients_applied = True
        return train

    def _accumulate(self, pairs: list[Any], local_step: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """The accumulators with their devices, the operations that add to them, and the means (or None)."""
        accumulators: list[Any] = []
        contributed: list[Any] = []
        means: list[Any] = []
        for grad, var in pairs:
            if grad is None:
                means.append(None)
                continue
            with framework.device(var.device):
                shared_name = f"{var.name}/grad_accum"
                accumulator: Any
                if isinstance(grad, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(grad.dtype, shape=(), shared_name=shared_name)
                    contributed.append(accumulator.apply_indexed_slices_grad(grad, local_step=local_step))
                    means.append(accumulator.take_indexed_slices_grad(self._replicas_to_aggregate))
                else:
                    accumulator = ConditionalAccumulator(
                        grad.dtype, shape=var.get_shape(), shared_name=shared_name
                    )
                    contributed.append(accumulator.apply_grad(grad, local_step=local_step))
                    means.append(accumulator.take_grad(self._replicas_to_aggregate))
            accumulators.append((accumulator, var.device))
        return accumulators, contributed, means

    def _put_tokens(self, count: int) -> Any:
        """The operation that puts `count` tokens with the current global step into the queue."""
        assert self._tokens is not None
        step = self._global_step
        now = step.read_value() if isinstance(step, Variable) else step
        return self._tokens.enqueue_many((apply_one("Fill", [count], now),))

    def get_chief_queue_runner(self) -> QueueRunner:
        """The queue runner that applies the means, for the chief (`tf.train.QueueRunner`).

        Raises:
            ValueError: gradients were not applied yet.
        """
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """The operation that puts the first tokens into the queue, by default `replicas_to_aggregate`.

        Raises:
            ValueError: gradients were not applied yet, or too few tokens for the first step.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with framework.device(self._global_step.device), framework.name_scope(""):
            return self._put_tokens(num_tokens)

    def _get_last_tokens_op(self) -> Any:
        """The operation that puts a token for each worker into the queue."""
        with framework.device(self._global_step.device), framework.name_scope(""):
            return self._put_tokens(self._total_num_replicas)

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook for monitored sessions that initializes the replica."""
        return _Hook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The inner optimizer's variables."""
        return self._opt.variables()


class _StepRunner(QueueRunner):
    """The runner that applies the means. It waits for gradients, even after the workers have stopped.

    So the coordinator must not wait for its thread, as TensorFlow's does for two minutes: the thread ends
    with the session, which cancels the waiting step.
    """

    _ends_by_itself = False


class _Hook(SessionRunHook):
    """Initializes the local step, and on the chief the accumulators, the tokens and the runner."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._first_tokens: Any = None
        self._last_tokens: Any = None

    def begin(self) -> None:
        if not self._optimizer._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._first_tokens = self._optimizer.get_init_tokens_op(self._num_tokens)
            self._last_tokens = self._optimizer._get_last_tokens_op()

    def after_create_session(self, session: Any, coord: Any) -> None:
        optimizer = self._optimizer
        missing = session.run(optimizer.ready_for_local_init_op)
        start = optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op
        if missing.size:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                f"{start.name}, error: Variables not initialized: "
                f"{', '.join(name.decode() for name in missing)}"
            )
        session.run(start)
        if self._is_chief:
            session.run(self._first_tokens)
            optimizer.get_chief_queue_runner().create_threads(session, coord=coord, daemon=True, start=True)

    def end(self, session: Any) -> None:
        """Puts tokens for the other workers, which no chief does any more, so that they see the last step."""
        if self._is_chief:
            session.run(self._last_tokens)
