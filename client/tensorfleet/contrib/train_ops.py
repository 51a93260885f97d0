"""Training operations: `tf.contrib.training.create_train_op` and its parts."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.optimize_loss import multiply_gradients as multiply_gradients
from tensorfleet.core.logging import warning
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.identity import check_numerics as nn_check_numerics, identity
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.io.summary import histogram, scalar
from tensorfleet.ops.math.clip import clip_by_norm, global_norm
from tensorfleet.ops.state.variable_collections import trainable_variables
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.step_count import get_or_create_global_step

USE_GLOBAL_STEP: Any = 0
"""The default of `global_step`, which stands for that of the graph."""


def add_gradients_summaries(grads_and_vars: Any) -> list[Any]:
    """A histogram and the norm of each gradient."""
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        summaries.append(histogram(f"{variable.op.name}/gradient", values))
        summaries.append(scalar(f"{variable.op.name}/gradient_norm", global_norm([values])))
    return summaries


def clip_gradient_norms(gradients_to_variables: Any, max_norm: float) -> list[tuple[Any, Any]]:
    """Each gradient, scaled down if its norm is greater than `max_norm`."""
    clipped = []
    for gradient, variable in gradients_to_variables:
        if isinstance(gradient, IndexedSlices):
            values = clip_by_norm(gradient.values, max_norm)
            gradient = IndexedSlices(values, gradient.indices, gradient.dense_shape)
        elif gradient is not None:
            gradient = clip_by_norm(gradient, max_norm)
        clipped.append((gradient, variable))
    return clipped


def clip_gradient_norms_fn(max_norm: float) -> Any:
    """`clip_gradient_norms` as a function of (gradient, variable) pairs."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def create_train_op(
    total_loss: Any,
    optimizer: Optimizer,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Any = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """The loss as a tensor whose run also trains (`tf.contrib.training.create_train_op`).

    Args:
        global_step: the global step, by default that of the graph, which is made if missing; None for none.
        update_ops: the operations to run before the loss, by default the collection UPDATE_OPS.
        variables_to_train: the variables to train, by default the trainable ones.
        transform_grads_fn: a function of (gradient, variable) pairs.
        check_numerics: whether an infinite or NaN loss is an error.
    """
    if global_step is USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    known = set(framework.get_collection(GraphKeys.UPDATE_OPS))
    updates = known if update_ops is None else set(update_ops)
    if not known.issubset(updates):
        warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if updates:
        with framework.control_dependencies(updates):
            barrier = group(name="update_barrier")
        with framework.control_dependencies([*updates, barrier]):
            total_loss = identity(total_loss)
    variables = trainable_variables() if variables_to_train is None else variables_to_train
    pairs = optimizer.compute_gradients(
        total_loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with framework.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    updated = optimizer.apply_gradients(pairs, global_step=global_step)
    with framework.name_scope("train_op"):
        if check_numerics:
            total_loss = nn_check_numerics(total_loss, "LossTensor is inf or nan")
        with framework.control_dependencies([updated]):
            train_op = identity(total_loss)
    held = framework.get_collection_ref(GraphKeys.TRAIN_OP)
    if all(train_op is not other for other in held):
        held.append(train_op)
    return train_op
