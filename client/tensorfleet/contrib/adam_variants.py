"""Variants of Adam: AdaMax, Nadam, and one that changes only the rows of a sparse gradient."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state import variable_ops
from tensorfleet.train.adam import AdamOptimizer
from tensorfleet.train.optimizer import as_type_of
from tensorfleet.train.optimizers import apply_rule


class _RowsOptimizer(AdamOptimizer):
    """An Adam whose sparse update is `_update_rows`, for reference and resource variables alike."""

    def _update_rows(self, var: Any, rows: Tensor, indices: Tensor) -> Any:
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._update_rows(var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        return self._update_rows(var, grad, indices)

    def _scatter(self, kind: str, variable: Any, indices: Tensor, rows: Tensor) -> Any:
        """The operation that sets ("Update") or adds to ("Add") the rows of a variable."""
        if hasattr(variable, "handle"):
            return apply_op(f"ResourceScatter{kind}", variable.handle, indices, rows)
        scatter = variable_ops.scatter_update if kind == "Update" else variable_ops.scatter_add
        return scatter(variable, indices, rows, use_locking=self._use_locking).op


def _read(variable: Any, after: Any) -> Tensor:
    with framework.control_dependencies([after]):
        value: Tensor = variable.read_value()
        return value


class AdaMaxOptimizer(_RowsOptimizer):
    """AdaMax, of section 7.1 of arXiv:1412.6980 (`tf.contrib.opt.AdaMaxOptimizer`): the second moment is the
    largest gradient, decayed.

    A sparse gradient changes only its rows, of the variable and of the moments.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", framework.get_default_graph())

    def _numbers(self, var: Any) -> list[Any]:
        numbers = (self._get_beta_accumulators(), self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [as_type_of(n, var) for n in numbers]

    def _update(self, grad: list[Any], var: Any) -> Any:
        variables = [var, self.get_slot(var, "m"), self.get_slot(var, "v")]
        return apply_rule(self, "AdaMax", variables, *self._numbers(var), grad)

    def _update_rows(self, var: Any, rows: Tensor, indices: Tensor) -> Any:
        power, rate, beta1, beta2, epsilon = self._numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = gather(m.read_value(), indices) * beta1 + rows * (1 - beta1)
        v_rows = apply_one("Maximum", gather(v.read_value(), indices) * beta2, apply_one("Abs", rows))
        step = -(rate / (1 - power)) * (m_rows / (v_rows + epsilon))
        return group(
            self._scatter("Add", var, indices, step),
            self._scatter("Update", m, indices, m_rows),
            self._scatter("Update", v, indices, v_rows),
        )

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with framework.control_dependencies(update_ops):
            power = self._get_beta_accumulators()
            with framework.colocate_with(power.op):
                update = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return group(*update_ops, update, name=name_scope)


class NadamOptimizer(_RowsOptimizer):
    """Adam with Nesterov momentum (`tf.contrib.opt.NadamOptimizer`).

    A sparse gradient decays the moments of all rows, and changes only its rows of the variable.
    """

    def _update(self, grad: list[Any], var: Any) -> Any:
        variables = [var, self.get_slot(var, "m"), self.get_slot(var, "v")]
        return apply_rule(self, "Adam", variables, *self._numbers(var), grad, use_nesterov=True)

    def _update_rows(self, var: Any, rows: Tensor, indices: Tensor) -> Any:
        power1, power2, rate, beta1, beta2, epsilon = self._numbers(var)
        rate = rate * apply_one("Sqrt", 1 - power2) / (1 - power1)

        def averaged(slot: Any, beta: Any, new: Tensor) -> Tensor:
            decayed = slot.assign(slot.read_value() * beta, use_locking=self._use_locking)
            with framework.control_dependencies([decayed]):
                return _read(slot, self._scatter("Add", slot, indices, new))

        m = averaged(self.get_slot(var, "m"), beta1, rows * (1 - beta1))
        v = averaged(self.get_slot(var, "v"), beta2, rows * rows * (1 - beta2))
        ahead = rows * (1 - beta1) + beta1 * gather(m, indices)
        step = -rate * ahead / (apply_one("Sqrt", gather(v, indices)) + epsilon)
        return group(self._scatter("Add", var, indices, step), m, v)


class LazyAdamOptimizer(_RowsOptimizer):
    """Adam that changes only the rows of a sparse gradient, of the variable and of the moments
    (`tf.contrib.opt.LazyAdamOptimizer`).

    It takes much less time than Adam for large embeddings, and does not quite do the same.
    """

    def _update_rows(self, var: Any, rows: Tensor, indices: Tensor) -> Any:
        power1, power2, rate, beta1, beta2, epsilon = self._numbers(var)
        rate = rate * apply_one("Sqrt", 1 - power2) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = gather(m.read_value(), indices) * beta1 + rows * (1 - beta1)
        v_rows = gather(v.read_value(), indices) * beta2 + rows * rows * (1 - beta2)
        step = -rate * m_rows / (apply_one("Sqrt", v_rows) + epsilon)
        return group(
            self._scatter("Add", var, indices, step),
            self._scatter("Update", m, indices, m_rows),
            self._scatter("Update", v, indices, v_rows),
        )
