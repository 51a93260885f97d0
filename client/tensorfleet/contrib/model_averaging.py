"""Training of a model per worker, whose averages all take over now and then: `tf.contrib.opt`'s
ModelAverageOptimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from tensorfleet.contrib.worker_variables import current, local_step
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.constants import fill
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.data_flow.accumulators import ConditionalAccumulator
from tensorfleet.ops.data_flow.queues import FIFOQueue
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.variable_collections import (
    global_variables_initializer,
    local_variables_initializer,
    trainable_variables,
)
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.session_run_hook import SessionRunHook


class ModelAverageCustomGetter:
    """A `custom_getter` that makes trainable variables the worker's own, each with a global one on the
    parameter servers (`tf.contrib.opt.ModelAverageCustomGetter`).

    It is used with `tf.train.replica_device_setter` and `tf.get_variable`.

    Args:
        worker_device: the device of the worker's own variables.
    """

    def __init__(self, worker_device: str) -> None:
        self.worker_device = worker_device
        self.global_of: dict[Any, Any] = {}

    def __call__(
        self,
        getter: Callable[..., Any],
        name: str,
        trainable: Any,
        collections: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if not trainable:
            local = GraphKeys.LOCAL_VARIABLES in (collections or ())
            with framework.device(self.worker_device) if local else nullcontext():
                return getter(name, *args, trainable=trainable, collections=collections, **kwargs)
        own: dict[str, Any] = {"collections": [GraphKeys.LOCAL_VARIABLES]}
        with framework.device(self.worker_device):
            variable = getter(name, *args, trainable=True, **own, **kwargs)
        if variable not in self.global_of:
            self.global_of[variable] = Variable(
                variable.initialized_value(),
                trainable=False,
                name=f"global_center_variable/{name}",
                collections=[GraphKeys.GLOBAL_VARIABLES],
            )
        return variable


class ModelAverageOptimizer(Optimizer):
    """Trains a worker's own variables with another optimizer; every `interval_steps` steps all workers meet,
    and go on with the averages of their variables (`tf.contrib.opt.ModelAverageOptimizer`).

    The global step counts these meetings. A worker waits in its step until the others have come.

    Args:
        opt: the optimizer of the workers' variables.
        num_worker: the number of workers.
        is_chief: whether this worker takes the averages.
        ma_custom_getter: the getter that has made the variables.
        interval_steps: steps between two meetings.
    """

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        is_chief: bool,
        ma_custom_getter: ModelAverageCustomGetter,
        interval_steps: int = 100,
        use_locking: bool = True,
        name: str = "ModelAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._is_chief = opt, num_worker, is_chief
        self._global_of, self._interval_steps = ma_custom_getter.global_of, interval_steps
        self._chief_init_op: Any = None
        self._local_step = local_step(ma_custom_getter.worker_device)

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As of the optimizer of the workers' variables."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Updates the worker's variables; at a meeting also the global ones and the global step.

        Raises:
            ValueError: there are no pairs, or there is no global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        trained = [var for grad, var in pairs if grad is not None]
        with framework.colocate_with(global_step.op):
            tokens = FIFOQueue(-1, [dtypes.bool], shapes=[[]], shared_name="sync_queue")
        sums, begins = [], []
        with framework.name_scope(None, f"{self._name}/global"):
            for variable in trained:
                center = self._global_of[variable]
                with framework.colocate_with(center.op):
                    shared = f"{center.name}/var_accum"
                    sums.append(ConditionalAccumulator(variable.dtype.base, variable.shape, shared))
                    begins.append(sums[-1].set_global_step(global_step, name="SetGlobalStep"))
        self._chief_init_op = group(*begins)
        with framework.control_dependencies([self._opt.apply_gradients(pairs)]):
            step = variable_ops.assign_add(self._local_step, 1, name="local_step_update")
        return cond(
            apply_one("Equal", apply_one("FloorMod", step, self._interval_steps), 0),
            lambda: self._meet(trained, sums, tokens, global_step),
            no_op,
            name=name,
        )

    def _meet(self, trained: list[Any], sums: list[Any], tokens: FIFOQueue, global_step: Any) -> Any:
        begun = current(global_step)
        given = []
        for variable, total in zip(trained, sums, strict=True):
            # Reads of the variable's own snapshot may be from before the update.
            given.append(total.apply_grad(variable.read_value(), local_step=begun))
        with framework.control_dependencies(given):
            if self._is_chief:
                met = self._averaged(trained, sums, tokens, global_step)
            else:
                with framework.colocate_with(global_step.op):
                    met = tokens.dequeue()
        with framework.control_dependencies([met]):
            return self._taken_over(trained)

    def _averaged(self, trained: list[Any], sums: list[Any], tokens: FIFOQueue, global_step: Any) -> Any:
        updates = []
        for variable, total in zip(trained, sums, strict=True):
            center = self._global_of[variable]
            with framework.colocate_with(center.op):
                updates.append(center.assign(total.take_grad(self._num_worker)))
        with framework.colocate_with(global_step.op):
            updates.append(global_step.assign_add(1))
            with framework.control_dependencies(updates):
                return tokens.enqueue_many(fill([self._num_worker - 1], constant(False)))

    def _taken_over(self, variables: list[Any]) -> Any:
        if not variables:
            raise ValueError("The list of local_variables should not be empty")
        updates = []
        for variable in variables:
            average = current(self._global_of[variable])
            with framework.colocate_with(variable.op):
                updates.append(variable.assign(average))
        return group(*updates)

    def get_init_op(self) -> Any:
        """Sets the worker's variables to the global ones.

        Raises:
            ValueError: there are no trainable variables.
        """
        return self._taken_over(trainable_variables())

    def make_session_run_hook(self) -> SessionRunHook:
        """A hook that sets the worker's variables to the global ones when a session has been made."""
        return _ModelAverageHook(self, self._is_chief)


class _ModelAverageHook(SessionRunHook):
    def __init__(self, optimizer: ModelAverageOptimizer, is_chief: bool) -> None:
        self._optimizer, self._is_chief = optimizer, is_chief

    def begin(self) -> None:
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._optimizer.get_init_op()

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._variable_init_op)
