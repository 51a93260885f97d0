"""The release as it is installed: who is let in, and how its credentials are renewed."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterator

import pytest

from tensorfleet.security import tokens
from tests.k8s.kubernetes import (
    FULLNAME,
    PROGRAMS,
    RELEASE,
    Done,
    Kubernetes,
    Object,
    env,
    pod_manifest,
    program,
    sleeping,
    task_pods,
    with_credentials,
)

MASTER = f"{FULLNAME}-worker-0.{FULLNAME}-worker"
PS = f"{FULLNAME}-ps-0.{FULLNAME}-ps"

SHOW = """
import os, sys
import tensorfleet as tf
x = tf.constant(2) + 3
config = tf.ConfigProto(operation_timeout_in_ms=15000)
try:
    with tf.Session(os.environ["TENSORFLEET_ADDRESS"], config=config) as session:
        print("let in", session.run(x))
except tf.errors.OpError as error:
    print(type(error).__name__, error.message)
"""


def show(kubernetes: Kubernetes, *changes: str) -> str:
    """What comes of a session from the client's pod, with changes of its environment."""
    done = kubernetes.try_kubectl("exec", "-i", "client", "--", "env", *changes, "python", "-", input=SHOW)
    assert done.returncode == 0, done.stderr
    return done.stdout


def secret(kubernetes: Kubernetes, name: str) -> dict[str, bytes]:
    return {k: base64.b64decode(v) for k, v in kubernetes.get("secret", name).get("data", {}).items()}


def test_a_pod_without_a_token_is_refused(fleet: Kubernetes) -> None:
    assert show(fleet) == "let in 5\n"
    for transport in ("stream", "grpc"):
        way = f"TENSORFLEET_TRANSPORT={transport}"
        assert show(fleet, way) == "let in 5\n"
        without = show(fleet, way, "TENSORFLEET_TOKEN_FILE=")
        assert without.startswith("UnauthenticatedError"), without
        assert "shows no token" in without
        wrong = show(fleet, way, "TENSORFLEET_TOKEN_FILE=", "TENSORFLEET_TOKEN=tft_" + "x" * 43)
        assert wrong.startswith("UnauthenticatedError"), wrong
    plain = [f"TENSORFLEET_TLS_{name}=" for name in ("CERT", "KEY", "CA")]
    assert not show(fleet, *plain, "TENSORFLEET_TOKEN_FILE=").startswith("let in")


def test_the_metric_says_that_it_is_secure(fleet: Kubernetes) -> None:
    read = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/metrics').read().decode())"
    text = fleet.python(f"{FULLNAME}-worker-0", read).stdout
    assert "\ntensorfleet_insecure 0.0\n" in text, text
    assert "TENSORFLEET_INSECURE" not in fleet.kubectl("get", "pods", "-o", "yaml")


def test_a_revoked_token_is_refused_within_seconds(fleet: Kubernetes) -> None:
    """The tokens are a user's to change; what the Job has made before it does not make again."""
    name = f"{FULLNAME}-tokens"
    before = secret(fleet, name)["tokens.json"].decode()
    known = tokens.parse(before.encode())
    assert [(token.name, token.role) for token in known] == [("client", "run")]
    text = secret(fleet, f"{FULLNAME}-client")["token"].decode()
    assert text not in before
    patch_tokens(fleet, '{"tokens": []}')
    try:
        fleet.wait_for("refused", lambda: "the token is not known" in show_anew(fleet), 150)
    finally:
        patch_tokens(fleet, before)
    fleet.wait_for("let in again", lambda: show_anew(fleet) == "let in 5\n", 150)


def show_anew(kubernetes: Kubernetes) -> str:
    mount_secrets(kubernetes)
    return show(kubernetes)


def mount_secrets(kubernetes: Kubernetes) -> None:
    """Has the kubelet mount the Secrets of all tasks anew: at a change of the pod, else once a minute."""
    pods = [pod["metadata"]["name"] for pod in task_pods(kubernetes)]
    kubernetes.kubectl("annotate", "pod", *pods, "--overwrite", f"tests/looked-at={time.time_ns()}")


def patch_tokens(kubernetes: Kubernetes, text: str) -> None:
    patch = json.dumps({"stringData": {"tokens.json": text}})
    kubernetes.kubectl("patch", "secret", f"{FULLNAME}-tokens", "--type=merge", "-p", patch)


