"""Killed pods, a cluster that grows and shrinks, what uninstalling leaves: as docs/kubernetes.md says."""

from __future__ import annotations

import pytest

from tests.k8s.kubernetes import FULLNAME, RELEASE, Done, Kubernetes, is_ready, program

WORKERS = [f"{FULLNAME}-worker-{i}" for i in range(2)]
PS = f"{FULLNAME}-ps-0"
CLAIM = f"data-{PS}"
KEPT = "/var/lib/tensorfleet/kept"

STEPS = """
import os, sys, time
import tensorfleet as tf
with tf.device("/job:ps/task:0"):
    total = tf.Variable(0, name="total")
with tf.device("/job:worker/task:1"):
    three = tf.placeholder(tf.int32, [])
    one = three - 2
add = tf.assign_add(total, one)
with tf.Session(os.environ["TENSORFLEET_ADDRESS"]) as session:
    session.run(total.initializer)
    print("begun", flush=True)
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            session.run(add, {three: 3})
            time.sleep(0.01)
        print("no error")
    except tf.errors.OpError as error:
        print(type(error).__name__, error.message)
"""


def counter(kubernetes: Kubernetes, *arguments: str) -> Done:
    return kubernetes.python("client", program("counter.py"), *arguments)


def uid(kubernetes: Kubernetes, pod: str) -> str | None:
    found = kubernetes.pod(pod)
    return found["metadata"]["uid"] if found else None


def renewed(kubernetes: Kubernetes, pod: str, before: str | None) -> bool:
    return uid(kubernetes, pod) not in (None, before) and is_ready(kubernetes.pod(pod))


def delete(kubernetes: Kubernetes, pod: str, *flags: str) -> None:
    """Deletes a pod, and waits for the one that takes its place."""
    before = uid(kubernetes, pod)
    kubernetes.kubectl("delete", "pod", pod, "--wait=false", *flags)
    kubernetes.wait_for(f"{pod} comes again", lambda: renewed(kubernetes, pod, before), 90)


def test_variables_outlive_a_worker(fleet: Kubernetes) -> None:
    assert counter(fleet, "init").stdout == "40\n"
    delete(fleet, WORKERS[1], "--grace-period=0", "--force")
    added = counter(fleet, "add", "1")
    assert added.stdout == "41\n", added.stderr


