"""Gradient descent and the optimizers that scale gradients by sums of squares."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import initializer_classes as initializers, ops
from tensorfleet.keras.optimizer_kinds.base import Optimizer


class SGD(Optimizer):
    """Gradient descent, with momentum (`tf.keras.optimizers.SGD`)."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._has_momentum = bool(not isinstance(momentum, (int, float)) or momentum > 0)
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        if self._has_momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        rate = ops.cast(self._rate, var.dtype.base)
        if not self._has_momentum:
            return ops.apply_none("ResourceApplyGradientDescent", var.handle, rate, grad)
        return ops.apply_none(
            "ResourceApplyKerasMomentum",
            var.handle,
            self.get_slot(var, "momentum").handle,
            rate,
            grad,
            self._get_hyper("momentum", var.dtype.base),
            use_nesterov=self.nesterov,
        )

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        rate = ops.cast(self._rate, var.dtype.base)
        if not self._has_momentum:
            return self._scatter_add(var, indices, -rate * grad)
        return ops.apply_none(
            "ResourceSparseApplyKerasMomentum",
            var.handle,
            self.get_slot(var, "momentum").handle,
            rate,
            grad,
            indices,
            self._get_hyper("momentum", var.dtype.base),
            use_nesterov=self.nesterov,
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "learning_rate": self._serialize_hyperparameter("learning_rate"),
            "decay": self._serialize_hyperparameter("decay"),
            "momentum": self._serialize_hyperparameter("momentum"),
            "nesterov": self.nesterov,
        }


