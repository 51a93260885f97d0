"""`tf.distribute.experimental`: strategies of several processes."""

import typing as _typing

from tensorfleet.distribute.central_storage import CentralStorageStrategy as CentralStorageStrategy
from tensorfleet.distribute.cluster_strategies import ParameterServerStrategy as ParameterServerStrategy
from tensorfleet.distribute.multi_worker import (
    CommunicationImplementation as CollectiveCommunication,
    CommunicationImplementation as CommunicationImplementation,
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CommunicationImplementation",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
]
