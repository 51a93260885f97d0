"""A release of the chart, found by the labels of its objects: its tasks, its master and its image."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorfleet.core import errors
from tensorfleet.kube.api import CALL_SECONDS, Cluster

INSTANCE, COMPONENT = "app.kubernetes.io/instance", "app.kubernetes.io/component"
SPEC_KEY, CLIENT_KEY = "cluster.json", "client.json"
GRPC_PORT, STREAM_PORT = 2222, 2223
_SUFFIX = "-cluster-spec"


@dataclass(frozen=True)
class Access:
    """What a client's pod needs to be let in: files of Secrets, and variables that name them.

    Attributes:
        env: environment variables.
        volumes: as in a pod's spec; the chart's has the name `credentials`, and projected sources.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    volumes: Sequence[Mapping[str, Any]] = ()

    def files(self) -> dict[str, tuple[str, str]]:
        """(Secret, key) of each file, by its name."""
        found = {}
        for volume in self.volumes:
            for source in volume["projected"]["sources"]:
                for item in source["secret"]["items"]:
                    found[item["path"]] = source["secret"]["name"], item["key"]
        return found


@dataclass(frozen=True)
class Release:
    """A release of the chart.

    Attributes:
        name, namespace: the name and the namespace in Helm.
        fullname: the prefix of the names of its objects.
        jobs: the addresses of its tasks by job, for a ClusterSpec.
        access: the credentials of its clients; empty for a release without security.
    """

    name: str
    namespace: str
    fullname: str
    jobs: Mapping[str, list[str] | dict[str, str]]
    access: Access = Access()

    @property
    def address(self) -> str:
        """The target of sessions in the Kubernetes cluster."""
        return f"grpc://{self.fullname}.{self.namespace}:{GRPC_PORT}"

    @property
    def client_label(self) -> tuple[str, str]:
        """The label of pods that the NetworkPolicy lets connect to the tasks."""
        return f"{self.name}-client", "true"

    @property
    def master_job(self) -> str:
        """The job whose task 0 is the master of clients' sessions."""
        return "chief" if "chief" in self.jobs else "worker"


def find(cluster: Cluster, name: str, namespace: str) -> Release:
    """The release `name`.

    Raises:
        NotFoundError: there is none in the namespace; the message names the existing ones.
        InvalidArgumentError: its ConfigMap is not the chart's.
        OpError: the API server refuses, or cannot be reached.
    """
    with cluster.errors_of(f"list ConfigMaps in the namespace {namespace}"):
        found = (
            cluster.core()
            .list_namespaced_config_map(
                namespace, label_selector=f"{COMPONENT}=cluster-spec", _request_timeout=CALL_SECONDS
            )
            .items
        )
    by_release = {item.metadata.labels.get(INSTANCE, ""): item for item in found}
    if name not in by_release:
        others = ", ".join(sorted(by_release)) or "no release of TensorFleet at all"
        raise errors.NotFoundError(
            None,
            None,
            f"no release {name} in the namespace {namespace}; there is: {others}. Name another one, or "
            f"another namespace, or install it: helm install {name} helm/tensorfleet -n {namespace}",
        )
    item = by_release[name]
    config_map = item.metadata.name
    try:
        jobs = _jobs(item.data[SPEC_KEY])
        access = _access(item.data.get(CLIENT_KEY) or "{}")
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"the ConfigMap {config_map} in the namespace {namespace} is not as the chart makes it: "
            f"{error!r}. helm upgrade {name} writes it anew",
        ) from None
    return Release(name, namespace, config_map.removesuffix(_SUFFIX), jobs, access)


def _access(text: str) -> Access:
    """What a client needs, from JSON. Raises ValueError, TypeError, KeyError or AttributeError."""
    found = json.loads(text)
    access = Access({v["name"]: str(v["value"]) for v in found.get("env", ())}, found.get("volumes", ()))
    access.files()
    return access


def _jobs(text: str) -> dict[str, list[str] | dict[str, str]]:
    """The jobs of a ClusterSpec in JSON. Raises ValueError or TypeError if it is not one."""
    jobs = json.loads(text)
    if not isinstance(jobs, dict):
        raise TypeError(f"jobs in a dictionary are expected, not {jobs!r}")
    for job, tasks in jobs.items():
        addresses = list(tasks.values()) if isinstance(tasks, dict) else tasks
        if not isinstance(addresses, list) or not all(isinstance(address, str) for address in addresses):
            raise TypeError(f"the addresses of the job {job!r} are expected in a list, not {tasks!r}")
        if isinstance(tasks, dict) and not all(index.isdecimal() for index in tasks):
            raise ValueError(f"the tasks of the job {job!r} are told by numbers, not {list(tasks)}")
    return jobs


def master_pod(cluster: Cluster, release: Release) -> Any:
    """The pod (V1Pod) of the task that is the master of clients' sessions.

    Raises:
        NotFoundError: there is no such pod, as during a restart.
        OpError: the API server refuses, or cannot be reached.
    """
    selector = f"{INSTANCE}={release.name},{COMPONENT}={release.master_job},apps.kubernetes.io/pod-index=0"
    with cluster.errors_of(f"list pods in the namespace {release.namespace}"):
        pods = (
            cluster.core()
            .list_namespaced_pod(release.namespace, label_selector=selector, _request_timeout=CALL_SECONDS)
            .items
        )
    if not pods:
        raise errors.NotFoundError(
            None,
            None,
            f"the release {release.name} has no pod of /job:{release.master_job}/task:0 in the namespace "
            f"{release.namespace}; see: kubectl get statefulsets,pods -n {release.namespace} "
            f"-l {INSTANCE}={release.name}",
        )
    return pods[0]
