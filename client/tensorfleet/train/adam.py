"""Adam (`tf.train.AdamOptimizer`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state import variable_ops
from tensorfleet.train.optimizer import Optimizer, as_type_of, number
from tensorfleet.train.optimizers import apply_rule, one_op


@one_op
class AdamOptimizer(Optimizer):
    """Kingma and Ba's Adam, arXiv:1412.6980 (`tf.train.AdamOptimizer`).

    The correction of the moments is part of the step size, as in the paper's section 2, so `epsilon` is the
    paper's epsilon hat. A sparse gradient changes all rows, those without a gradient by their momentum.

    Example:
        >>> v = tf.Variable(3.0)
        >>> step = tf.train.AdamOptimizer(0.5).minimize(v * v)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(step)
        ...     session.run(v).round(2)
        np.float32(2.5)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """The variables that hold beta1 and beta2 to the power of the step's number."""
        graph = framework.get_default_graph()
        return (
            self._get_non_slot_variable("beta1_power", graph),
            self._get_non_slot_variable("beta2_power", graph),
        )

    def _create_slots(self, var_list: list[Any]) -> None:
        # The powers are placed with one variable, the same in every process that builds the graph.
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(
            self._beta1() if callable(self._beta1) else self._beta1, "beta1_power", first
        )
        self._create_non_slot_variable(
            self._beta2() if callable(self._beta2) else self._beta2, "beta2_power", first
        )
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t = number(self._lr, "learning_rate")
        self._beta1_t = number(self._beta1, "beta1")
        self._beta2_t = number(self._beta2, "beta2")
        self._epsilon_t = number(self._epsilon, "epsilon")

    def _numbers(self, var: Any) -> list[Any]:
        numbers = (*self._get_beta_accumulators(), self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [as_type_of(n, var) for n in numbers]

    def _update(self, grad: list[Any], var: Any) -> Any:
        variables = [var, self.get_slot(var, "m"), self.get_slot(var, "v")]
        return apply_rule(self, "Adam", variables, *self._numbers(var), grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        def add(slot: Any, indices: Any, rows: Any) -> Any:
            return variable_ops.scatter_add(slot, indices, rows, use_locking=self._use_locking)

        return self._apply_rows(grad.values, var, grad.indices, add)

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        def add(slot: Any, indices: Any, rows: Any) -> Any:
            with framework.control_dependencies([apply_op("ResourceScatterAdd", slot.handle, indices, rows)]):
                return slot.value()

        return self._apply_rows(grad, var, indices, add)

    def _apply_rows(self, grad: Any, var: Any, indices: Any, add: Callable[[Any, Any, Any], Any]) -> Any:
        power1, power2, lr, beta1, beta2, epsilon = self._numbers(var)
        rate = lr * apply_one("Sqrt", 1 - power2) / (1 - power1)

        def averaged(slot: Any, beta: Any, rows: Any) -> Any:
            decayed = variable_ops.assign(slot, slot * beta, use_locking=self._use_locking)
            with framework.control_dependencies([decayed]):
                return add(slot, indices, rows)

        m = averaged(self.get_slot(var, "m"), beta1, grad * (1 - beta1))
        v = averaged(self.get_slot(var, "v"), beta2, (grad * grad) * (1 - beta2))
        step = rate * m / (apply_one("Sqrt", v) + epsilon)
        updated = variable_ops.assign_sub(var, step, use_locking=self._use_locking)
        return group(updated, m, v)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        # The powers change after all updates have used them.
        with framework.control_dependencies(update_ops):
            power1, power2 = self._get_beta_accumulators()
            with framework.colocate_with(power1.op):
                updates = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in ((power1, self._beta1_t), (power2, self._beta2_t))
                ]
        return group(*update_ops, *updates, name=name_scope)
