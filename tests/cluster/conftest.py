"""Clusters of real processes, and the ways in which a session and its tasks are connected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.cluster.processes import Cluster


class Way(NamedTuple):
    """How a client reaches its master, and the tasks each other."""

    session: str
    tasks: str

    @property
    def name(self) -> str:
        return f"session-{self.session}-tasks-{'stream' if '+' in self.tasks else 'grpc'}"


# Where the tasks have no other port, the stream goes over gRPC.
WAYS = [Way("stream", "grpc+stream"), Way("grpc", "grpc+stream"), Way("stream", "grpc")]

MakeCluster = Callable[..., Cluster]


@pytest.fixture(params=WAYS, ids=lambda way: way.name, scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """Each way in turn; sessions that are made meanwhile go that way."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param.session == "grpc":
            patch.setenv("TENSORFLEET_TRANSPORT", "grpc")
        else:
            patch.delenv("TENSORFLEET_TRANSPORT", raising=False)
        yield request.param


def _maker() -> Iterator[MakeCluster]:
    made: list[Cluster] = []

    def make(
        protocol: str | dict[str, str],
        absent: dict[str, list[str]] | None = None,
        settings: dict[str, Any] | None = None,
        **jobs: int,
    ) -> Cluster:
        """Starts a cluster: `cluster("grpc", ps=1, worker=2)`; protocols may differ by job."""
        protocols = protocol if isinstance(protocol, dict) else dict.fromkeys(jobs, protocol)
        cluster = Cluster(jobs, protocols, absent, **(settings or {}))
        made.append(cluster)
        cluster.start()
        return cluster

    try:
        yield make
    finally:
        for cluster in made:
            cluster.stop()


cluster = pytest.fixture(_maker, name="cluster")
long_cluster = pytest.fixture(_maker, name="long_cluster", scope="module")


@pytest.fixture(scope="module")
def shared(way: Way, long_cluster: MakeCluster) -> Cluster:
    """One ps and two workers, for tests that leave them as they are."""
    return long_cluster(way.tasks, ps=1, worker=2)
