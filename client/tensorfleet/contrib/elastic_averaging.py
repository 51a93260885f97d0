"""Elastic averaging SGD, arXiv:1412.6651: workers train variables of their own, and pull a common center and
their variables towards each other now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from tensorfleet.contrib.worker_variables import MirroringGetter, current, local_step, make_local
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.data_flow.queues import FIFOQueue
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.variable_collections import (
    global_variables_initializer,
    local_variables_initializer,
    trainable_variables,
)
from tensorfleet.ops.state.variable_scope import variable_creator_scope
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.saver import Saver
from tensorfleet.train.session_run_hook import SessionRunHook


class ElasticAverageCustomGetter(MirroringGetter):
    """A `custom_getter` that makes trainable variables the worker's own, each with its center on the
    parameter servers and the worker's copy of the center (`tf.contrib.opt.ElasticAverageCustomGetter`).

    It is used with `tf.train.replica_device_setter` and `tf.get_variable`.

    Args:
        worker_device: the device of the worker's own variables.
    """

    _private_name = "local_center_variable"

    def _untrained(self, getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        local = GraphKeys.LOCAL_VARIABLES in (kwargs.get("collections") or ())
        with framework.device(self.worker_device) if local else nullcontext():
            return getter(name, *args, **kwargs)


class ElasticAverageOptimizer(Optimizer):
    """Trains a worker's own variables with another optimizer, and every `communication_period` steps moves
    them and their centers towards each other (`tf.contrib.opt.ElasticAverageOptimizer`).

    Args:
        opt: the optimizer of the worker's variables.
        num_worker: the number of workers.
        ea_custom_getter: the getter that has made the variables.
        communication_period: steps between two averages.
        moving_rate: the share of the difference by which both move; 0.9 / communication_period / num_worker
            by default.
        rho: the weight of the distance from the center in the loss, by default moving_rate / learning rate.
        synchronous: whether the workers wait for each other once they have taken over the centers at first.
    """

    BETA = 0.9

    def __init__(
        self,
        opt: Any,
        num_worker: int,
        ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10,
        moving_rate: float | None = None,
        rho: float | None = None,
        use_locking: bool = True,
        synchronous: bool = False,
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._period = opt, num_worker, communication_period
        self._centers, self._copies = ea_custom_getter.global_of, ea_custom_getter.private_of
        if moving_rate is None:
            moving_rate = self.BETA / communication_period / num_worker
        self._moving_rate, self._synchronous = moving_rate, synchronous
        self._rho = moving_rate / opt._learning_rate if rho is None else rho
        self._local_step = local_step(ea_custom_getter.worker_device)

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> list[Any]:
        """The gradients of the loss and of the distance from the centers."""
        variables = list(var_list or trainable_variables())
        distances = [apply_one("L2Loss", v - self._copies[v]) for v in variables]
        return self._opt.compute_gradients(loss + self._rho * add_n(distances), variables, *args, **kwargs)  # type: ignore[no-any-return]

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Updates the worker's variables; now and then the centers and the global step."""
        pairs = list(grads_and_vars)
        trained = [var for grad, var in pairs if grad is not None]
        with variable_creator_scope(make_local):
            applied = self._opt.apply_gradients(pairs)
        with framework.control_dependencies([applied]):
            step = variable_ops.assign_add(self._local_step, 1, name="local_step_update")
        return cond(
            apply_one("Equal", apply_one("FloorMod", step, self._period), 0),
            lambda: self._averaged(trained, global_step),
            no_op,
            name=name,
        )

    def _averaged(self, trained: list[Any], global_step: Any) -> Any:
        fetched = [self._copies[v].assign(current(self._centers[v])) for v in trained]
        updates = []
        with framework.control_dependencies(fetched):
            steps = [self._moving_rate * (v.read_value() - self._copies[v].read_value()) for v in trained]
        # All differences are taken before anything moves.
        with framework.control_dependencies(steps):
            for variable, step in zip(trained, steps, strict=True):
                updates += [variable.assign_sub(step), self._centers[variable].assign_add(step)]
            if global_step is not None:
                with framework.colocate_with(global_step.op):
                    updates.append(global_step.assign_add(1))
        return group(*updates)

    def get_init_op(self, task_index: int) -> Any:
        """Sets the worker's variables to the centers, and if `synchronous` waits for all workers to have done
        so.

        Raises:
            ValueError: no trainable variable was made by the getter.
        """
        variables = [v for v in trainable_variables() if v in self._centers]
        if not variables:
            raise ValueError("There are no variables that the ElasticAverageCustomGetter has made.")
        set_ops = []
        for v in variables:
            center = self._centers[v]
            set_ops += [v.assign(current(center)), self._copies[v].assign(current(center))]
        if not self._synchronous:
            return group(*set_ops)
        # Beside a center, where all workers find them.
        with framework.colocate_with(self._centers[variables[0]].op):
            queues = [
                FIFOQueue(
                    self._num_worker, [dtypes.bool], shapes=[[]], shared_name=f"variable_init_sync_queue{i}"
                )
                for i in range(self._num_worker)
            ]
        with framework.control_dependencies(set_ops):
            told = [queue.enqueue(constant(False)) for i, queue in enumerate(queues) if i != task_index]
        with framework.control_dependencies(set_ops):
            heard = queues[task_index].dequeue_many(self._num_worker - 1)
        return group(*told, heard)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> SessionRunHook:
        """A hook that initializes the variables when a session has been made."""
        return _ElasticAverageHook(self, is_chief, task_index)

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A saver that writes the centers under the names of the worker's variables.

        Args:
            var_list: a list of variables, or a dict by names; by default the trainable variables.
            kwargs: for `tf.train.Saver`.

        Raises:
            RuntimeError: the getter has made no variable.
        """
        if not self._centers:
            raise RuntimeError(
                "There are no global center variables: the model's variables must be made with an "
                "ElasticAverageCustomGetter before this is called."
            )
        listed = trainable_variables() if var_list is None else var_list
        by_name = listed if isinstance(listed, dict) else {var.op.name: var for var in listed}
        center_of = {var.op.name: center for var, center in self._centers.items()}

        def swapped(var: Any) -> Any:
            if isinstance(var, list):
                return [self._centers.get(part, part) for part in var]
            return center_of.get(var.op.name, var)

        return Saver({key: swapped(var) for key, var in by_name.items()}, name=name, **kwargs)


class _ElasticAverageHook(SessionRunHook):
    def __init__(self, optimizer: ElasticAverageOptimizer, is_chief: bool, task_index: int) -> None:
        self._optimizer, self._is_chief, self._task_index = optimizer, is_chief, task_index

    def begin(self) -> None:
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._optimizer.get_init_op(self._task_index)

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._variable_init_op)
