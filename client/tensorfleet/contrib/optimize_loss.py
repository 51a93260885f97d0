"""`tf.contrib.layers.optimize_loss`: an optimizer by name, with clipping, decay and summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.io.summary import histogram, scalar
from tensorfleet.ops.math.clip import clip_by_global_norm, global_norm
from tensorfleet.ops.random.random_ops import truncated_normal
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import constant_initializer
from tensorfleet.ops.state.variable_collections import trainable_variables
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.train.adam import AdamOptimizer
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.optimizers import (
    AdagradOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    RMSPropOptimizer,
)
from tensorfleet.train.regularized_optimizers import FtrlOptimizer
from tensorfleet.train.step_count import get_global_step

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = (
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
)


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: dict[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """The loss as a tensor whose run also trains (`tf.contrib.layers.optimize_loss`).

    Args:
        loss: the loss, a tensor of rank 0.
        global_step: the global step; None for that of the graph, if there is one.
        learning_rate: a number, which becomes the variable `learning_rate`; a tensor of rank 0; or None.
        optimizer: a name in OPTIMIZER_CLS_NAMES, a class, an object, or a function of the learning rate.
        gradient_noise_scale: the standard deviation of noise that is added to gradients.
        gradient_multipliers: factors of gradients, by variable or by its name.
        clip_gradients: the greatest global norm; or a function of (gradient, variable) pairs.
        learning_rate_decay_fn: a function of the rate and the global step.
        update_ops: the operations to run before, by default the collection UPDATE_OPS.
        variables: the variables to train, by default the trainable ones.
        summaries: the summaries to write, of OPTIMIZER_SUMMARIES.

    Raises:
        ValueError: an invalid argument.
    """
    loss = convert_to_tensor(loss)
    if loss.ndim not in (None, 0):
        raise ValueError(f"Expected a scalar loss, got shape {loss.shape}.")
    step = get_global_step() if global_step is None else global_step
    with variable_scope(name, "OptimizeLoss", [loss, step]):
        updates = set(framework.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
        if updates:
            with framework.control_dependencies([group(*updates)]):
                loss = identity(loss)
        rate = _rate(learning_rate, learning_rate_decay_fn, step)
        wanted = ("learning_rate", "loss", "global_gradient_norm") if summaries is None else summaries
        for summary in wanted:
            if summary not in OPTIMIZER_SUMMARIES:
                raise ValueError(f"Summaries should be one of {OPTIMIZER_SUMMARIES}, you provided {summary}.")
        if rate is not None and "learning_rate" in wanted:
            scalar("learning_rate", rate)
        made = _optimizer(optimizer, rate)
        trained = trainable_variables() if variables is None else variables
        pairs = made.compute_gradients(loss, trained, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gradient_noise_scale is not None:
            pairs = [(_noisy(gradient, gradient_noise_scale), variable) for gradient, variable in pairs]
        if gradient_multipliers is not None:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        if "global_gradient_norm" in wanted or "gradient_norm" in wanted:
            scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif isinstance(clip_gradients, (int, float)):
            pairs = _clipped(pairs, float(clip_gradients))
        elif clip_gradients is not None:
            raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
        if "loss" in wanted:
            scalar("loss", loss)
        for gradient, variable in pairs if "gradients" in wanted else ():
            if gradient is not None:
                values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
                histogram(f"gradients/{variable.op.name}", values)
        train = made.apply_gradients(pairs, global_step=step if increment_global_step else None, name="train")
        with framework.control_dependencies([train]):
            return identity(loss)


def _rate(given: Any, decay: Callable[[Any, Any], Any] | None, step: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, float):
        if given < 0.0:
            raise ValueError(f"Invalid learning_rate {given}.")
        rate: Any = get_variable(
            "learning_rate", [], trainable=False, initializer=constant_initializer(given)
        )
    elif hasattr(given, "dtype") and convert_to_tensor(given).ndim == 0:
        rate = given
    else:
        raise ValueError(f"Learning rate should be 0d Tensor or float. Got {given} of type {type(given)}")
    if decay is None:
        return rate
    if step is None:
        raise ValueError("global_step is required for learning_rate_decay_fn.")
    return decay(rate, step)


def _optimizer(given: Any, rate: Any) -> Optimizer:
    if isinstance(given, str):
        if given not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {given}."
            )
        given = OPTIMIZER_CLS_NAMES[given]
        if rate is None:
            raise ValueError("Learning rate is None, but should be specified if optimizer is given by name.")
    if isinstance(given, Optimizer):
        return given
    if not callable(given):
        raise ValueError(f"Unrecognized optimizer: should be string, class, object or function. Got {given}.")
    takes_rate = isinstance(given, type) or rate is not None
    made = given(learning_rate=rate) if isinstance(given, type) else given(rate) if takes_rate else given()
    if not isinstance(made, Optimizer):
        raise ValueError(f"Unrecognized optimizer: function should return subclass of Optimizer. Got {made}.")
    return made


def _noisy(gradient: Any, scale: float) -> Any:
    if gradient is None:
        return None
    values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
    noise = truncated_normal(shape(values), dtype=values.dtype.base) * scale
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(values + noise, gradient.indices, gradient.dense_shape)
    return values + noise


def multiply_gradients(grads_and_vars: Any, gradient_multipliers: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Gradients multiplied by factors, which are given by variable or by its name.

    Raises:
        ValueError: a variable with a factor has no gradient.
    """
    result = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError(f"Requested multiple of `None` gradient for {variable.op.name}.")
            factor = gradient_multipliers[key]
            if isinstance(gradient, IndexedSlices):
                gradient = IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
            else:
                gradient = gradient * factor
        result.append((gradient, variable))
    return result


def _clipped(pairs: list[tuple[Any, Any]], norm: float) -> list[tuple[Any, Any]]:
    gradients, variables = zip(*pairs, strict=True)
    clipped, _ = clip_by_global_norm(list(gradients), norm)
    return list(zip(clipped, variables, strict=True))
