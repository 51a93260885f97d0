"""Workers with GPUs on a node that has them in name only: scheduled, and not ready without a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.k8s.kubernetes import Kubernetes, is_ready

RESOURCE = "nvidia.com/gpu"
POD = "gpu-tensorfleet-gpu-0"

READY = """
import urllib.error, urllib.request
try: print(urllib.request.urlopen("http://127.0.0.1:8080/healthz/ready").status)
except urllib.error.HTTPError as error: print(error.code, error.read().decode())
"""


def offer(kubernetes: Kubernetes, count: int) -> None:
    """Gives the node so many GPUs, in name."""
    node = kubernetes.get("nodes")[0]["metadata"]["name"]
    amounts = {"capacity": {RESOURCE: str(count)}, "allocatable": {RESOURCE: str(count)}}
    kubernetes.kubectl(
        "patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps({"status": amounts})
    )


@pytest.fixture
def pool(kubernetes: Kubernetes) -> Iterator[Kubernetes]:
    """A release with one worker, and a pool of one worker with a GPU."""
    settings = ("worker.replicas=1", "ps.replicas=0", "workerPools[0].name=gpu", "workerPools[0].replicas=1")
    kubernetes.install("gpu", *settings, "workerPools[0].gpu.enabled=true", wait=False)
    yield kubernetes
    kubernetes.helm("uninstall", "gpu", "--wait")
    offer(kubernetes, 0)


def test_a_gpu_worker_waits_for_the_resource_and_says_that_it_sees_no_gpu(pool: Kubernetes) -> None:
    def condition() -> str:
        pod = pool.pod(POD)
        conditions = pod["status"].get("conditions", ()) if pod else ()
        return "".join(c.get("message", "") for c in conditions if c["type"] == "PodScheduled")

    pool.wait_for("Pending for want of a GPU", lambda: f"Insufficient {RESOURCE}" in condition())
    pool.wait_ready("gpu-tensorfleet-worker-0")
    offer(pool, 1)

    def answer() -> str:
        pod = pool.pod(POD)
        return pool.python(POD, READY).stdout if pod and pod["status"]["phase"] == "Running" else ""

    def says_that_it_sees_none() -> bool:
        text = answer()
        return text.startswith("503") and "GPU" in text

    pool.wait_for("not ready for want of a GPU", says_that_it_sees_none)
    assert not is_ready(pool.pod(POD))
    assert (
        pool.get("pod", "gpu-tensorfleet-worker-0")["spec"]["containers"][0]["resources"].get("limits")
        is None
    )
