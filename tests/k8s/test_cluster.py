"""A release of the chart with the real image: its own test, programs from pods and from here."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.session.transport_stream import StreamTransport
from tests.k8s.kubernetes import FULLNAME, PROGRAMS, RELEASE, Done, Kubernetes, is_ready, program, task_pods

DIAL = """
import socket, sys
for address in sys.argv[1:]:
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), 3).close()
        print("open")
    except OSError as error:
        print("closed", error)
"""


def command(kubernetes: Kubernetes, *arguments: str, **environment: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tensorfleet.cli.main",
        arguments[0],
        "--release",
        RELEASE,
        "-n",
        kubernetes.namespace,
        *arguments[1:],
    ]


def submit(kubernetes: Kubernetes, *arguments: str, kubeconfig: Path | None = None) -> Done:
    environment = {**os.environ, **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})}
    return subprocess.run(
        command(kubernetes, "submit", *arguments),
        capture_output=True,
        text=True,
        timeout=180,
        env=environment,
    )


def nothing_is_left(kubernetes: Kubernetes) -> bool:
    return not any(
        kubernetes.get(kind, selector="app.kubernetes.io/component=submit")
        for kind in ("jobs", "pods", "configmaps")
    )


def test_all_tasks_are_ready(fleet: Kubernetes) -> None:
    pods = task_pods(fleet)
    assert sorted(pod["metadata"]["name"] for pod in pods) == [
        f"{FULLNAME}-{name}" for name in ("ps-0", "worker-0", "worker-1")
    ]
    # `helm --wait` does not wait for the ps, which are updated only when they are deleted.
    fleet.wait_ready(*(pod["metadata"]["name"] for pod in pods))
    assert all(map(is_ready, task_pods(fleet)))
    log = fleet.kubectl("logs", f"{FULLNAME}-ps-0").splitlines()
    assert all(json.loads(line)["task"] == "/job:ps/task:0" for line in log)


def test_helm_test(fleet: Kubernetes) -> None:
    assert "agrees with NumPy" in fleet.helm("test", RELEASE, "--logs")


def test_238_from_a_client_pod(fleet: Kubernetes) -> None:
    done = fleet.python("client", program("add_238.py"), "4")
    assert done.stdout == "238 StreamTransport\n", done.stderr
    assert done.returncode == 4


def test_map_reduce_from_a_client_pod(fleet: Kubernetes) -> None:
    address = f"grpc://{FULLNAME}:2222"
    text = fleet.kubectl(
        "exec", "client", "--", "tensorfleet", "demo", "--address", address, "--workers", "2"
    )
    assert "NumPy" in text


def test_training_as_a_job(fleet: Kubernetes) -> None:
    done = submit(fleet, str(PROGRAMS / "train_mnist.py"), "300")
    assert done.returncode == 0, done.stderr
    steps, accuracy = done.stdout.split()[0], float(done.stdout.split()[-1])
    assert steps == "300"
    assert accuracy > 0.8
    fleet.wait_for("the Job is removed", lambda: nothing_is_left(fleet))


def test_a_jobs_code_and_output_are_the_scripts(fleet: Kubernetes, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("TEXT = 'of the helper'\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, helper\n"
        "print(helper.TEXT, sys.argv[1:], open('helper.py').read().count('helper'))\n"
        "print(os.getuid(), flush=True)\n"
        "open('/tmp/x', 'w').close()\n"
        "try: open('/x', 'w')\n"
        "except OSError as error: print(error.strerror, file=sys.stderr)\n"
        "sys.exit(7)\n"
    )
    done = submit(fleet, str(script), "a", "--file", str(tmp_path / "helper.py"), "--", "--b", "$(HOME)")
    assert done.returncode == 7, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "10001",
        "Read-only file system",
        "of the helper ['a', '--b', '$(HOME)'] 1",
    ]
    fleet.wait_for("the Job is removed", lambda: nothing_is_left(fleet))


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--image", "localhost/none:1", "--pull-policy", "Never"], "ErrImageNeverPull"),
        (["--cpu", "500", "--start-seconds", "2"], "Insufficient cpu"),
        (["--timeout", "3"], "DeadlineExceeded"),
    ],
)
def test_a_job_that_cannot_run(fleet: Kubernetes, tmp_path: Path, flags: list[str], text: str) -> None:
    script = tmp_path / "script.py"
    script.write_text("import time; time.sleep(600)\n")
    done = submit(fleet, str(script), *flags)
    assert done.returncode == 125
    assert text in done.stderr
    fleet.wait_for("the Job is removed", lambda: nothing_is_left(fleet))


def test_ctrl_c_removes_the_job(fleet: Kubernetes, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import time; print('begun', flush=True); time.sleep(600)\n")
    with subprocess.Popen(
        command(fleet, "submit", str(script)), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
        finally:
            process.kill()
    fleet.wait_for("the Job is removed", lambda: nothing_is_left(fleet))


def role_of_the_docs() -> str:
    """The rules that docs/cli.md says to be enough."""
    text = (PROGRAMS.parents[2] / "docs" / "cli.md").read_text().partition("## Permissions")[2]
    return text.partition("```yaml\n")[2].partition("```")[0]


@pytest.fixture
def account(fleet: Kubernetes, tmp_path: Path) -> Path:
    """A kubeconfig of a user without any rights."""
    fleet.kubectl("create", "serviceaccount", "user")
    token = fleet.kubectl("create", "token", "user").strip()
    config = tmp_path / "kubeconfig"
    raw = json.loads(fleet.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    raw["users"][0]["user"] = {"token": token}
    config.write_text(json.dumps(raw))
    return config


def test_the_documented_role_is_enough(fleet: Kubernetes, account: Path) -> None:
    refused = submit(fleet, str(PROGRAMS / "add_238.py"), kubeconfig=account)
    assert refused.returncode == 125
    assert 'cannot list resource "configmaps"' in refused.stderr
    head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: user}\n"
    fleet.kubectl("apply", "-f", "-", input=head + role_of_the_docs())
    account_name = f"{fleet.namespace}:user"
    fleet.kubectl("create", "rolebinding", "user", "--role=user", f"--serviceaccount={account_name}")
    done = submit(fleet, str(PROGRAMS / "add_238.py"), kubeconfig=account)
    assert done.stdout == "238 StreamTransport\n", done.stderr
    fleet.wait_for("the Job is removed", lambda: nothing_is_left(fleet))
    with connected(fleet, account, "127.0.0.3") as target, tf.Graph().as_default():
        x = tf.constant(1)
        with tf.Session(target) as session:
            assert session.run(x) == 1


def test_only_labelled_pods_reach_the_tasks(fleet: Kubernetes) -> None:
    addresses = [f"{FULLNAME}:2222", f"{FULLNAME}:2223", f"{FULLNAME}-ps-0.{FULLNAME}-ps:2222"]
    assert fleet.python("client", DIAL, *addresses).stdout == "open\n" * 3
    refused = fleet.python("stranger", DIAL, *addresses).stdout.splitlines()
    assert [line.partition(" ")[0] for line in refused] == ["closed"] * 3


@contextlib.contextmanager
def connected(kubernetes: Kubernetes, kubeconfig: Path | None, host: str) -> Iterator[str]:
    """The address that `tensorfleet connect` prints, while it runs; the rest is in this environment."""
    environment = {**os.environ, **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})}
    with subprocess.Popen(
        command(kubernetes, "connect", "--address", host), stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("export TENSORFLEET_ADDRESS=grpc://" + host)
            printed = dict(part.split("=", 1) for part in shlex.split(line)[1:])
            with pytest.MonkeyPatch.context() as patch:
                for name, value in printed.items():
                    patch.setenv(name, value)
                yield printed["TENSORFLEET_ADDRESS"]
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_session_from_here_through_forwarded_ports(fleet: Kubernetes) -> None:
    with connected(fleet, None, "127.0.0.2") as target, tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/job:worker/task:1"):
            y = x * 2
        with tf.Session(target) as session:
            values = np.arange(2_000_000, dtype=np.float32)
            np.testing.assert_array_equal(session.run(y, {x: values}), values * 2)
            assert isinstance(session._transport, StreamTransport)
        fleet.kubectl("delete", "pod", f"{FULLNAME}-worker-0", "--wait=false")
        fleet.wait_for("the pod is new", lambda: session_works(target), 90)
    fleet.wait_ready(f"{FULLNAME}-worker-0")


def session_works(target: str) -> bool:
    try:
        with tf.Graph().as_default():
            one = tf.constant(1)
            with tf.Session(target) as session:
                return bool(session.run(one) == 1)
    except tf.errors.OpError:
        return False


def test_the_cluster_is_found_by_its_release_and_by_labels(fleet: Kubernetes) -> None:
    spec = tf.train.ClusterSpec.from_kubernetes(RELEASE, fleet.namespace)
    assert {job: spec.num_tasks(job) for job in spec.jobs} == {"ps": 1, "worker": 2}
    assert spec.task_address("worker", 1).startswith(
        f"{FULLNAME}-worker-1.{FULLNAME}-worker.{fleet.namespace}.svc."
    )
    from kubernetes import client, config

    config.load_kube_config(os.environ.get("KUBECONFIG"))
    resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver(
        {job: [f"app.kubernetes.io/instance={RELEASE},tensorfleet.io/job={job}"] for job in ("ps", "worker")},
        2222,
        override_client=client.CoreV1Api(),
    )
    ips = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in task_pods(fleet)}
    assert resolver.cluster_spec().as_dict() == {
        "ps": [f"{ips[f'{FULLNAME}-ps-0']}:2222"],
        "worker": [f"{ips[f'{FULLNAME}-worker-{i}']}:2222" for i in range(2)],
    }
