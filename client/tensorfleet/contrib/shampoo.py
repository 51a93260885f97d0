"""Shampoo, preconditioned stochastic tensor optimization, arXiv:1802.09568 (`tf.contrib.opt`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.matrix_roots import inverse_pth_root, square_root
from tensorfleet.core import dtypes, logging
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import eye, zeros, zeros_like
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.linalg.linalg import svd
from tensorfleet.ops.math.matmul import matmul, tensordot
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.state import variable_ops
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.slot_creator import is_resource


class ShampooOptimizer(Optimizer):
    """Shampoo: the gradient, multiplied along each dimension by a power of the sum of outer products of
    gradients along it (`tf.contrib.opt.ShampooOptimizer`, arXiv:1802.09568).

    For each dimension d of a variable there is a slot Gbar_d, of shape [size, size], or [size], the diagonal
    alone, where the size is above `max_matrix_size`. Where a parameter may be a function, it is called with
    the step's number, a float32 scalar that begins at 1.

    Args:
        global_step: the number of steps done, a variable, tensor or number.
        max_matrix_size: the largest size of a dimension with a matrix.
        gbar_decay, gbar_weight: the gradient that is used is gbar := decay · gbar + weight · gradient;
            numbers or functions.
        mat_gbar_decay, mat_gbar_weight: the same for the sums of outer products; numbers or functions.
        learning_rate: a number or a function.
        svd_interval: steps between two computations of the powers, which else are kept; a number or function.
        precond_update_interval: steps between two additions of outer products; a number or a function.
        epsilon: the least singular value, also added to the diagonal.
        alpha: the power is -alpha / number of dimensions; a number or a function.
        use_iterative_root: whether the power is found by iterations in place of a singular value
            decomposition; alpha / number of dimensions must then be 1 / (2 · n), n whole.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Any = 0.0,
        gbar_weight: Any = 1.0,
        mat_gbar_decay: Any = 1.0,
        mat_gbar_weight: Any = 1.0,
        learning_rate: Any = 1.0,
        svd_interval: Any = 1,
        precond_update_interval: Any = 1,
        epsilon: float = 1e-4,
        alpha: Any = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        super().__init__(use_locking, name)
        self._global_step = cast(convert_to_tensor(global_step), dtypes.float32)
        self._max_matrix_size = max_matrix_size
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._mat_gbar_decay, self._mat_gbar_weight = mat_gbar_decay, mat_gbar_weight
        self._learning_rate, self._alpha = learning_rate, alpha
        self._svd_interval, self._precond_update_interval = svd_interval, precond_update_interval
        self._epsilon, self._use_iterative_root = epsilon, use_iterative_root

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            with framework.colocate_with(var.op):
                self._zeros_slot(var, "gbar", self._name)
                for i, size in enumerate(var.shape.as_list()):
                    initial = zeros([size])
                    if size <= self._max_matrix_size:
                        initial = zeros([size, size])
                        if _is_rare(self._svd_interval):
                            self._get_or_make_slot(var, eye(size), f"H_{i}", self._name)
                    self._get_or_make_slot(var, initial, f"Gbar_{i}", self._name)

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._apply(grad, var)

    _resource_apply_dense = _apply_dense

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._resource_apply_sparse(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        if var.shape.as_list()[0] <= self._max_matrix_size or self._gbar_decay != 0.0:
            return self._apply(
                convert_to_tensor(IndexedSlices(grad, indices, apply_one("Shape", var.value()))), var
            )
        return self._apply(grad, var, indices)

    def _averaged(self, slot: Any, decay: Any, decay_now: Any, new: Any) -> Any:
        """decay · slot + new, kept in the slot unless nothing of it is to be used again."""
        if not callable(decay) and decay == 0.0:
            return new
        if not callable(decay) and decay == 1.0:
            return convert_to_tensor(slot.assign_add(new))
        return convert_to_tensor(slot.assign_add((decay_now - 1) * slot.read_value() + new))

    def _apply(self, grad: Any, var: Any, indices: Any = None) -> Any:
        step = self._global_step + 1

        def now(parameter: Any) -> Any:
            return parameter(step) if callable(parameter) else parameter

        sizes = var.shape.as_list()
        weight, decay = now(self._mat_gbar_weight), now(self._mat_gbar_decay)
        power = -now(self._alpha) / len(sizes)
        direction = grad
        if indices is None:
            added = now(self._gbar_weight) * grad
            direction = self._averaged(
                self.get_slot(var, "gbar"), self._gbar_decay, now(self._gbar_decay), added
            )
        elif self._gbar_decay != 0.0:
            logging.warning("Not applying momentum for variable: %s", var.name)
        for i, size in enumerate(sizes):
            slot = self.get_slot(var, f"Gbar_{i}")
            others = [axis for axis in range(len(sizes)) if axis != i]
            if size <= self._max_matrix_size:
                factor = self._matrix(grad, var, i, others, decay, weight, power, step)
                direction = tensordot(direction, factor, [[0], [0]])
                continue
            squares = reduce_sum(grad * grad, others) if others else grad * grad
            if others and indices is None:
                squares = squares / float(size)
            if i == 0 and indices is not None:
                if self._mat_gbar_decay != 1.0:
                    raise ValueError("A sparse gradient needs a mat_gbar_decay of 1.")
                diagonal = gather(_scattered(slot, indices, weight * squares), indices)
            else:
                diagonal = self._averaged(slot, self._mat_gbar_decay, decay, weight * squares)
            some = apply_one("Greater", diagonal, 0.0)
            factor = where(some, apply_one("Pow", diagonal, power), zeros_like(diagonal))
            direction = transpose(direction, [*range(1, len(sizes)), 0]) * factor
        change = now(self._learning_rate) * direction
        if indices is None:
            return variable_ops.assign_sub(var, change)
        return _scattered(var, indices, -change)

    def _matrix(
        self, grad: Any, var: Any, i: int, others: list[int], decay: Any, weight: Any, power: Any, step: Any
    ) -> Any:
        """The power of the mean of outer products along dimension `i`."""
        slot, size = self.get_slot(var, f"Gbar_{i}"), var.shape.as_list()[i]
        interval = self._precond_update_interval
        every = interval(step) if callable(interval) else float(interval)

        def updated() -> Any:
            products = tensordot(grad, grad, [others, others])
            return self._averaged(slot, self._mat_gbar_decay, decay, weight * every * products)

        mean = cond(_is_due(step, every), updated, slot.read_value) / float(size)
        if not _is_rare(self._svd_interval):
            return self._root(mean, size, power)
        svd_interval = self._svd_interval
        every = svd_interval(step) if callable(svd_interval) else float(svd_interval)
        kept = self.get_slot(var, f"H_{i}")

        def renewed() -> Any:
            return convert_to_tensor(kept.assign(self._root(mean, size, power)))

        return cond(_is_due(step, every), renewed, kept.read_value)

    def _root(self, matrix: Any, size: int, power: Any) -> Any:
        if self._use_iterative_root:
            root = square_root(matrix, size, ridge_epsilon=self._epsilon)
            return inverse_pth_root(root, size, 2 * power, ridge_epsilon=0.0)
        if size == 1:
            return apply_one("Pow", matrix + self._epsilon, power)
        sigma, left, right = svd(matrix + self._epsilon * eye(size), full_matrices=True)
        powers = apply_one("Pow", apply_one("Maximum", sigma, self._epsilon), power)
        return matmul(right * powers, left, transpose_b=True)


def _is_due(step: Any, every: Any) -> Any:
    return apply_one("Less", apply_one("FloorMod", step, every), 1.0)


def _is_rare(interval: Any) -> bool:
    return callable(interval) or interval > 1


def _scattered(variable: Any, indices: Any, rows: Any) -> Any:
    """The variable's value after an addition to its rows."""
    if not is_resource(variable):
        return variable_ops.scatter_add(variable, indices, rows)
    with framework.control_dependencies([apply_op("ResourceScatterAdd", variable.handle, indices, rows)]):
        return variable.read_value()