def test_steps_that_use_a_killed_worker_fail_and_name_it(fleet: Kubernetes) -> None:
    import subprocess

    command = ["kubectl", "-n", fleet.namespace, "exec", "-i", "client", "--", "python", "-c", STEPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            delete(fleet, WORKERS[1], "--grace-period=0", "--force")
            error = process.stdout.read()
        finally:
            process.kill()
    assert error.startswith(("UnavailableError", "AbortedError")), error
    assert "/job:worker/replica:0/task:1" in error or "/job:worker/task:1" in error


def test_a_ps_loses_its_variables_and_keeps_its_volume(fleet: Kubernetes) -> None:
    fleet.kubectl("exec", PS, "--", "bash", "-c", f"echo here >{KEPT}")
    assert counter(fleet, "init").stdout == "40\n"
    delete(fleet, PS)
    lost = counter(fleet, "add", "0")
    assert lost.stdout.startswith("FailedPreconditionError"), lost.stdout + lost.stderr
    assert fleet.kubectl("exec", PS, "--", "cat", KEPT) == "here\n"


def test_a_drained_task_ends_with_code_0(fleet: Kubernetes) -> None:
    """Its container is restarted in the same pod, so that its last state is there to look at."""
    fleet.kubectl("exec", WORKERS[1], "--", "bash", "-c", "kill -TERM 1")

    def last() -> object:
        pod = fleet.pod(WORKERS[1])
        status = pod["status"]["containerStatuses"][0] if pod else {}
        return status.get("lastState", {}).get("terminated")

    ended = fleet.wait_for("the container ends", last)
    assert ended["exitCode"] == 0
    fleet.wait_ready(WORKERS[1])


def test_more_workers_and_back(fleet: Kubernetes) -> None:
    assert counter(fleet, "init").stdout == "40\n"
    before = {pod: uid(fleet, pod) for pod in (*WORKERS, PS)}
    fleet.install(RELEASE, "worker.replicas=3", upgrade=True)
    fleet.wait_for("new workers", lambda: all(renewed(fleet, pod, before[pod]) for pod in WORKERS), 120)
    fleet.wait_ready(f"{FULLNAME}-worker-2")
    assert uid(fleet, PS) == before[PS], "the ps was left alone"
    known = "/job:ps,/job:worker/task:0,/job:worker/task:1"
    added = counter(fleet, "add", "1", known)
    assert added.stdout == "41\n", added.stdout + added.stderr
    assert "has no task" in counter(fleet, "add", "2").stdout, "the ps does not know the new worker yet"
    delete(fleet, PS)
    assert counter(fleet, "init").stdout == "40\n"
    assert counter(fleet, "add", "2").stdout == "41\n"
    assert "agrees with NumPy" in fleet.helm("test", RELEASE, "--logs")

    before = {pod: uid(fleet, pod) for pod in WORKERS}
    fleet.helm("rollback", RELEASE, "1", "--wait", "--timeout", "120s")
    fleet.wait_for("old workers", lambda: all(renewed(fleet, pod, before[pod]) for pod in WORKERS), 120)
    fleet.wait_for("the third one goes", lambda: fleet.pod(f"{FULLNAME}-worker-2") is None)
    delete(fleet, PS)
    assert "agrees with NumPy" in fleet.helm("test", RELEASE, "--logs")
    assert fleet.kubectl("exec", PS, "--", "cat", KEPT) == "here\n"


def test_a_pod_that_its_cluster_spec_does_not_know_says_so(kubernetes: Kubernetes) -> None:
    kubernetes.install("alone", "worker.replicas=1", "ps.replicas=0", wait=False)
    kubernetes.kubectl("scale", "statefulset/alone-tensorfleet-worker", "--replicas=2")
    pod = "alone-tensorfleet-worker-1"

    def log() -> bool:
        return "TENSORFLEET_TASK_INDEX is 1, and the ClusterSpec has no such task" in "".join(
            kubernetes.try_kubectl("logs", pod, *flags).stdout for flags in ([], ["-p"])
        )

    kubernetes.wait_for("it says so", log)

    def codes() -> set[int]:
        statuses = kubernetes.get("pod", pod)["status"]["containerStatuses"]
        states = [state for status in statuses for state in (status["state"], status["lastState"])]
        return {state["terminated"]["exitCode"] for state in states if "terminated" in state}

    assert kubernetes.wait_for("its code", codes) == {2}
    kubernetes.helm("uninstall", "alone", "--wait")


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_uninstalling_keeps_or_deletes_the_volumes(fleet: Kubernetes, policy: str) -> None:
    fleet.install(RELEASE, f"ps.persistence.retentionPolicy.whenDeleted={policy}", upgrade=True)
    fleet.helm("uninstall", RELEASE, "--wait", "--timeout", "90s")
    if policy == "Retain":
        assert fleet.get("pvc", CLAIM)["status"]["phase"] == "Bound"
        fleet.install(RELEASE)
        assert fleet.kubectl("exec", PS, "--", "cat", KEPT) == "here\n"
        return
    fleet.wait_for(
        "the claim goes", lambda: not fleet.get("pvc", selector=f"app.kubernetes.io/instance={RELEASE}")
    )
    kinds = "statefulsets,services,configmaps,networkpolicies,poddisruptionbudgets,serviceaccounts,jobs"
    left = fleet.get(kinds, selector=f"app.kubernetes.io/instance={RELEASE}")
    assert not left, [item["metadata"]["name"] for item in left]
    fleet.wait_for(
        "the tasks go",
        lambda: not fleet.get("pods", selector=f"app.kubernetes.io/instance={RELEASE},tensorfleet.io/job"),
    )
