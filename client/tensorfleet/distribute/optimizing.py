"""What optimizers do in a replica of several: all copies of a variable get the sum of the gradients."""

from __future__ import annotations

import functools
from typing import Any

from tensorfleet.distribute.mirrored_variable import updating
from tensorfleet.distribute.per_replica import DistributedValues
from tensorfleet.distribute.replica_context import (
    ReduceOp,
    get_loss_reduction,
    get_replica_context,
    get_strategy,
)
from tensorfleet.distribute.replica_threads import ReplicaOfSeveral
from tensorfleet.graph import framework
from tensorfleet.ops.control_flow.control import group as grouped
from tensorfleet.train.optimizer import serve_replicas


def _apply_gradients(optimizer: Any, grads_and_vars: Any, global_step: Any, name: str | None) -> Any:
    """`Optimizer.apply_gradients` in a replica of several: all apply the sum of their gradients."""
    context = get_replica_context()
    if not isinstance(context, ReplicaOfSeveral):
        raise RuntimeError("apply_gradients must be called in replica context, in strategy.run(...).")
    # The first replica's optimizer applies the gradients: each may have made its own.
    applied = functools.partial(_applied, optimizer)
    return context.merge_call(applied, args=(list(grads_and_vars), global_step, name))


def _applied(optimizer: Any, strategy: Any, pairs: Any, global_step: Any, name: str | None) -> Any:
    found = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
    if not found:
        raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
    sums = strategy.extended.batch_reduce_to(ReduceOp.SUM, found)
    with framework.control_dependencies(None):
        optimizer._create_slots([variable for _, variable in found])
    with framework.name_scope(name, optimizer._name) as scope:
        optimizer._prepare()
        finished = []
        for number, device in enumerate(strategy.extended.parameter_devices):
            with updating(number), framework.device(device):
                updates = []
                for total, (_, variable) in zip(sums, found, strict=True):
                    own = total.values[number] if isinstance(total, DistributedValues) else total
                    with (
                        framework.name_scope(f"update_{variable.op.name}"),
                        framework.colocate_with(variable.op),
                    ):
                        updates.append(optimizer._update_op(own, variable))
                finished.append(optimizer._finish(updates, "update"))
        if global_step is None:
            return grouped(*finished, name=scope)
        with framework.control_dependencies(finished):
            return global_step.assign_add(1, name=scope, read_value=False)


def _several_replicas() -> bool:
    return bool(get_strategy().num_replicas_in_sync > 1)


def _scaled(loss: Any) -> Any:
    if get_loss_reduction() is ReduceOp.SUM:
        return loss
    return loss * (1.0 / get_strategy().num_replicas_in_sync)


serve_replicas(_several_replicas, _apply_gradients, _scaled)
