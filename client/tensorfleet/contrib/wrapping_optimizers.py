"""Optimizers around other optimizers (`tf.contrib.opt`): averages, clipped variables, tasks without a
gradient, stale gradients."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from tensorfleet.core import logging
from tensorfleet.graph import framework
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.io.summary import scalar
from tensorfleet.ops.math.clip import clip_by_global_norm, clip_by_norm, global_norm
from tensorfleet.ops.math.reduction import count_nonzero
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_collections import global_variables
from tensorfleet.train.moving_averages import ExponentialMovingAverage
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.saver import Saver
from tensorfleet.train.step_count import get_global_step


class _Wrapper(Optimizer):
    """An optimizer that leaves gradients and slots to another one."""

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The gradients, as the optimizer inside computes them."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of the optimizer inside, or None."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the slots of the optimizer inside."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        """The variables of the optimizer inside."""
        return self._opt.variables()


class MovingAverageOptimizer(_Wrapper):
    """Keeps moving averages of the variables that another optimizer trains
    (`tf.contrib.opt.MovingAverageOptimizer`). `swapping_saver` saves the averages in place of the variables.

    Args:
        opt: the optimizer.
        average_decay, num_updates: as in `tf.train.ExponentialMovingAverage`.
        sequential_update: average after the variables have changed, not at the same time.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(opt, False, "MovingAverage")
        self._averages = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, Any] | None = None
        self._sequential_update = sequential_update

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """The operation that updates the variables, then their averages."""
        pairs = list(grads_and_vars)
        train_op = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
        trained = [var for grad, var in pairs if grad is not None]
        with framework.control_dependencies([train_op]) if self._sequential_update else nullcontext():
            averaging = self._averages.apply(trained)
        self._swapped = {}
        for var in trained:
            average = self._averages.average(var)
            self._swapped[var.op.name] = average
            self._swapped[average.op.name] = var
        return group(train_op, averaging, name="train_with_avg")

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A saver that writes the averages under the names of the variables, and the other way around.

        Args:
            var_list: a list of variables, or a dict by names; by default all variables.

        Raises:
            RuntimeError: before `apply_gradients` or `minimize`.
        """
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        listed = global_variables() if var_list is None else var_list
        by_name = listed if isinstance(listed, dict) else {var.op.name: var for var in listed}
        swapped = {key: self._swapped.get(var.op.name, var) for key, var in by_name.items()}
        return Saver(swapped, name=name, **kwargs)


class VariableClippingOptimizer(_Wrapper):
    """Limits norms of variables after another optimizer has changed them
    (`tf.contrib.opt.VariableClippingOptimizer`).

    Args:
        vars_to_clip_dims: by variable the dimensions along which the L2 norm is computed.
        max_norm: the largest norm.
        colocate_clip_ops_with_vars: compute beside the variables.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Any,
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._dims = {id(var): list(dims) for var, dims in vars_to_clip_dims.items()}
        self._max_norm = max_norm
        self._colocate = colocate_clip_ops_with_vars

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """The operation that updates the variables, and then clips them."""
        pairs = list(grads_and_vars)
        with framework.name_scope(name, self._name) as scope:
            update = self._opt.apply_gradients(pairs, global_step=global_step)
            clips = []
            with framework.control_dependencies([update]):
                for grad, var in pairs:
                    if grad is not None and id(var) in self._dims:
                        with framework.name_scope("clip_" + var.op.name):
                            clips.append(self._clipped(grad, var))
            return group(update, *clips, name=scope)

    def _clipped(self, grad: Any, var: Any) -> Any:
        dims = self._dims[id(var)]
        if isinstance(grad, IndexedSlices) and 0 not in dims:
            with framework.colocate_with(var.op):
                rows = gather(var.read_value(), grad.indices)
            delta = IndexedSlices(self._excess(var, rows, dims), grad.indices, grad.dense_shape)
            with framework.colocate_with(var.op):
                return var.scatter_sub(delta, use_locking=self._use_locking)
        if isinstance(grad, IndexedSlices):
            logging.warning(
                "Clipping norm across dims %s for %s is inefficient when including sparse dimension 0.",
                *(dims, var.op.name),
            )
        delta = self._excess(var, var.read_value(), dims)
        with framework.colocate_with(var.op):
            return var.assign_sub(delta, use_locking=self._use_locking)

    def _excess(self, var: Any, value: Tensor, dims: list[int]) -> Any:
        with framework.colocate_with(var.op) if self._colocate else nullcontext():
            return value - clip_by_norm(value, self._max_norm, dims)


