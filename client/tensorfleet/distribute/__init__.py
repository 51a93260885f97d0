"""Training without parameter servers: every worker has all variables, and the workers average gradients.

    from tensorfleet import distribute

    opt = distribute.CollectiveOptimizer(opt, num_workers=3, is_chief=task_index == 0)
    train = opt.minimize(loss)
    with tf.train.MonitoredTrainingSession(server.target, hooks=[opt.make_session_run_hook()]) as session: ...

`tensorfleet.ops.collective.collective_ops` has the operations themselves, docs/collectives.md the guarantees.
"""

import typing as _typing

from tensorfleet.cluster.server import Server as Server
from tensorfleet.distribute import cluster_resolver as cluster_resolver, experimental as experimental
from tensorfleet.distribute.collective_keys import CollectiveKeys as CollectiveKeys
from tensorfleet.distribute.collective_optimizer import CollectiveOptimizer as CollectiveOptimizer
from tensorfleet.distribute.cross_device_ops import (
    all_reduce_gradients as all_reduce_gradients,
    barrier as barrier,
    broadcast_variables as broadcast_variables,
)
from tensorfleet.distribute.mirrored_strategy import MirroredStrategy as MirroredStrategy
from tensorfleet.distribute.reductions import (
    CrossDeviceOps as CrossDeviceOps,
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    NcclAllReduce as NcclAllReduce,
    ReductionToOneDevice as ReductionToOneDevice,
)
from tensorfleet.distribute.replica_context import (
    InputContext as InputContext,
    InputReplicationMode as InputReplicationMode,
    ReduceOp as ReduceOp,
    ReplicaContext as ReplicaContext,
    RunOptions as RunOptions,
    experimental_set_strategy as experimental_set_strategy,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from tensorfleet.distribute.strategies import (
    OneDeviceStrategy as OneDeviceStrategy,
    Strategy as Strategy,
    StrategyExtended as StrategyExtended,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "cluster_resolver",
            "experimental",
        ),
    )

__all__ = [
    "CollectiveKeys",
    "CollectiveOptimizer",
    "CrossDeviceOps",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputReplicationMode",
    "MirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Server",
    "Strategy",
    "StrategyExtended",
    "all_reduce_gradients",
    "barrier",
    "broadcast_variables",
    "cluster_resolver",
    "experimental",
    "experimental_set_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
