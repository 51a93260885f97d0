"""Optimizers with L1 and L2 regularization: FTRL, proximal gradient descent and Adagrad, AdagradDA."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.train.optimizer import Optimizer, as_type_of, number
from tensorfleet.train.optimizers import apply_rule, one_op


@one_op
class FtrlOptimizer(Optimizer):
    """FTRL-Proximal of McMahan et al., "Ad Click Prediction", 2013 (`tf.train.FtrlOptimizer`).

    Raises:
        ValueError: a negative accumulator or regularization, or a positive learning rate power.
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        for text, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{text} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1 = l1_regularization_strength
        self._l2 = l2_regularization_strength
        self._l2_shrinkage = l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            with framework.colocate_with(var.op):
                value = constant(self._initial_accumulator_value, dtype=var.dtype.base, shape=var.get_shape())
                self._get_or_make_slot(var, value, "accum", self._accum_name or self._name)
                self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._rate = number(self._learning_rate, "learning_rate")
        self._l1_tensor = number(self._l1, "l1_regularization_strength")
        # The op has no beta, which acts as an additional L2 regularization of beta / (2 · learning_rate).
        rate = self._learning_rate() if callable(self._learning_rate) else self._learning_rate
        self._l2_tensor = self._l2 + self._beta / (2.0 * apply_one("Maximum", rate, 1e-36))
        number(self._beta, "beta")
        self._l2_shrinkage_tensor = number(self._l2_shrinkage, "l2_shrinkage_regularization_strength")
        self._power = number(self._learning_rate_power, "learning_rate_power")

    def _update(self, grad: list[Any], var: Any) -> Any:
        numbers = [self._rate, self._l1_tensor, self._l2_tensor]
        if self._l2_shrinkage > 0.0:
            numbers.append(self._l2_shrinkage_tensor)
        return apply_rule(
            self,
            "FtrlV2" if self._l2_shrinkage > 0.0 else "Ftrl",
            [var, self.get_slot(var, "accum"), self.get_slot(var, "linear")],
            grad,
            *[as_type_of(n, var) for n in (*numbers, self._power)],
        )


@one_op
class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with L1 and L2 proximal steps (`tf.train.ProximalGradientDescentOptimizer`)."""

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _prepare(self) -> None:
        self._numbers = _proximal_numbers(self._learning_rate, self._l1, self._l2)

    def _update(self, grad: list[Any], var: Any) -> Any:
        numbers = [as_type_of(n, var) for n in self._numbers]
        return apply_rule(self, "ProximalGradientDescent", [var], *numbers, grad)


@one_op
class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with L1 and L2 proximal steps (`tf.train.ProximalAdagradOptimizer`).

    Raises:
        ValueError: `initial_accumulator_value` is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            with framework.colocate_with(var.op):
                value = constant(self._initial_accumulator_value, shape=var.get_shape(), dtype=var.dtype.base)
            self._get_or_make_slot(var, value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._numbers = _proximal_numbers(self._learning_rate, self._l1, self._l2)

    def _update(self, grad: list[Any], var: Any) -> Any:
        numbers = [as_type_of(n, var) for n in self._numbers]
        return apply_rule(self, "ProximalAdagrad", [var, self.get_slot(var, "accumulator")], *numbers, grad)


def _proximal_numbers(learning_rate: Any, l1: Any, l2: Any) -> list[Any]:
    return [
        number(learning_rate, "learning_rate"),
        number(l1, "l1_regularization_strength"),
        number(l2, "l2_regularization_strength"),
    ]


@one_op
class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging, for sparse linear models (`tf.train.AdagradDAOptimizer`).

    Args:
        global_step: the number of the step, starting from 0.

    Raises:
        ValueError: `initial_gradient_squared_accumulator_value` is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_squares = initial_gradient_squared_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            dtype, shape = var.dtype.base, var.get_shape()
            with framework.colocate_with(var.op):
                zeros = constant(0.0, shape=shape, dtype=dtype)
                squares = constant(self._initial_squares, shape=shape, dtype=dtype)
            self._get_or_make_slot(var, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(var, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._rate = number(self._learning_rate, "learning_rate")
        # The step is placed with the learning rate, as they are used together.
        with framework.colocate_with(self._rate.op):
            self._step = apply_one("Identity", convert_to_tensor(self._global_step)) + 1

    def _update(self, grad: list[Any], var: Any) -> Any:
        return apply_rule(
            self,
            "AdagradDA",
            [
                var,
                self.get_slot(var, "gradient_accumulator"),
                self.get_slot(var, "gradient_squared_accumulator"),
            ],
            grad,
            as_type_of(self._rate, var),
            constant(self._l1, var.dtype.base),
            constant(self._l2, var.dtype.base),
            cast(self._step, "int64"),
        )
