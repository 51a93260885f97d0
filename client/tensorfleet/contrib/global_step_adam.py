"""Adam without variables for the powers of beta, which are those of the global step (`tf.contrib.opt`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.adam_variants import LazyAdamOptimizer
from tensorfleet.core import dtypes
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.train.adam import AdamOptimizer


class AdamGSOptimizer(AdamOptimizer):
    """Adam whose step number is the global step's (`tf.contrib.opt.AdamGSOptimizer`).

    A ps then holds no powers of beta, which every worker would change in every step.

    Args:
        global_step: the number of steps done, a variable, tensor or number; the one that `apply_gradients`
            increases.
        learning_rate, beta1, beta2, epsilon: as of `tf.train.AdamOptimizer`.
    """

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        # Read once, where the updates are built: on a worker, not beside each variable.
        step = cast(identity(self._global_step) + 1, dtypes.float32)
        self._powers = apply_one("Pow", self._beta1_t, step), apply_one("Pow", self._beta2_t, step)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return self._powers

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        return group(*update_ops, name=name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, LazyAdamOptimizer):
    """`AdamGSOptimizer` that changes only the rows of a sparse gradient
    (`tf.contrib.opt.LazyAdamGSOptimizer`)."""
