"""A namespace of a real Kubernetes, with a release of the chart and two pods: k8s-dev/e2e says where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.k8s.kubernetes import ADDRESS, RELEASE, Kubernetes, pod_manifest, sleeping, with_credentials

HERE = Path(__file__).parent
WITHOUT = "needs a Kubernetes with the image: k8s-dev/e2e makes both and runs this"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Kubernetes]:
    namespace, image = (os.environ.get(f"TENSORFLEET_K8S_{key}") for key in ("NAMESPACE", "IMAGE"))
    if not namespace or not image:
        pytest.skip(WITHOUT)
    found = Kubernetes(namespace, image)
    found.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait", timeout=120)
    found.kubectl("create", "namespace", namespace)
    yield found
    found.kubectl("delete", "namespace", namespace, "--wait", timeout=120)
    left = [
        volume["metadata"]["name"]
        for volume in found.get("persistentvolumes")
        if volume["spec"].get("claimRef", {}).get("namespace") == namespace
        and volume["status"]["phase"] != "Released"
    ]
    assert not left, f"volumes are left: {left}"


@pytest.fixture(scope="session")
def fleet(kubernetes: Kubernetes) -> Kubernetes:
    """A release of 1 ps and 2 workers, and the pods `client`, with the chart's label, and `stranger`."""
    client = pod_manifest("client", kubernetes.image, {"shell": sleeping()}, {f"{RELEASE}-client": "true"})
    kubernetes.apply(
        with_credentials(client),
        pod_manifest("stranger", kubernetes.image, {"shell": sleeping()}),
    )
    kubernetes.install(RELEASE)
    kubernetes.wait_ready("client", "stranger", seconds=120)
    assert ADDRESS.removeprefix("grpc://").partition(":")[0] in kubernetes.kubectl("get", "services")
    return kubernetes
