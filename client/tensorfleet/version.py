"""`tf.version`: the version of TensorFlow's API that this library answers with."""

import typing as _typing

from tensorfleet.core.version import (
    API_VERSION as VERSION,
    COMPILER_VERSION as COMPILER_VERSION,
    GIT_VERSION as GIT_VERSION,
)
from tensorfleet.graph.graph import (
    MIN_CONSUMER_VERSION as GRAPH_DEF_VERSION_MIN_CONSUMER,
    PRODUCER_VERSION as GRAPH_DEF_VERSION,
)

GRAPH_DEF_VERSION_MIN_PRODUCER = 0

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]
