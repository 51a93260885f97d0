"""`tf.contrib.distribute`: the older place of strategies."""

import typing as _typing

from tensorfleet.distribute.cluster_strategies import (
    ContribMirroredStrategy as MirroredStrategy,
    ContribParameterServerStrategy as ParameterServerStrategy,
)
from tensorfleet.distribute.multi_worker import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from tensorfleet.distribute.reductions import (
    AllReduceCrossDeviceOps as AllReduceCrossDeviceOps,
    CrossDeviceOps as CrossDeviceOps,
    MultiWorkerAllReduce as MultiWorkerAllReduce,
    ReductionToOneDevice as ReductionToOneDeviceCrossDeviceOps,
)
from tensorfleet.distribute.replica_context import (
    ReplicaContext as ReplicaContext,
    get_cross_replica_context as get_cross_replica_context,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_distribution_strategy,
    get_strategy as get_strategy,
    has_strategy as has_distribution_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
    require_replica_context as require_replica_context,
)
from tensorfleet.distribute.strategies import (
    OneDeviceStrategy as OneDeviceStrategy,
    Strategy as DistributionStrategy,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "AllReduceCrossDeviceOps",
    "CollectiveAllReduceStrategy",
    "CrossDeviceOps",
    "DistributionStrategy",
    "MirroredStrategy",
    "MultiWorkerAllReduce",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReductionToOneDeviceCrossDeviceOps",
    "ReplicaContext",
    "get_cross_replica_context",
    "get_distribution_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_distribution_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "require_replica_context",
]