class DropStaleGradientOptimizer(_Wrapper):
    """Drops gradients that were computed from variables of too many steps ago
    (`tf.contrib.opt.DropStaleGradientOptimizer`).

    Args:
        staleness: the largest number of steps that others may have made meanwhile.
    """

    def __init__(
        self, opt: Optimizer, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient"
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._staleness = staleness

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """The gradients; the global step is read before the loss is."""
        with framework.colocate_with(loss.op):
            self._local_step = get_global_step().read_value() + 0
        with framework.control_dependencies([self._local_step]):
            return self._opt.compute_gradients(identity(loss), *args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Updates the variables, or counts the gradients as stale; gives the number of stale ones so far."""
        pairs = list(grads_and_vars)
        with framework.colocate_with(global_step.op):
            stale = get_variable("stale_counter", [], initializer=zeros_initializer(), trainable=False)

        def accept() -> Any:
            update = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
            with framework.control_dependencies([update]):
                return identity(0.0)

        ready = [getattr(grad, "values", grad).op for grad, _ in pairs if grad is not None]
        with framework.control_dependencies(ready), framework.colocate_with(global_step.op):
            age = reshape(global_step.read_value() - self._local_step, ())
        dropped = cond(age <= self._staleness, accept, lambda: identity(1.0))
        counted = stale.assign_add(dropped)
        share = stale.read_value() / cast(global_step.read_value() + 1, "float32")
        scalar("Gradient staleness percentage", share)
        return counted


class MultitaskOptimizerWrapper:
    """Leaves variables whose gradient is all zeros, and their slots, as they are
    (`tf.contrib.opt.MultitaskOptimizerWrapper`): a task that was not in the batch says nothing.

    Args:
        opt: the optimizer, which is changed.

    Raises:
        TypeError: `opt` is no optimizer.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for method in ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse"):
            setattr(opt, method, _unless_zero(getattr(opt, method)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def _unless_zero(update: Any) -> Any:
    def apply(grad: Any, *args: Any) -> Any:
        return cond(_is_zero(grad), no_op, lambda: group(update(grad, *args)))

    return apply


def _is_zero(grad: Any) -> Tensor:
    return apply_one("Equal", count_nonzero(getattr(grad, "values", grad)), 0)


def clip_gradients_by_global_norm(
    gradients_variables: Any, clip_norm: Any = 20.0
) -> tuple[list[Any], Tensor]:
    """Clips gradients to a global norm (`tf.contrib.opt.clip_gradients_by_global_norm`).

    Args:
        gradients_variables: (gradient, variable) pairs.

    Returns:
        The pairs with clipped gradients, and the global norm.
    """
    gradients, variables = zip(*gradients_variables, strict=True)
    # Gradients of zeros alone add nothing to the norm, and so need not be computed.
    present = [g if g is None else _or_zero(g) for g in gradients]
    norm = global_norm(present)
    clipped, _ = clip_by_global_norm(list(gradients), clip_norm, use_norm=norm)
    return list(zip(clipped, variables, strict=True)), norm


def _or_zero(grad: Any) -> Any:
    values = getattr(grad, "values", grad)
    return cond(_is_zero(values), lambda: zeros([], values.dtype), lambda: values)
