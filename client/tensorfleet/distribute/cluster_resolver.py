"""`tf.distribute.cluster_resolver`: finds the tasks of a cluster."""

import typing as _typing

from tensorfleet.cluster.cluster_resolver import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    TFConfigClusterResolver as TFConfigClusterResolver,
    UnionResolver as UnionResolver,
)
from tensorfleet.cluster.kubernetes_resolver import (
    KubernetesClusterResolver as KubernetesClusterResolver,
    KubernetesExecutableLocation as KubernetesExecutableLocation,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
