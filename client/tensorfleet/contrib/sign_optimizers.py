"""Optimizers that compare the signs of gradient and momentum, arXiv:1709.07417, and LARS, arXiv:1708.03888
(`tf.contrib.opt`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg.linalg import norm
from tensorfleet.train.optimizer import Optimizer, as_type_of, number
from tensorfleet.train.optimizers import MomentumOptimizer, apply_rule, one_op

_SignDecay = Callable[[Any], Any]


@one_op
class _SignOptimizer(Optimizer):
    """What AddSign and PowerSign share: the momentum m, and a decay that depends on the global step."""

    _rule = ""

    def __init__(
        self,
        learning_rate: Any,
        factor: Any,
        beta: Any,
        sign_decay_fn: _SignDecay | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._factor, self._beta, self._sign_decay_fn = learning_rate, factor, beta, sign_decay_fn
        self._global_step: Any = None

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """As `Optimizer.apply_gradients`; the decay of the signs, if there is one, needs `global_step`.

        Raises:
            ValueError: there is a `sign_decay_fn`, and no `global_step`.
        """
        if self._sign_decay_fn is not None and global_step is None:
            raise ValueError(f"{type(self).__name__} with a sign_decay_fn needs a global_step.")
        self._global_step = global_step
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        self._lr_t = number(self._lr, "learning_rate")
        self._factor_t = number(self._factor, "alpha_t")
        self._beta_t = number(self._beta, "beta")
        decay = 1.0 if self._sign_decay_fn is None else self._sign_decay_fn(self._global_step)
        self._decay_t = convert_to_tensor(decay, name="sign_decay")

    def _update(self, grad: list[Any], var: Any) -> Any:
        if len(grad) > 1:  # a sparse gradient moves the momentum of all rows
            grad = [convert_to_tensor(IndexedSlices(grad[0], grad[1], apply_one("Shape", var.read_value())))]
        numbers = (self._lr_t, self._factor_t, self._decay_t, self._beta_t)
        return apply_rule(
            self, self._rule, [var, self.get_slot(var, "m")], *[as_type_of(n, var) for n in numbers], grad
        )


class AddSignOptimizer(_SignOptimizer):
    """w -= learning_rate · (alpha + decay · sign(g) · sign(m)) · g (`tf.contrib.opt.AddSignOptimizer`).

    Args:
        sign_decay_fn: the decay by the global step, as from `get_linear_decay_fn`; 1 by default.
    """

    _rule = "AddSign"

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: _SignDecay | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, alpha, beta, sign_decay_fn, use_locking, name)


class PowerSignOptimizer(_SignOptimizer):
    """w -= learning_rate · base^(decay · sign(g) · sign(m)) · g (`tf.contrib.opt.PowerSignOptimizer`).

    Args:
        sign_decay_fn: the decay by the global step, as from `get_linear_decay_fn`; 1 by default.
    """

    _rule = "PowerSign"

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: _SignDecay | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, math.log(base), beta, sign_decay_fn, use_locking, name)


def get_linear_decay_fn(decay_steps: int) -> _SignDecay:
    """A decay from 1 to 0 in `decay_steps` (`tf.contrib.opt.get_linear_decay_fn`).

    Raises:
        ValueError: `decay_steps` is no integer.
    """
    _check_steps(decay_steps)

    def decay(global_step: Any) -> Tensor:
        step = _step(global_step, decay_steps)
        return (decay_steps - step) / float(decay_steps)

    return decay


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> _SignDecay:
    """A decay that is 0.5 · (1 + cos(2π · num_periods · step / decay_steps))
    (`tf.contrib.opt.get_cosine_decay_fn`).

    Args:
        zero_after: the number of periods after which the decay is 0; by default never.

    Raises:
        ValueError: `decay_steps` is no integer.
    """
    _check_steps(decay_steps)

    def decay(global_step: Any) -> Tensor:
        done = _step(global_step, decay_steps) / float(decay_steps)
        value = 0.5 * (1.0 + apply_one("Cos", 2.0 * math.pi * num_periods * done))
        if zero_after is None:
            return value
        return where(done * num_periods >= zero_after, 0.0 * value, value)

    return decay


def get_restart_decay_fn(
    decay_steps: int, num_periods: int = 1, zero_after: float | None = None
) -> _SignDecay:
    """A decay by half a cosine, begun `num_periods` times (`tf.contrib.opt.get_restart_decay_fn`).

    Args:
        zero_after: the number of periods after which the decay is 0; by default never.

    Raises:
        ValueError: `decay_steps` is no integer.
    """
    _check_steps(decay_steps)

    def decay(global_step: Any) -> Tensor:
        periods = _step(global_step, decay_steps) * num_periods / float(decay_steps)
        part = periods - apply_one("Floor", periods)
        value = 0.5 * (1.0 + apply_one("Cos", math.pi * part))
        return value if zero_after is None else where(periods >= zero_after, 0.0 * value, value)

    return decay


def _check_steps(decay_steps: Any) -> None:
    if not isinstance(decay_steps, int):
        raise ValueError(f"decay_steps must be an integer, not {decay_steps!r}.")


def _step(global_step: Any, decay_steps: int) -> Tensor:
    """The step as a float32, at most `decay_steps`."""
    step = cast(convert_to_tensor(global_step), "float32")
    return apply_one("Minimum", step, float(decay_steps))


class LARSOptimizer(MomentumOptimizer):
    """Momentum with a learning rate for each variable, by the norms of variable and gradient
    (`tf.contrib.opt.LARSOptimizer`).

    The rate is learning_rate · eeta · |w| / (|g| + weight_decay · |w| + epsilon), for the gradient with
    that of the weight decay. A sparse gradient is applied with the plain rate, and without decay.

    Args:
        skip_list: texts; variables whose names contain one get the plain rate.

    Raises:
        ValueError: `momentum` or `weight_decay` is negative.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: list[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(learning_rate, momentum, False, name, use_nesterov)
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list = skip_list or []

    def compute_lr(self, grad: Any, var: Any) -> tuple[Tensor, Any]:
        """The learning rate for a variable and its dense gradient, a tensor of rank 0, and the gradient with
        that of the weight decay."""
        rate: Tensor = as_type_of(self._rate, var)
        if any(text in var.name for text in self._skip_list):
            return rate, grad
        value = var.read_value()
        w, g = norm(value), norm(grad)
        one = apply_one("OnesLike", w)
        trust = self._eeta * w / (g + self._weight_decay * w + self._epsilon)
        ratio: Tensor = rate * where(w > 0, where(g > 0, trust, one), one)
        return ratio, grad + self._weight_decay * value

    def _update(self, grad: list[Any], var: Any) -> Any:
        rate = as_type_of(self._rate, var)
        if len(grad) == 1:
            # The momentum is that of steps, not of gradients: the rate differs from step to step.
            scaled, full = self.compute_lr(grad[0], var)
            grad, rate = [full * scaled], apply_one("OnesLike", scaled)
        return apply_rule(
            self,
            "Momentum",
            [var, self.get_slot(var, "momentum")],
            rate,
            grad,
            as_type_of(self._momentum_tensor, var),
            use_nesterov=self._use_nesterov,
        )
