"""The ops of locks that steps hold: MutexV2, MutexLock, ConsumeMutexLock."""

from __future__ import annotations

from tensorfleet.graph.op_def import op
from tensorfleet.ops.shape_rules import nothing, scalar

op(
    "MutexV2() -> (resource: resource)",
    'container: string = ""',
    'shared_name: string = ""',
    shape=scalar,
    stateful=True,
)
op("MutexLock(mutex: resource) -> (mutex_lock: variant)", shape=scalar, stateful=True)
op("ConsumeMutexLock(mutex_lock: variant) -> ()", shape=nothing, stateful=True)
