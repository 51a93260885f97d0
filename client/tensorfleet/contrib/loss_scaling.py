"""`tf.contrib.mixed_precision`: losses scaled so that gradients of float16 do not vanish."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.comparison import logical_or
from tensorfleet.ops.math.elementwise import is_finite
from tensorfleet.ops.math.reduction import reduce_all
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.optimizer import Optimizer


class LossScaleManager:
    """The base class of what knows the scale of losses (`tf.contrib.mixed_precision.LossScaleManager`)."""

    def get_loss_scale(self) -> Any:
        """The scale, a float32 of rank 0; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement get_loss_scale.")

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """The operation that changes the scale after a step, whose gradients are finite or not."""
        raise NotImplementedError(f"{type(self).__name__} does not implement update_loss_scale.")


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays (`tf.contrib.mixed_precision.FixedLossScaleManager`). Raises ValueError if it is
    less than 1."""

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._scale = convert_to_tensor(loss_scale, dtype=dtypes.float32)

    def get_loss_scale(self) -> Any:
        """The scale."""
        return self._scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """An operation that does nothing."""
        return no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A scale that grows after so many good steps and shrinks after bad ones
    (`tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager`).

    Args:
        init_loss_scale: the first scale.
        incr_every_n_steps: the number of steps with finite gradients after which the scale grows.
        decr_every_n_nan_or_inf: the number of others after which it shrinks, to 1 at least.
        incr_ratio, decr_ratio: the factors.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._every = incr_every_n_steps, decr_every_n_nan_or_inf
        self._ratios = incr_ratio, decr_ratio
        given: dict[str, Any] = {"trainable": False, "use_resource": True}
        self._scale = Variable(float(init_loss_scale), name="loss_scale", dtype=dtypes.float32, **given)
        self._good = Variable(0, name="good_steps", dtype=dtypes.int32, **given)
        self._bad = Variable(0, name="bad_steps", dtype=dtypes.int32, **given)

    def get_loss_scale(self) -> Any:
        """The scale."""
        return self._scale.value()

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """The operation that counts the step and changes the scale."""
        scale, good, bad = self._scale.read_value(), self._good.read_value(), self._bad.read_value()
        finite = convert_to_tensor(finite_grads)
        good = where_v2(finite, good + 1, zeros_like(good))
        # A good step does not forget bad ones, until the scale grows.
        bad = where_v2(finite, bad, bad + 1)
        grows, shrinks = good >= self._every[0], bad >= self._every[1]
        larger = scale * self._ratios[0]
        larger = where_v2(is_finite(larger), larger, scale)
        smaller = maximum(scale * self._ratios[1], 1.0)
        scale = where_v2(grows, larger, where_v2(shrinks, smaller, scale))
        reset = logical_or(grows, shrinks)
        return group(
            self._scale.assign(scale, read_value=False),
            self._good.assign(where_v2(reset, zeros_like(good), good), read_value=False),
            self._bad.assign(where_v2(reset, zeros_like(bad), bad), read_value=False),
        )


class LossScaleOptimizer(Optimizer):
    """Scales the loss, and applies gradients that are finite
    (`tf.contrib.mixed_precision.LossScaleOptimizer`).

    Args:
        opt: the optimizer.
        loss_scale_manager: a LossScaleManager.
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(False, "LossScaleOptimizer")
        self._opt, self._manager = opt, loss_scale_manager

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The gradients of the loss, computed of the scaled one."""
        loss = loss() if callable(loss) else loss
        scale = self._manager.get_loss_scale()
        pairs = self._opt.compute_gradients(loss * cast(scale, loss.dtype), var_list, *args, **kwargs)

        def smaller(gradient: Any) -> Any:
            if gradient is None:
                return None
            if isinstance(gradient, IndexedSlices):
                values = gradient.values / cast(scale, gradient.values.dtype)
                return IndexedSlices(values, gradient.indices, gradient.dense_shape)
            return gradient / cast(scale, gradient.dtype)

        return [(smaller(gradient), variable) for gradient, variable in pairs]

    def apply_gradients(  # type: ignore[override]
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The operation that applies the gradients if all are finite, and updates the scale."""
        pairs = list(grads_and_vars)
        values = [g.values if isinstance(g, IndexedSlices) else g for g, _ in pairs if g is not None]
        finite = reduce_all([reduce_all(is_finite(value)) for value in values])

        def apply() -> Any:
            return self._opt.apply_gradients(pairs, global_step, name)

        applied = cond(finite, lambda: group(apply()), no_op)
        return group(applied, self._manager.update_loss_scale(finite))

    def get_slot(self, var: Any, name: str) -> Any:
        """The optimizer's slot."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        """The optimizer's variables."""
        return self._opt.variables()
