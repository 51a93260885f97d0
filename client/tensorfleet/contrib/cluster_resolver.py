"""`tf.contrib.cluster_resolver`: finds the tasks of a cluster."""

from tensorfleet.cluster.cluster_resolver import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    TFConfigClusterResolver as TFConfigClusterResolver,
    UnionResolver as UnionClusterResolver,
)
from tensorfleet.cluster.kubernetes_resolver import KubernetesClusterResolver as KubernetesClusterResolver

__all__ = [
    "ClusterResolver",
    "KubernetesClusterResolver",
    "SimpleClusterResolver",
    "TFConfigClusterResolver",
    "UnionClusterResolver",
]
