"""Real clusters for tests of training, and a fresh graph for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tests.cluster.conftest import MakeCluster, cluster as cluster


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def fleet(cluster: MakeCluster) -> object:
    """One ps and two workers."""
    return cluster("grpc+stream", ps=1, worker=2)