def serial(kubernetes: Kubernetes, address: str) -> str:
    mount_secrets(kubernetes)
    done = kubernetes.python("client", program("serial.py"), address, FULLNAME)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_training_survives_a_rotation_of_all_certificates(fleet: Kubernetes) -> None:
    fleet.kubectl("cp", str(PROGRAMS / "steps.py"), "client:/tmp/steps.py")
    pods = {pod["metadata"]["uid"] for pod in task_pods(fleet)}
    tasks = (f"{MASTER}:2223", f"{PS}:2223", f"{MASTER}:2222")
    before = {address: serial(fleet, address) for address in tasks}
    command = ["kubectl", "-n", fleet.namespace, "exec", "-i", "client", "--", "python", "/tmp/steps.py"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            seen = [int(process.stdout.readline()) for _ in range(20)]
            fleet.install(RELEASE, "security.rotation=again", upgrade=True)
            for address, old in before.items():
                fleet.wait_for(
                    f"a new certificate at {address}",
                    lambda address=address, old=old: serial(fleet, address) != old,
                    150,
                )
            # Of them most come from before; the last ones are of now.
            process.stdin.write("\n")
            seen += map(int, process.stdout.read().split())
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert seen == list(range(1, len(seen) + 1)), "no step failed, and none was lost"
    assert {pod["metadata"]["uid"] for pod in task_pods(fleet)} == pods, "no task was restarted"
    assert show(fleet) == "let in 5\n"


CA_FILE = "import os; print(open(os.environ['TENSORFLEET_TLS_CA']).read())"


def take_a_step(kubernetes: Kubernetes, number: int) -> str:
    """Runs the Job of the credentials once; the CAs that all pods have after it, in PEM."""
    name = f"step-of-ca-{number}"
    kubernetes.kubectl("create", "job", f"--from=cronjob/{FULLNAME}-credentials", name)
    kubernetes.kubectl("wait", f"job/{name}", "--for=condition=complete", "--timeout=120s")
    trusted = secret(kubernetes, f"{FULLNAME}-ca")["ca.pem"].decode().strip()
    pods = [*(pod["metadata"]["name"] for pod in task_pods(kubernetes)), "client"]

    def everywhere() -> bool:
        kubernetes.kubectl("annotate", "pod", *pods, "--overwrite", f"tests/looked-at={time.time_ns()}")
        return all(kubernetes.python(pod, CA_FILE).stdout.strip() == trusted for pod in pods)

    kubernetes.wait_for("the same CAs in all pods", everywhere, 150)
    return trusted


def test_training_survives_another_ca(fleet: Kubernetes) -> None:
    """Its three steps, one after the other, without the ten minutes between them."""
    fleet.kubectl("cp", str(PROGRAMS / "steps.py"), "client:/tmp/steps.py")
    name = f"{FULLNAME}-ca"
    old = secret(fleet, name)["ca.pem"].decode().strip()
    pods = {pod["metadata"]["uid"] for pod in task_pods(fleet)}
    before = {address: serial(fleet, address) for address in (f"{MASTER}:2223", f"{PS}:2223")}
    command = ["kubectl", "-n", fleet.namespace, "exec", "-i", "client", "--", "python", "/tmp/steps.py"]

    def patch(**data: str) -> None:
        fleet.kubectl("patch", "secret", name, "--type=merge", "-p", json.dumps({"stringData": data}))

    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            seen = [int(process.stdout.readline()) for _ in range(20)]
            patch(rotate="yes")
            both = take_a_step(fleet, 1)
            assert both.startswith(old)
            assert both != old
            assert show(fleet) == "let in 5\n"
            patch(since="2000-01-01T00:00:00+00:00")
            signing = take_a_step(fleet, 2)
            assert signing.endswith(old)
            for address, serial_before in before.items():
                fleet.wait_for(
                    f"a certificate of the new CA at {address}",
                    lambda address=address, old=serial_before: serial(fleet, address) != old,
                    150,
                )
            assert show(fleet) == "let in 5\n"
            patch(since="2000-01-01T00:00:00+00:00")
            assert take_a_step(fleet, 3) == signing.removesuffix(old).strip()
            assert show(fleet) == "let in 5\n"
            process.stdin.write("\n")
            seen += map(int, process.stdout.read().split())
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert seen == list(range(seen[0], seen[0] + len(seen))), "no step failed, and none was lost"
    assert {pod["metadata"]["uid"] for pod in task_pods(fleet)} == pods, "no task was restarted"


@pytest.fixture
def other(fleet: Kubernetes) -> Iterator[Kubernetes]:
    """Another release beside it, and a pod that the NetworkPolicy lets through, with that one's certificate.

    It trusts the first release, as an attacker would.
    """
    fleet.install("other", "worker.replicas=1", "ps.replicas=0")
    pod = pod_manifest("intruder", fleet.image, {"shell": sleeping()}, {f"{RELEASE}-client": "true"})
    theirs = {
        "name": "other-tensorfleet-worker-tls",
        "items": [
            {"key": "worker-0.pem", "path": "own.pem"},
            {"key": "worker-0-key.pem", "path": "own-key.pem"},
        ],
    }
    ours = {"name": f"{FULLNAME}-client", "items": [{"key": "ca.pem", "path": "ca.pem"}]}
    sources = [{"secret": theirs}, {"secret": ours}]
    pod["spec"]["volumes"].append({"name": "stolen", "projected": {"sources": sources}})
    pod["spec"]["containers"][0]["volumeMounts"].append({"name": "stolen", "mountPath": "/stolen"})
    fleet.apply(pod)
    fleet.wait_ready("intruder")
    yield fleet
    fleet.kubectl("delete", "pod", "intruder", "--wait=false")
    fleet.helm("uninstall", "other", "--wait")


def intrude(kubernetes: Kubernetes, pod: str, directory: str) -> Done:
    task = "/job:worker/replica:0/task:0"
    return kubernetes.python(pod, program("intrude.py"), directory, task, f"{PS}:2223", f"{MASTER}:2223")


def test_a_pod_of_another_release_cannot_join_as_a_task(other: Kubernetes) -> None:
    """It has a certificate that says /job:worker/task:0, of its own release's CA."""
    done = intrude(other, "intruder", "/stolen")
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all("unknown ca" in line.replace("_", " ").lower() for line in lines), lines
    # Its own tasks are not even reached from there, as the NetworkPolicy is of its release.
    assert "let in" not in done.stdout


def test_a_clients_certificate_does_not_make_it_a_task(fleet: Kubernetes) -> None:
    directory = "/tmp/mine"
    files = {"own.pem": "client.pem", "own-key.pem": "client-key.pem", "ca.pem": "ca.pem"}
    lines = [f"cp /run/secrets/tensorfleet/{there} {directory}/{here}" for here, there in files.items()]
    script = " && ".join([f"mkdir -p {directory}", *lines])
    fleet.kubectl("exec", "client", "--", "sh", "-c", script)
    done = intrude(fleet, "client", directory)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all(line.startswith("refused UnauthenticatedError") for line in lines), lines


def test_the_credentials_account_reads_nothing_else(fleet: Kubernetes) -> None:
    who = f"system:serviceaccount:{fleet.namespace}:{FULLNAME}-credentials"

    def may(*what: str) -> str:
        return fleet.try_kubectl("auth", "can-i", *what, "--as", who).stdout.strip()

    assert may("get", f"secrets/{FULLNAME}-ca") == "yes"
    assert may("patch", f"secrets/{FULLNAME}-worker-tls") == "yes"
    for what in (("list", "secrets"), ("get", "secrets/any"), ("create", "secrets"), ("get", "pods")):
        assert may(*what) == "no", what
    tasks = f"system:serviceaccount:{fleet.namespace}:{FULLNAME}"
    assert fleet.try_kubectl(
        "auth", "can-i", "get", f"secrets/{FULLNAME}-ca", "--as", tasks
    ).stdout.strip() == ("no")


def test_no_key_is_in_what_helm_keeps(fleet: Kubernetes) -> None:
    text = fleet.helm("get", "all", RELEASE)
    assert f"name: {FULLNAME}-ca\n" in text.replace('"', "")
    assert "PRIVATE KEY" not in text
    for name in ("ca", "worker-tls", "client"):
        for value in fleet.get("secret", f"{FULLNAME}-{name}")["data"].values():
            assert value not in text


def test_a_task_needs_no_shell(fleet: Kubernetes) -> None:
    """Its first process is Python, and so are all others."""
    script = (
        "import os\n"
        "for pid in filter(str.isdecimal, os.listdir('/proc')):\n"
        "    print(os.path.basename(os.readlink(f'/proc/{pid}/exe')).rstrip('0123456789.'))\n"
    )
    done = fleet.python(f"{FULLNAME}-ps-0", script)
    assert set(done.stdout.split()) == {"python"}, done.stdout + done.stderr


ACCOUNT_TOKEN = "/var/run/account/token"


def with_account_token(pod: Object, account: str) -> Object:
    """The pod with a token of its ServiceAccount for the audience `tensorfleet`, as docs/security.md says."""
    source = {"serviceAccountToken": {"audience": "tensorfleet", "expirationSeconds": 600, "path": "token"}}
    pod["spec"]["serviceAccountName"] = account
    pod["spec"]["volumes"].append({"name": "account", "projected": {"sources": [source]}})
    (container,) = pod["spec"]["containers"]
    container["volumeMounts"].append({"name": "account", "mountPath": "/var/run/account"})
    container["env"] = [item for item in container["env"] if item["name"] not in CHANGED]
    container["env"] += env(
        TENSORFLEET_ADDRESS="grpc://reviewed-tensorfleet:2222", TENSORFLEET_TOKEN_FILE=ACCOUNT_TOKEN
    )
    return pod


CHANGED = ("TENSORFLEET_ADDRESS", "TENSORFLEET_TOKEN_FILE")


@pytest.fixture
def reviewed(kubernetes: Kubernetes) -> Iterator[Kubernetes]:
    """A release that knows the ServiceAccount `alice`, with its metrics by HTTPS for those with a token."""
    kubernetes.install(
        "reviewed",
        "worker.replicas=1",
        "ps.replicas=0",
        "security.tokenReview.enabled=true",
        f"security.tokenReview.serviceAccounts.{kubernetes.namespace}/alice=run",
        "metrics.tls.enabled=true",
        "metrics.access=token",
    )
    for name in ("alice", "bob"):
        kubernetes.kubectl("create", "serviceaccount", name)
        label = {"reviewed-client": "true"}
        pod = pod_manifest(name, kubernetes.image, {"shell": sleeping()}, label)
        kubernetes.apply(with_account_token(with_credentials(pod, "reviewed-tensorfleet"), name))
    kubernetes.wait_ready("alice", "bob")
    yield kubernetes
    kubernetes.kubectl("delete", "pod", "alice", "bob", "--wait=false")
    kubernetes.kubectl("delete", "serviceaccount", "alice", "bob")
    kubernetes.helm("uninstall", "reviewed", "--wait")


def test_service_accounts_and_metrics_by_https(reviewed: Kubernetes) -> None:
    """The release is ready, so the kubelet's probes get along with HTTPS."""
    shown = {name: reviewed.python(name, SHOW).stdout for name in ("alice", "bob")}
    assert shown["alice"] == "let in 5\n"
    account = f"system:serviceaccount:{reviewed.namespace}:bob"
    assert f"{account} has no role here" in shown["bob"]
    # Of another audience, such as the one of Kubernetes' API, it is none.
    other = reviewed.kubectl("create", "token", "alice").strip()
    way = ("env", "TENSORFLEET_TOKEN_FILE=", f"TENSORFLEET_TOKEN={other}")
    done = reviewed.try_kubectl("exec", "-i", "alice", "--", *way, "python", "-", input=SHOW)
    assert done.stdout.startswith("UnauthenticatedError"), done.stdout + done.stderr

    notes = reviewed.helm("get", "notes", "reviewed").replace("\\\n", "")
    (command,) = [line for line in notes.splitlines() if "/metrics" in line]
    page = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert "tensorfleet_build_info" in page.stdout, page.stderr
    read = (
        "import os, ssl, urllib.request as r\n"
        "context = ssl.create_default_context(cafile=os.environ['TENSORFLEET_TLS_CA'])\n"
        "try: r.urlopen('https://localhost:8080/metrics', context=context)\n"
        "except r.HTTPError as error: print(error.code)\n"
    )
    done = reviewed.python("reviewed-tensorfleet-worker-0", read)
    assert done.stdout == "401\n", done.stdout + done.stderr
