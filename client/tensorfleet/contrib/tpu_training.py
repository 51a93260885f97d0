"""What programs for TPUs train with, on CPUs and GPUs, where a model is one shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.losses.weighted import Reduction
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.state.variable_scope import VariableScope, variable_scope
from tensorfleet.train.optimizer import Optimizer


class CrossShardOptimizer(Optimizer):
    """An optimizer of gradients that are added up over the shards of a TPU; here there is one shard, so it
    does what `opt` does (`tf.contrib.tpu.CrossShardOptimizer`).

    Raises:
        ValueError: an unknown reduction.
    """

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """(gradient, variable) for each variable."""
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """The operation that changes the variables."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: Any, name: str) -> Any:
        """A slot of the optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        """The variables of the optimizer."""
        return self._opt.variables()


def _float32_variables(getter: Any, name: str, shape: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    if dtypes.as_dtype(dtype) is not dtypes.bfloat16:
        return getter(name, shape, dtype, *args, **kwargs)
    return cast(getter(name, shape, dtypes.float32, *args, **kwargs), dtypes.bfloat16)


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[VariableScope]:
    """A variable scope, by default the one that is there, in which bfloat16 variables are float32, and read
    as bfloat16 (`tf.contrib.tpu.bfloat16_scope`)."""
    with variable_scope(name or "", custom_getter=_float32_variables) as scope:
        yield scope
