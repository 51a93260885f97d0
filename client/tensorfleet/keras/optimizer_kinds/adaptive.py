"""Adam and its relatives."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.keras import ops
from tensorfleet.keras.optimizer_kinds.base import Optimizer


class _Moments(Optimizer):
    """What optimizers by the first two moments of gradients share."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or 1e-7

    def _create_slots(self, var_list: list[Any]) -> None:
        for name in ("m", "v"):
            for var in var_list:
                self.add_slot(var, name)

    def _prepare(self, var_list: list[Any]) -> None:
        super()._prepare(var_list)
        step = ops.cast(self.iterations, dtypes.float32) + 1.0
        self._powers = [ops.pow(self._get_hyper(name, dtypes.float32), step) for name in ("beta_1", "beta_2")]

    def _betas(self, dtype: Any) -> tuple[Any, Any]:
        return self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype)

    def _moved(self, slot: Any, value: Any, beta: Any, indices: Any) -> Any:
        """A running mean after the gradient of some rows, as a tensor."""
        shrunk = ops.assign(slot, slot.read_value() * beta).op
        with ops.control_dependencies([shrunk]):
            changed = self._scatter_add(slot, indices, value * (1.0 - beta))
        with ops.control_dependencies([changed]):
            return slot.read_value()

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "learning_rate": self._serialize_hyperparameter("learning_rate"),
            "decay": self._serialize_hyperparameter("decay"),
            "beta_1": self._serialize_hyperparameter("beta_1"),
            "beta_2": self._serialize_hyperparameter("beta_2"),
            "epsilon": self.epsilon,
        }


class Adam(_Moments):
    """Adaptive moments (`tf.keras.optimizers.Adam`; Kingma and Ba, arXiv:1412.6980)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: list[Any]) -> None:
        super()._create_slots(var_list)
        if self.amsgrad:
            for var in var_list:
                self.add_slot(var, "vhat")

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        dtype = var.dtype.base
        slots = [self.get_slot(var, name).handle for name in ("m", "v", *(["vhat"] if self.amsgrad else []))]
        return ops.apply_none(
            "ResourceApplyAdamWithAmsgrad" if self.amsgrad else "ResourceApplyAdam",
            var.handle,
            *slots,
            *(ops.cast(power, dtype) for power in self._powers),
            ops.cast(self._rate, dtype),
            *self._betas(dtype),
            ops.cast(self.epsilon, dtype),
            grad,
        )

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        dtype = var.dtype.base
        beta_1, beta_2 = self._betas(dtype)
        power_1, power_2 = (ops.cast(power, dtype) for power in self._powers)
        rate = ops.cast(self._rate, dtype) * ops.sqrt(1.0 - power_2) / (1.0 - power_1)
        m = self._moved(self.get_slot(var, "m"), grad, beta_1, indices)
        v = self._moved(self.get_slot(var, "v"), grad * grad, beta_2, indices)
        updates = []
        if self.amsgrad:
            vhat = self.get_slot(var, "vhat")
            v = ops.maximum(vhat.read_value(), v)
            updates.append(ops.assign(vhat, v).op)
        step = rate * m / (ops.sqrt(v) + ops.cast(self.epsilon, dtype))
        return ops.group(ops.assign_sub(var, step).op, *updates)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "amsgrad": self.amsgrad}


class Adamax(_Moments):
    """Adam by the infinity norm (`tf.keras.optimizers.Adamax`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        dtype = var.dtype.base
        return ops.apply_none(
            "ResourceApplyAdaMax",
            var.handle,
            self.get_slot(var, "m").handle,
            self.get_slot(var, "v").handle,
            ops.cast(self._powers[0], dtype),
            ops.cast(self._rate, dtype),
            *self._betas(dtype),
            ops.cast(self.epsilon, dtype),
            grad,
        )

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        dtype = var.dtype.base
        beta_1, beta_2 = self._betas(dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = ops.gather(m.read_value(), indices)
        v_rows = ops.gather(v.read_value(), indices)
        new_m = beta_1 * m_rows + (1.0 - beta_1) * grad
        new_v = ops.maximum(beta_2 * v_rows, ops.abs(grad))
        rate = -ops.cast(self._rate, dtype) / (1.0 - ops.cast(self._powers[0], dtype))
        step = rate * new_m / (new_v + ops.cast(self.epsilon, dtype))
        return ops.group(
            self._scatter_add(m, indices, new_m - m_rows),
            self._scatter_add(v, indices, new_v - v_rows),
            self._scatter_add(var, indices, step),
        )


class Nadam(_Moments):
    """Adam with Nesterov's momentum (`tf.keras.optimizers.Nadam`)."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", kwargs.get("decay", 0.004))
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name, **kwargs)
        self._schedule = self._initial_decay
        # The decay is that of the momentum, not of the learning rate.
        self._initial_decay = 0.0
        self._product: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        if self._product is None:
            self._product = self.add_weight("momentum_cache", (), initializer="ones")
        super()._create_slots(var_list)

    def _prepare(self, var_list: list[Any]) -> None:
        super()._prepare(var_list)
        step = ops.cast(self.iterations, dtypes.float32) + 1.0
        beta_1 = self._get_hyper("beta_1", dtypes.float32)

        def momentum(at: Any) -> Any:
            return beta_1 * (1.0 - 0.5 * ops.pow(ops.constant(0.96), self._schedule * at))

        self._momentum, self._next = momentum(step), momentum(step + 1.0)
        before = self._product.read_value()
        self._so_far = before * self._momentum
        with ops.control_dependencies([before]):
            self._kept = ops.assign(self._product, self._so_far).op

    def _terms(self, dtype: Any) -> Any:
        values = (self._momentum, self._next, self._so_far, self._so_far * self._next, self._powers[1])
        return [ops.cast(value, dtype) for value in values]

    def _step(self, grad: Any, m: Any, v: Any, dtype: Any) -> Any:
        momentum, following, so_far, next_product, power_2 = self._terms(dtype)
        mean = (1.0 - momentum) * grad / (1.0 - so_far) + following * m / (1.0 - next_product)
        scale = ops.sqrt(v / (1.0 - power_2)) + ops.cast(self.epsilon, dtype)
        return ops.cast(self._rate, dtype) * mean / scale

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        dtype = var.dtype.base
        beta_1, beta_2 = self._betas(dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = beta_1 * m.read_value() + (1.0 - beta_1) * grad
        new_v = beta_2 * v.read_value() + (1.0 - beta_2) * grad * grad
        step = self._step(grad, new_m, new_v, dtype)
        changed = [ops.assign(m, new_m).op, ops.assign(v, new_v).op, ops.assign_sub(var, step).op]
        return ops.group(*changed, self._kept)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        dtype = var.dtype.base
        beta_1, beta_2 = self._betas(dtype)
        m = self._moved(self.get_slot(var, "m"), grad, beta_1, indices)
        v = self._moved(self.get_slot(var, "v"), grad * grad, beta_2, indices)
        step = self._step(grad, ops.gather(m, indices), ops.gather(v, indices), dtype)
        return ops.group(self._scatter_add(var, indices, -step), self._kept)

    def get_config(self) -> dict[str, Any]:
        # TensorFlow 1 keeps the decay of the momentum under this name.
        return {**super().get_config(), "decay": self._schedule}
