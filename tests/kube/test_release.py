"""Clusters found on Kubernetes: by the chart's ConfigMap, and by the labels of pods."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.kube import api as kube_api, release as releases
from tests.kube.fake_api import FakeApi, release, task_pod

from_kubernetes = tf.train.ClusterSpec.from_kubernetes


def test_a_release_says_its_cluster(api: FakeApi) -> None:
    api.config_maps.append(release("other", {"chief": ["c:1"], "worker": {"3": "w3:1"}}))
    assert from_kubernetes("fleet", "lab").as_dict() == {"ps": ["p0:2222"], "worker": ["w0:2222", "w1:2222"]}
    assert from_kubernetes("other").as_dict() == {"chief": ["c:1"], "worker": {3: "w3:1"}}


def test_addresses_and_labels_follow_the_names_of_the_release(api: FakeApi) -> None:
    api.config_maps.append(release("other", {"chief": ["c:1"]}, fullname="named"))
    cluster = kube_api.Cluster("the test")
    plain, other = (releases.find(cluster, name, "lab") for name in ("fleet", "other"))
    assert plain.address == "grpc://fleet.lab:2222"
    assert plain.client_label == ("fleet-client", "true")
    assert plain.master_job == "worker"
    assert other.address == "grpc://named.lab:2222"
    assert other.master_job == "chief"
    assert releases.master_pod(cluster, plain).metadata.name == "fleet-worker-0"
    with pytest.raises(errors.NotFoundError, match=r"no pod of /job:chief/task:0 .*kubectl get statefulsets"):
        releases.master_pod(cluster, other)
    api.pods.append(task_pod("other", "chief"))
    assert releases.master_pod(cluster, other).metadata.name == "other-chief-0"


def test_no_such_release(api: FakeApi) -> None:
    with pytest.raises(
        errors.NotFoundError, match=r"no release flet in the namespace lab; there is: fleet\."
    ):
        from_kubernetes("flet")
    api.config_maps.clear()
    with pytest.raises(errors.NotFoundError, match=r"no release of TensorFleet at all.*helm install fleet"):
        from_kubernetes("fleet")


@pytest.mark.parametrize("spec", ["{", "[1]", '{"worker": 3}'])
def test_a_config_map_that_is_not_the_charts(api: FakeApi, spec: str) -> None:
    api.config_maps[:] = [release(spec=spec)]
    with pytest.raises(errors.InvalidArgumentError, match=r"fleet-cluster-spec.*helm upgrade fleet"):
        from_kubernetes("fleet")


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (403, errors.PermissionDeniedError, 'User "me" cannot GET it. Ask for a Role'),
        (401, errors.UnauthenticatedError, "credentials of the kubeconfig"),
        (500, errors.UnavailableError, "cannot list ConfigMaps in the namespace lab"),
    ],
)
def test_refusals_say_what_was_refused(
    api: FakeApi, status: int, error: type[errors.OpError], text: str
) -> None:
    api.refused["GET configmaps"] = status
    with pytest.raises(error) as caught:
        from_kubernetes("fleet")
    assert text in caught.value.message


def test_no_server_and_no_configuration(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.FailedPreconditionError, match=r"no way to a Kubernetes cluster.*KUBECONFIG"):
        from_kubernetes("fleet", context="another")
    config = tmp_path / "kubeconfig"
    config.write_text(config.read_text().replace("127.0.0.1:", "127.0.0.1:1#"))
    with pytest.raises(errors.UnavailableError, match="is not reached"):
        from_kubernetes("fleet")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    with pytest.raises(errors.FailedPreconditionError, match="no way to a Kubernetes cluster"):
        from_kubernetes("fleet")


def test_without_the_package_the_error_says_how_to_get_it() -> None:
    program = (
        "import sys, tensorfleet as tf\n"
        "sys.modules['kubernetes'] = None\n"
        "for f in (lambda: tf.train.ClusterSpec.from_kubernetes('fleet'),\n"
        "          tf.distribute.cluster_resolver.KubernetesClusterResolver):\n"
        "    try: f()\n"
        "    except ImportError as e: print(e)\n"
        "from tensorfleet.cli.main import main\n"
        f"print(*(main([*a, '--release', 'fleet']) for a in (['submit', {__file__!r}], ['connect'])))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    *lines, codes = done.stdout.splitlines()
    assert len(lines) == 2
    # The package itself: no index has TensorFleet, so its own extra cannot be asked for by name.
    assert all(re.search(r'pip install "kubernetes\S*"( |$)', line) for line in lines)
    assert codes == "125 1"
    assert len(re.findall(r'pip install "kubernetes\S*"(?: |$)', done.stderr, re.M)) == 2


class Pods:
    """A CoreV1Api with pods by label selector."""

    def __init__(self, phase: str = "Running", **pods: list[str]) -> None:
        self._phase = phase
        self._pods = {key.replace("_", "="): names for key, names in pods.items()}

    def list_pod_for_all_namespaces(self, label_selector: str) -> Any:
        def pod(name: str) -> Any:
            status = SimpleNamespace(phase=self._phase, pod_ip=f"10.1.0.{name[2:]}", host_ip="10.0.0.1")
            return SimpleNamespace(metadata=SimpleNamespace(name=name), status=status)

        return SimpleNamespace(items=[pod(name) for name in self._pods[label_selector]])


resolvers = tf.distribute.cluster_resolver


def test_pods_in_the_order_of_their_numbers() -> None:
    client = Pods(a_1=["w-10", "w-2"], a_2=["v-1"], p_1=["p-0"])
    resolver = resolvers.KubernetesClusterResolver(
        {"worker": ["a=1", "a=2"], "ps": ["p=1"]}, 2222, override_client=client
    )
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.1.0.2:2222", "10.1.0.10:2222", "10.1.0.1:2222"],
        "ps": ["10.1.0.0:2222"],
    }
    assert resolver.master() == ""
    assert resolver.master("worker", 1) == "grpc://10.1.0.10:2222"
    resolver.task_type, resolver.task_id = "ps", 0
    assert resolver.master(rpc_layer="") == "grpc://10.1.0.0:2222"


def test_off_the_cluster_the_nodes_are_reached() -> None:
    resolver = resolvers.KubernetesClusterResolver(
        {"worker": ["a=1"]},
        override_client=Pods(a_1=["w-0"]),
        executable_location=resolvers.KubernetesExecutableLocation.OFF_CLUSTER,
    )
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470"]}
    with pytest.raises(ValueError, match="executable location"):
        resolvers.KubernetesClusterResolver(override_client=Pods(), executable_location=7)  # type: ignore[arg-type]
