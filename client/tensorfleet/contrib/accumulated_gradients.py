"""Accumulated gradients normalization, arXiv:1710.02368: workers train variables of their own, and give the
mean of several gradients to global ones (`tf.contrib.opt.AGNOptimizer`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.contrib.worker_variables import MirroringGetter, current, local_step, make_local
from tensorfleet.graph import framework
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.variable_collections import (
    global_variables_initializer,
    local_variables_initializer,
    trainable_variables,
)
from tensorfleet.ops.state.variable_scope import variable_creator_scope
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.session_run_hook import SessionRunHook


class AGNCustomGetter(MirroringGetter):
    """A `custom_getter` that makes trainable variables the worker's own, each with a global one on the
    parameter servers and the worker's sum of gradients (`tf.contrib.opt.AGNCustomGetter`).

    It is used with `tf.train.replica_device_setter` and `tf.get_variable`. A partitioned variable has a
    global one and a sum for each part.

    Args:
        worker_device: the device of the worker's own variables.
    """

    _private_name = "grad_variable"


class AGNOptimizer(Optimizer):
    """Trains a worker's own variables with an optimizer; every `communication_period` steps the same
    optimizer applies the mean of the period's gradients to the global variables, which the worker's then take
    over (`tf.contrib.opt.AGNOptimizer`).

    The global step counts these exchanges. Workers do not wait for each other.

    Args:
        optimizer: the optimizer of the worker's and of the global variables.
        num_worker: the number of workers.
        custom_getter: the getter that has made the variables.
        communication_period: steps between two exchanges.
    """

    def __init__(
        self,
        optimizer: Any,
        num_worker: int,
        custom_getter: AGNCustomGetter,
        communication_period: int = 10,
        use_locking: bool = True,
        name: str = "AGNOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._period = optimizer, num_worker, communication_period
        self._global_of, self._sum_of = custom_getter.global_of, custom_getter.private_of
        self._local_step = local_step(custom_getter.worker_device)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Updates the worker's variables; at an exchange also the global ones and the global step."""
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        trained = [var for _, var in pairs]
        with variable_creator_scope(make_local):
            updates = [self._opt.apply_gradients(pairs)]
        updates += [variable_ops.assign_add(self._sum_of[var], grad) for grad, var in pairs]
        # Slots are made here, as what is made on a branch is not there for its initializer.
        with framework.control_dependencies(None):
            self._opt._create_slots([self._global_of[var] for var in trained])
        step = variable_ops.assign_add(self._local_step, 1, name="local_step_update")
        with framework.control_dependencies(updates):
            return cond(
                apply_one("Equal", apply_one("FloorMod", step, self._period), 0),
                lambda: self._exchange(trained, global_step),
                no_op,
                name=name,
            )

    def _exchange(self, trained: list[Any], global_step: Any) -> Any:
        means = [self._sum_of[var].read_value() / self._period for var in trained]
        centers = [self._global_of[var] for var in trained]
        applied = self._opt.apply_gradients(list(zip(means, centers, strict=True)))
        updates = []
        with framework.control_dependencies([applied]):
            if global_step is not None:
                with framework.colocate_with(global_step.op):
                    updates.append(global_step.assign_add(1))
            for var, center in zip(trained, centers, strict=True):
                updates.append(var.assign(current(center)))
                updates.append(self._sum_of[var].assign(zeros_like(self._sum_of[var])))
        return group(*updates)

    def get_init_op(self, task_index: int) -> Any:
        """Sets the worker's variables to the global ones and its sums of gradients to 0.

        Raises:
            ValueError: no trainable variable was made by the getter.
        """
        updates = []
        for var in trainable_variables():
            if var in self._global_of:
                updates.append(var.assign(current(self._global_of[var])))
                updates.append(self._sum_of[var].assign(zeros_like(self._sum_of[var])))
        if not updates:
            raise ValueError("There are no variables that the AGNCustomGetter has made.")
        return group(*updates)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """A hook that initializes the worker's variables when a session has been made."""
        return _AGNHook(self, is_chief, task_index)


class _AGNHook(SessionRunHook):
    def __init__(self, optimizer: AGNOptimizer, is_chief: bool, task_index: int) -> None:
        self._optimizer, self._is_chief, self._task_index = optimizer, is_chief, task_index

    def begin(self) -> None:
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._optimizer.get_init_op(self._task_index)

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._variable_init_op)
