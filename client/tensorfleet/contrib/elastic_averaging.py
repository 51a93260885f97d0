"""Elastic averaging SGD, arXiv:1412.6651: workers train variables of their own, and pull a common center and
their variables towards each other now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

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
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_collections import (
    global_variables_initializer,
    local_variables_initializer,
    trainable_variables,
)
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.session_run_hook import SessionRunHook


class ElasticAverageCustomGetter:
    """A `custom_getter` that makes trainable variables the worker's own, each with its center on the
    parameter servers and the worker's copy of the center (`tf.contrib.opt.ElasticAverageCustomGetter`).

    It is used with `tf.train.replica_device_setter` and `tf.get_variable`.

    Args:
        worker_device: the device of the worker's own variables.
    """

    def __init__(self, worker_device: str) -> None:
        self._worker_device = worker_device
        self.centers: dict[int, Any] = {}
        self.copies: dict[int, Any] = {}

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
            with framework.device(self._worker_device if local else None):
                return getter(name, *args, trainable=trainable, collections=collections, **kwargs)
        own: dict[str, Any] = {"collections": [GraphKeys.LOCAL_VARIABLES]}
        with framework.device(self._worker_device):
            variable = getter(name, *args, trainable=True, **own, **kwargs)
        initial = variable.initialized_value()
        self.centers[id(variable)] = Variable(
            initial,
            trainable=False,
            name=f"global_center_variable/{name}",
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )
        with framework.device(self._worker_device):
            self.copies[id(variable)] = Variable(
                initial, trainable=False, name=f"local_center_variable/{name}", **own
            )
        return variable


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
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._period = opt, num_worker, communication_period
        self._centers, self._copies = ea_custom_getter.centers, ea_custom_getter.copies
        if moving_rate is None:
            moving_rate = self.BETA / communication_period / num_worker
        self._moving_rate = moving_rate
        self._rho = moving_rate / opt._learning_rate if rho is None else rho
        self._local_step = get_variable(
            "local_step", initializer=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> list[Any]:
        """The gradients of the loss and of the distance from the centers."""
        variables = list(var_list or trainable_variables())
        distances = [apply_one("L2Loss", v - self._copies[id(v)]) for v in variables]
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
        with framework.control_dependencies([self._opt.apply_gradients(pairs)]):
            step = variable_ops.assign_add(self._local_step, 1, name="local_step_update")
        return cond(
            apply_one("Equal", apply_one("FloorMod", step, self._period), 0),
            lambda: self._averaged(trained, global_step),
            no_op,
            name=name,
        )

    def _averaged(self, trained: list[Any], global_step: Any) -> Any:
        fetched = [self._copies[id(v)].assign(self._centers[id(v)]) for v in trained]
        updates = []
        with framework.control_dependencies(fetched):
            steps = [self._moving_rate * (v.read_value() - self._copies[id(v)].read_value()) for v in trained]
        # All differences are taken before anything moves.
        with framework.control_dependencies(steps):
            for variable, step in zip(trained, steps, strict=True):
                updates += [variable.assign_sub(step), self._centers[id(variable)].assign_add(step)]
            if global_step is not None:
                with framework.colocate_with(global_step.op):
                    updates.append(global_step.assign_add(1))
        return group(*updates)

    def get_init_op(self, task_index: int) -> Any:
        """Sets the worker's variables to the centers, and waits for all workers to have done so.

        Raises:
            ValueError: no trainable variable was made by the getter.
        """
        variables = [v for v in trainable_variables() if id(v) in self._centers]
        if not variables:
            raise ValueError("There are no variables that the ElasticAverageCustomGetter has made.")
        set_ops = []
        for v in variables:
            center = self._centers[id(v)]
            set_ops += [v.assign(center), self._copies[id(v)].assign(center)]
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


class _ElasticAverageHook(SessionRunHook):
    def __init__(self, optimizer: ElasticAverageOptimizer, is_chief: bool, task_index: int) -> None:
        self._optimizer, self._is_chief, self._task_index = optimizer, is_chief, task_index

    def begin(self) -> None:
        self._local_init_op = local_variables_initializer()
        self._global_init_op = global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._optimizer.get_init_op(self._task_index)

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._variable_init_op)
