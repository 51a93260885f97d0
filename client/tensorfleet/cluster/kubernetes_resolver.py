"""`tf.distribute.cluster_resolver.KubernetesClusterResolver`: tasks are pods, found by their labels."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.cluster.cluster_resolver import ClusterResolver, master_url
from tensorfleet.kube.api import kubeconfig, package


class KubernetesExecutableLocation(enum.Enum):
    """The place where the program runs (`tf.distribute.cluster_resolver.KubernetesExecutableLocation`)."""

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1


class KubernetesClusterResolver(ClusterResolver):
    """A job's tasks are the pods that its label selectors choose, in the order of their names.

    `tf.distribute.cluster_resolver.KubernetesClusterResolver`, with two differences: within a cluster a
    task's address is its pod's (TensorFlow takes the node's, where only pods with a host port listen), and
    the numbers that end the names of a StatefulSet's pods are compared as numbers. Selectors can have several
    parts: "app.kubernetes.io/instance=fleet,tensorfleet.io/job=worker".
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str | None = "grpc",
        override_client: Any = None,
        executable_location: KubernetesExecutableLocation = KubernetesExecutableLocation.WITHIN_CLUSTER,
    ) -> None:
        """Makes a resolver.

        Args:
            job_to_label_mapping: from jobs to label selectors, by default {"worker": ["job-name=tensorflow"]}
            tf_server_port: the port of every task; 2222 for those of TensorFleet's chart.
            rpc_layer: what stands before `://` in targets.
            override_client: a `kubernetes.client.CoreV1Api` in place of one with the default configuration.
            executable_location: whether this is a pod with a service account, or has a kubeconfig. Off the
                cluster, addresses are those of the pods' nodes.

        Raises:
            ImportError: the package `kubernetes` is missing, and no client is given.
            ValueError: executable_location is neither.
        """
        if not isinstance(executable_location, KubernetesExecutableLocation):
            raise ValueError("The executable location provided is invalid.")
        self._within = executable_location is KubernetesExecutableLocation.WITHIN_CLUSTER
        self._client = override_client or _client(self._within)
        self._selectors = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port = tf_server_port
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The cluster as Kubernetes shows it now. Raises RuntimeError if one of the pods is not running."""
        cluster = {}
        for job, selectors in self._selectors.items():
            pods: list[Any] = []
            for selector in selectors:
                found = self._client.list_pod_for_all_namespaces(label_selector=selector)
                pods += sorted(found.items, key=lambda pod: _natural(pod.metadata.name))
            for pod in pods:
                if pod.status.phase != "Running":
                    raise RuntimeError(
                        f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"'
                    )
            cluster[job] = [
                f"{pod.status.pod_ip if self._within else pod.status.host_ip}:{self._port}" for pod in pods
            ]
        return ClusterSpec(cluster)

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target of a task, empty unless `task_type` and `task_id` are set here or as attributes."""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            return ""
        return master_url(self.cluster_spec().task_address(job, index), rpc_layer or self.rpc_layer)


def _client(within: bool) -> Any:
    kubernetes = package("KubernetesClusterResolver without override_client")
    configuration = kubernetes.client.Configuration()
    if within:
        kubernetes.config.load_incluster_config(client_configuration=configuration)
    else:
        kubernetes.config.load_kube_config(kubeconfig(), client_configuration=configuration)
    return kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))


def _natural(name: str) -> list[str | int]:
    """A key by which worker-2 comes before worker-10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
