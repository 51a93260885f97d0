"""Optimizers whose update is one op: gradient descent, momentum, Adagrad, Adadelta, RMSProp

Each makes the slots that it needs, and calls `apply_rule` with the op's arguments in order. The variable and
the gradient determine the form of the op: for references or handles, dense or sparse.
"""

from __future__ import annotations

from typing import Any, TypeVar

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.initializers import constant_initializer, ones_initializer
from tensorfleet.train.optimizer import Optimizer, as_type_of, number
from tensorfleet.train.slot_creator import is_resource

Class = TypeVar("Class", bound=type[Optimizer])


def one_op(cls: Class) -> Class:
    """A decorator of optimizers whose `_update(grad, var)` is one op for dense and sparse gradients alike.

    `grad` is [gradient] or [rows, indices]. A method that the class defines itself is kept. This is no base
    class: libraries find TensorFlow's own optimizers by `cls.__base__ is tf.train.Optimizer`.
    """
    for method in (_apply_dense, _resource_apply_dense, _apply_sparse, _resource_apply_sparse):
        if method.__name__ not in vars(cls):
            setattr(cls, method.__name__, method)
    return cls


def apply_rule(optimizer: Optimizer, rule: str, variables: list[Any], *arguments: Any, **attrs: Any) -> Any:
    """The op `…Apply<rule>` on variables; an argument that is a list is several inputs."""
    inputs = [item for a in arguments for item in (a if isinstance(a, list) else [a])]
    is_sparse = any(isinstance(a, list) and len(a) > 1 for a in arguments)
    handles = [v.handle if is_resource(v) else v._ref() for v in variables]
    prefix = "Resource" * is_resource(variables[0]) + "Sparse" * is_sparse
    attrs["use_locking"] = optimizer._use_locking
    updated = apply_op(f"{prefix}Apply{rule}", *handles, *inputs, **attrs)
    return updated.op if isinstance(updated, Tensor) else updated


def _apply_dense(self: Any, grad: Tensor, var: Any) -> Any:
    return self._update([grad], var)


def _resource_apply_dense(self: Any, grad: Tensor, var: Any) -> Any:
    return self._update([grad], var)


def _apply_sparse(self: Any, grad: IndexedSlices, var: Any) -> Any:
    return self._update([grad.values, grad.indices], var)


def _resource_apply_sparse(self: Any, grad: Tensor, var: Any, indices: Tensor) -> Any:
    return self._update([grad, indices], var)


@one_op
class GradientDescentOptimizer(Optimizer):
    """w -= learning_rate · g (`tf.train.GradientDescentOptimizer`).

    Example:
        >>> v = tf.Variable(3.0)
        >>> step = tf.train.GradientDescentOptimizer(0.5).minimize(v * v)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(step)
        ...     session.run(v).round(2)
        np.float32(0.0)
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = number(self._learning_rate, "learning_rate")

    def _update(self, grad: list[Any], var: Any) -> Any:
        return apply_rule(self, "GradientDescent", [var], as_type_of(self._rate, var), *grad)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        step = -grad * as_type_of(self._rate, var)
        return apply_op("ResourceScatterAdd", var.handle, indices, step)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        step = apply_one("Mul", grad.values, as_type_of(self._rate, var), name="mul")
        return variable_ops.scatter_sub(var, grad.indices, step, use_locking=self._use_locking).op


@one_op
class MomentumOptimizer(Optimizer):
    """a = momentum · a + g; w -= learning_rate · a (`tf.train.MomentumOptimizer`).

    Args:
        use_nesterov: w -= learning_rate · (g + momentum · a) instead.

    Example:
        >>> v = tf.Variable(3.0)
        >>> step = tf.train.MomentumOptimizer(0.5, momentum=0.9).minimize(v * v)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(step)
        ...     session.run(v).round(2)
        np.float32(0.0)
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._rate = number(self._learning_rate, "learning_rate")
        self._momentum_tensor = number(self._momentum, "momentum")

    def _update(self, grad: list[Any], var: Any) -> Any:
        return apply_rule(
            self,
            "Momentum",
            [var, self.get_slot(var, "momentum")],
            as_type_of(self._rate, var),
            grad,
            as_type_of(self._momentum_tensor, var),
            use_nesterov=self._use_nesterov,
        )


@one_op
class AdagradOptimizer(Optimizer):
    """a += g²; w -= learning_rate · g / sqrt(a) (`tf.train.AdagradOptimizer`).

    Raises:
        ValueError: `initial_accumulator_value` is not positive.

    Example:
        >>> v = tf.Variable(3.0)
        >>> step = tf.train.AdagradOptimizer(0.5).minimize(v * v)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(step)
        ...     session.run(v).round(2)
        np.float32(2.5)
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            dtype, shape = var.dtype.base, var.get_shape()
            if shape.is_fully_defined():
                initial: Any = constant_initializer(self._initial_accumulator_value, dtype=dtype)
            else:
                initial = self._filled(var)
            self._get_or_make_slot_with_initializer(var, initial, shape, dtype, "accumulator", self._name)

    def _filled(self, var: Any) -> Any:
        def initial() -> Tensor:
            value = constant(self._initial_accumulator_value, dtype=var.dtype.base)
            return apply_one("Fill", apply_one("Shape", var), value)

        return initial

    def _prepare(self) -> None:
        self._rate = number(self._learning_rate, "learning_rate")

    def _update(self, grad: list[Any], var: Any) -> Any:
        slot = self.get_slot(var, "accumulator")
        return apply_rule(self, "Adagrad", [var, slot], as_type_of(self._rate, var), grad)


@one_op
class AdadeltaOptimizer(Optimizer):
    """Zeiler's Adadelta, arXiv:1212.5701 (`tf.train.AdadeltaOptimizer`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._numbers = [
            number(self._lr, "lr"),
            number(self._rho, "rho"),
            number(self._epsilon, "epsilon"),
        ]

    def _update(self, grad: list[Any], var: Any) -> Any:
        slots = [self.get_slot(var, name) for name in ("accum", "accum_update")]
        return apply_rule(self, "Adadelta", [var, *slots], *[as_type_of(n, var) for n in self._numbers], grad)


@one_op
class RMSPropOptimizer(Optimizer):
    """w -= momentum · step + learning_rate · g / sqrt(mean of g² + epsilon) (`tf.train.RMSPropOptimizer`).

    Args:
        decay: the fraction of the running means that each step keeps.
        centered: divide by the root of the gradient's variance instead of its mean square.

    Example:
        >>> v = tf.Variable(3.0)
        >>> step = tf.train.RMSPropOptimizer(0.5).minimize(v * v)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(step)
        ...     session.run(v).round(2)
        np.float32(1.59)
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            dtype = var.dtype.base
            ones = ones_initializer(dtype=dtype)
            self._get_or_make_slot_with_initializer(var, ones, var.get_shape(), dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._numbers = [
            number(self._learning_rate, "learning_rate"),
            number(self._decay, "decay"),
            number(self._momentum, "momentum"),
            number(self._epsilon, "epsilon"),
        ]

    def _update(self, grad: list[Any], var: Any) -> Any:
        names = ["mg", "rms", "momentum"] if self._centered else ["rms", "momentum"]
        return apply_rule(
            self,
            "CenteredRMSProp" if self._centered else "RMSProp",
            [var, *[self.get_slot(var, name) for name in names]],
            *[as_type_of(n, var) for n in self._numbers],
            grad,
        )
