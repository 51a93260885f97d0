"""`tf.contrib.factorization`: k-means."""

import typing as _typing

from tensorfleet.contrib.clustering import (
    COSINE_DISTANCE as COSINE_DISTANCE,
    KMEANS_PLUS_PLUS_INIT as KMEANS_PLUS_PLUS_INIT,
    RANDOM_INIT as RANDOM_INIT,
    SQUARED_EUCLIDEAN_DISTANCE as SQUARED_EUCLIDEAN_DISTANCE,
    KMeans as KMeans,
    KMeansClustering as KMeansClustering,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "COSINE_DISTANCE",
    "KMEANS_PLUS_PLUS_INIT",
    "RANDOM_INIT",
    "SQUARED_EUCLIDEAN_DISTANCE",
    "KMeans",
    "KMeansClustering",
]