class Adagrad(Optimizer):
    """Gradients divided by the root of the sum of their squares (`tf.keras.optimizers.Adagrad`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon or 1e-7

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", initializers.Constant(self._initial_accumulator_value))

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ResourceApplyAdagradV2", var, grad)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply("ResourceSparseApplyAdagradV2", var, grad, indices)

    def _apply(self, op_type: str, var: Any, *gradient: Any) -> Any:
        dtype = var.dtype.base
        return ops.apply_none(
            op_type,
            var.handle,
            self.get_slot(var, "accumulator").handle,
            ops.cast(self._rate, dtype),
            ops.cast(self.epsilon, dtype),
            *gradient,
        )

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """An optimizer with the arguments of `get_config`. Sums that are not given start at 0, not at the
        constructor's 0.1, as Keras's first Adagrad had it; `compile("adagrad")` comes here."""
        return super().from_config({"initial_accumulator_value": 0.0, **config}, custom_objects)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "learning_rate": self._serialize_hyperparameter("learning_rate"),
            "decay": self._serialize_hyperparameter("decay"),
            "initial_accumulator_value": self._initial_accumulator_value,
            "epsilon": self.epsilon,
        }


class Adadelta(Optimizer):
    """Gradients scaled by running means of their squares and those of the updates
    (`tf.keras.optimizers.Adadelta`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or 1e-7

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accum_grad")
        for var in var_list:
            self.add_slot(var, "accum_var")

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ResourceApplyAdadelta", var, grad)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply("ResourceSparseApplyAdadelta", var, grad, indices)

    def _apply(self, op_type: str, var: Any, *gradient: Any) -> Any:
        dtype = var.dtype.base
        return ops.apply_none(
            op_type,
            var.handle,
            self.get_slot(var, "accum_grad").handle,
            self.get_slot(var, "accum_var").handle,
            ops.cast(self._rate, dtype),
            self._get_hyper("rho", dtype),
            ops.cast(self.epsilon, dtype),
            *gradient,
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "learning_rate": self._serialize_hyperparameter("learning_rate"),
            "decay": self._serialize_hyperparameter("decay"),
            "rho": self._serialize_hyperparameter("rho"),
            "epsilon": self.epsilon,
        }


class RMSprop(Optimizer):
    """Gradients divided by the root of the running mean of their squares
    (`tf.keras.optimizers.RMSprop`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._has_momentum = bool(not isinstance(momentum, (int, float)) or momentum > 0)
        self._set_hyper("momentum", momentum)
        self.epsilon, self.centered = epsilon or 1e-7, centered

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "rms")
        for name in ["momentum"] * self._has_momentum + ["mg"] * self.centered:
            for var in var_list:
                self.add_slot(var, name)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply(var, grad, None)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply(var, grad, indices)

    def _apply(self, var: Any, grad: Any, indices: Any) -> Any:
        dtype = var.dtype.base
        rate, rho = ops.cast(self._rate, dtype), self._get_hyper("rho", dtype)
        rms = self.get_slot(var, "rms")
        if self._has_momentum:
            slots = [rms.handle, self.get_slot(var, "momentum").handle]
            if self.centered:
                slots.insert(0, self.get_slot(var, "mg").handle)
            kind = f"{'' if indices is None else 'Sparse'}Apply{'Centered' if self.centered else ''}RMSProp"
            momentum, small = self._get_hyper("momentum", dtype), ops.cast(self.epsilon, dtype)
            gradient = [grad] if indices is None else [grad, indices]
            return ops.apply_none(
                f"Resource{kind}", var.handle, *slots, rate, rho, momentum, small, *gradient
            )
        squares, changed = self._moved(rms, grad * grad, rho, indices)
        updates = [changed]
        if self.centered:
            means, also = self._moved(self.get_slot(var, "mg"), grad, rho, indices)
            squares, updates = squares - means * means, [*updates, also]
        step = rate * grad / (ops.sqrt(squares) + ops.cast(self.epsilon, dtype))
        if indices is None:
            updates.append(ops.assign_sub(var, step).op)
        else:
            updates.append(self._scatter_add(var, indices, -step))
        return ops.group(*updates)

    def _moved(self, slot: Any, value: Any, rho: Any, indices: Any) -> tuple[Any, Any]:
        """The rows of a running mean after this step, and the operation that changes it."""
        if indices is None:
            new = rho * slot.read_value() + (1.0 - rho) * value
            changed = ops.assign(slot, new).op
            return new, changed
        shrunk = ops.assign(slot, slot.read_value() * rho).op
        with ops.control_dependencies([shrunk]):
            changed = self._scatter_add(slot, indices, (1.0 - rho) * value)
        with ops.control_dependencies([changed]):
            return ops.gather(slot.read_value(), indices), changed

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "learning_rate": self._serialize_hyperparameter("learning_rate"),
            "decay": self._serialize_hyperparameter("decay"),
            "rho": self._serialize_hyperparameter("rho"),
            "momentum": self._serialize_hyperparameter("momentum"),
            "epsilon": self.epsilon,
            "centered": self.centered,
        }


class Ftrl(Optimizer):
    """Follow the regularized leader, with l1 and l2 (`tf.keras.optimizers.Ftrl`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._shrinkage = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", initializers.Constant(self._initial_accumulator_value))
            self.add_slot(var, "linear")

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        return self._apply("ResourceApplyFtrl", var, grad)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply("ResourceSparseApplyFtrl", var, grad, indices)

    def _apply(self, op_type: str, var: Any, *gradient: Any) -> Any:
        dtype = var.dtype.base
        l1, l2, power = (
            self._get_hyper(name, dtype)
            for name in ("l1_regularization_strength", "l2_regularization_strength", "learning_rate_power")
        )
        given = [*gradient, ops.cast(self._rate, dtype), l1, l2]
        if self._shrinkage > 0:
            given.append(ops.cast(self._shrinkage, dtype))
        return ops.apply_none(
            f"{op_type}{'V2' if self._shrinkage > 0 else ''}",
            var.handle,
            self.get_slot(var, "accumulator").handle,
            self.get_slot(var, "linear").handle,
            *given,
            power,
        )

    def get_config(self) -> dict[str, Any]:
        hypers = ("learning_rate", "decay", "learning_rate_power", "l1_regularization_strength")
        return {
            **super().get_config(),
            **{name: self._serialize_hyperparameter(name) for name in hypers},
            "l2_regularization_strength": self._serialize_hyperparameter("l2_regularization_strength"),
            "initial_accumulator_value": self._initial_accumulator_value,
            "l2_shrinkage_regularization_strength": self._shrinkage,
        }
