"""Adagrad for losses with regularization (`tf.contrib.opt.RegAdagradOptimizer`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorfleet.train.optimizer import as_type_of
from tensorfleet.train.optimizers import AdagradOptimizer, apply_rule


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad whose accumulators some updates can leave alone (`tf.contrib.opt.RegAdagradOptimizer`).

    Regularization has gradients in every step, which would make the learning rate of rare features as small
    as that of frequent ones. Updates that are built within `avoid_updating_slots` use the accumulators
    without adding to them.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._should_update_slots = True

    @contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Updates that are built here leave the accumulators as they are."""
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _update(self, grad: list[Any], var: Any) -> Any:
        variables = [var, self.get_slot(var, "accumulator")]
        rate = as_type_of(self._rate, var)
        return apply_rule(self, "Adagrad", variables, rate, grad, update_slots=self._should_update_slots)
