"""Operations on a release that is used: restarts, drains, scales; and what was printed, pasted."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.k8s.kubernetes import FULLNAME, PROGRAMS, RELEASE, Kubernetes, is_ready
from tests.k8s.test_cluster import submit
from tests.kube.wheels import make_wheel

WORKERS = f"statefulset/{FULLNAME}-worker"
RESTRICTED = "pod-security.kubernetes.io/enforce"


@pytest.mark.parametrize(
    "directory", [[], ["/var/lib/tensorfleet/run"]], ids=["no-checkpoints", "checkpoints"]
)
def test_a_rolling_restart_of_the_workers_keeps_the_variables(
    fleet: Kubernetes, directory: list[str]
) -> None:
    fleet.kubectl("cp", str(PROGRAMS / "steps.py"), "client:/tmp/steps.py")
    command = ["kubectl", "-n", fleet.namespace, "exec", "-i", "client", "--"]
    with subprocess.Popen(
        [*command, "python", "/tmp/steps.py", *directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            seen = [int(process.stdout.readline()) for _ in range(20)]
            fleet.kubectl("rollout", "restart", WORKERS)
            fleet.kubectl("rollout", "status", WORKERS, "--timeout=120s", timeout=130)
            before = len(seen)
            # What was written in the meantime, and what comes now that all of them are new.
            while len(seen) < before + 40:
                seen.append(int(process.stdout.readline()))
            process.stdin.write("\n")
            process.stdin.flush()
            seen += map(int, process.stdout.read().split())
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert seen[0] == 1
    back = [(a, b) for a, b in itertools.pairwise(seen) if not a < b <= a + 2]
    assert not back, "a repeated step may count twice, but nothing is lost"


def evict(kubernetes: Kubernetes, pod: str) -> subprocess.CompletedProcess[str]:
    """The eviction that `kubectl drain` asks for."""
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": kubernetes.namespace},
    }
    path = f"/api/v1/namespaces/{kubernetes.namespace}/pods/{pod}/eviction"
    return kubernetes.try_kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))


def test_a_pool_that_never_becomes_ready_holds_no_node(kubernetes: Kubernetes) -> None:
    settings = ["ps.replicas=0", "worker.replicas=1", "workerPools[0].name=bad", "workerPools[0].replicas=2"]
    broken = "workerPools[0].extraArgs[0]=--no-such-flag"
    gone = ""  # the pod that was evicted, which is there for a moment still
    for policy, fine in (("AlwaysAllow", True), ("IfHealthyBudget", False)):
        value = f"workerPools[0].podDisruptionBudget.unhealthyPodEvictionPolicy={policy}"
        kubernetes.install("pools", *settings, broken, value, wait=False, upgrade=policy != "AlwaysAllow")
        pod = "pools-tensorfleet-bad-1"

        def failed(pod: str = pod, gone: str = gone) -> bool:
            found = kubernetes.pod(pod)
            # One that does not run yet may be evicted whatever the policy.
            if not found or found["metadata"]["uid"] == gone or found["status"]["phase"] != "Running":
                return False
            statuses = found["status"].get("containerStatuses", ())
            return any(status["restartCount"] or "terminated" in status["state"] for status in statuses)

        def observed(policy: str = policy) -> bool:
            budget = kubernetes.get("poddisruptionbudget", "pools-tensorfleet-bad")
            seen = budget.get("status", {}).get("observedGeneration") == budget["metadata"]["generation"]
            return seen and budget["spec"]["unhealthyPodEvictionPolicy"] == policy

        kubernetes.wait_for("its container ends", failed)
        kubernetes.wait_for("the budget is known", observed)
        gone = kubernetes.pod(pod)["metadata"]["uid"]
        done = evict(kubernetes, pod)
        assert (done.returncode == 0) is fine, done.stderr
        assert fine or "disruption budget" in done.stderr
    kubernetes.helm("uninstall", "pools", "--wait")


def test_switching_autoscaling_on_leaves_the_workers_alone(kubernetes: Kubernetes) -> None:
    settings = ["ps.replicas=0", "worker.slots=4"]
    kubernetes.install("scaled", *settings, "worker.replicas=3", wait=False)
    name = "scaled-tensorfleet-worker"
    generation = kubernetes.get("statefulset", name)["metadata"]["generation"]
    on = ["worker.autoscaling.enabled=true", "worker.autoscaling.minReplicas=1"]
    kubernetes.install("scaled", *settings, *on, wait=False, upgrade=True)
    found = kubernetes.get("statefulset", name)
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (3, generation)
    kubernetes.helm("uninstall", "scaled", "--wait")


@pytest.fixture
def restricted(fleet: Kubernetes) -> Iterator[Kubernetes]:
    fleet.kubectl("label", "namespace", fleet.namespace, f"{RESTRICTED}=restricted", "--overwrite")
    yield fleet
    fleet.kubectl("label", "namespace", fleet.namespace, f"{RESTRICTED}-")


def test_what_is_printed_works_in_a_restricted_namespace(restricted: Kubernetes) -> None:
    notes = restricted.helm("get", "notes", RELEASE).replace("\\\n", "")
    commands = [line.strip() for line in notes.splitlines() if re.match(r"  (kubectl|helm) ", line)]

    def run(part: str, input: str = "") -> str:
        (found,) = [command for command in commands if part in command]
        # There is no terminal here.
        command = found.replace(" -it ", " -i ")
        done = subprocess.run(command, shell=True, input=input, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for role in ("ps", "worker"):
        assert "condition met" in run(f"wait statefulset/{FULLNAME}-{role} ")
    assert "agrees with NumPy" in run(f" test {RELEASE} --logs")
    client = (
        "import os, tensorfleet as tf\n"
        "print(tf.Session(os.environ['TENSORFLEET_ADDRESS']).run(tf.constant(37)))\n"
    )
    assert "37" in run(f" run {RELEASE}-shell ", client).split()
    assert "tensorfleet_build_info" in run("/metrics")
    (upgrade,) = [command for command in commands if " upgrade " in command]
    assert "--reset-then-reuse-values" in upgrade


def test_rules_without_their_operator_name_the_value(kubernetes: Kubernetes) -> None:
    with pytest.raises(AssertionError, match=r"set metrics\.rules\.enabled to false"):
        kubernetes.install("watched", "metrics.rules.enabled=true", wait=False)


def test_submit_brings_folders_and_packages(fleet: Kubernetes, tmp_path: Path) -> None:
    (tmp_path / "parts" / "inner").mkdir(parents=True)
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "parts" / "inner" / "text.py").write_text("TEXT = 'from the folder'\n")
    (tmp_path / "requirements.txt").write_text("mine\nnumpy\n")
    wheel = tmp_path / make_wheel(tmp_path, "numpy>=1")
    script = tmp_path / "script.py"
    script.write_text(
        "import os, mine, tensorfleet\nfrom parts.inner.text import TEXT\n"
        "print(TEXT, mine.WHO, os.environ['TENSORFLEET_CONTAINER'])\n"
    )
    missing = submit(fleet, str(script))
    assert missing.returncode == 1
    assert "the pod has no module mine" in missing.stderr
    parts = ["--file", str(tmp_path / "parts")]
    packages = ["--requirements", str(tmp_path / "requirements.txt"), "--requirements", str(wheel)]
    done = submit(fleet, str(script), *parts, *packages)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "from the folder mine script\n"
    # Without a wheel, pip asks an index, which no pod of the tests reaches.
    index = ["--env", "PIP_INDEX_URL=http://127.0.0.1:9/simple", "--env", "PIP_RETRIES=0"]
    done = submit(fleet, str(script), *parts, "--requirements", str(tmp_path / "requirements.txt"), *index)
    assert done.returncode == 125
    assert "PIP_INDEX_URL" in done.stdout


def test_programs_do_not_meet(fleet: Kubernetes, tmp_path: Path) -> None:
    script = tmp_path / "add.py"
    script.write_text(
        "import os, sys, tensorfleet as tf\n"
        "with tf.device('/job:ps/task:0'):\n    v = tf.get_variable('v', initializer=0)\n"
        "with tf.Session(os.environ['TENSORFLEET_ADDRESS']) as session:\n"
        "    if sys.argv[1:]:\n        session.run(v.initializer)\n"
        "    print(session.run(v.assign_add(1)))\n"
    )
    runs = [["new"], ["new", "--name", "other"], ["--name", "other"], []]
    printed = []
    for arguments in runs:
        done = submit(fleet, str(script), *arguments)
        assert done.returncode == 0, done.stderr
        printed.append(int(done.stdout))
    assert printed == [1, 1, 2, 2]


def test_all_ps_are_updated_at_once_where_kubernetes_can(kubernetes: Kubernetes) -> None:
    """So a program that was training restores once, and not once for each of them."""
    kubernetes.install("many", "ps.replicas=3", "worker.replicas=1", "ps.updateStrategy.type=RollingUpdate")
    try:
        pods = [f"many-tensorfleet-ps-{i}" for i in range(3)]
        kubernetes.wait_ready(*pods)
        spec = kubernetes.get("statefulset", "many-tensorfleet-ps")["spec"]
        if "maxUnavailable" not in spec["updateStrategy"]["rollingUpdate"]:
            pytest.skip("this Kubernetes is without its feature MaxUnavailableStatefulSet")
        before = {pod: kubernetes.get("pod", pod)["metadata"]["uid"] for pod in pods}
        kubernetes.kubectl("rollout", "restart", "statefulset/many-tensorfleet-ps")

        def found() -> list[dict[str, Any]]:
            return [item for item in map(kubernetes.pod, pods) if item is not None and is_ready(item)]

        def all_new() -> bool:
            return {item["metadata"]["uid"] for item in found()}.isdisjoint(before.values()) and len(
                found()
            ) == 3

        kubernetes.wait_for("all are new", all_new, 120)
        ready = [
            c["lastTransitionTime"]
            for p in found()
            for c in p["status"]["conditions"]
            if c["type"] == "Ready"
        ]
        assert max(p["metadata"]["creationTimestamp"] for p in found()) < min(ready)
    finally:
        kubernetes.helm("uninstall", "many", "--wait")
