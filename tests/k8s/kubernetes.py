"""kubectl and helm in one namespace, for the tests."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm" / "tensorfleet"
PROGRAMS = Path(__file__).parent / "programs"
RELEASE = "fleet"
FULLNAME = f"{RELEASE}-tensorfleet"
ADDRESS = f"grpc://{FULLNAME}:2222"
SECONDS = 60.0

Object = dict[str, Any]
Done = subprocess.CompletedProcess[str]


class Kubernetes:
    """The namespace of the tests."""

    def __init__(self, namespace: str, image: str) -> None:
        self.namespace = namespace
        self.image = image

    def try_kubectl(self, *arguments: str, input: str | None = None, timeout: float = SECONDS) -> Done:
        command = ["kubectl", "-n", self.namespace, *arguments]
        return subprocess.run(command, input=input, capture_output=True, text=True, timeout=timeout)

    def kubectl(self, *arguments: str, input: str | None = None, timeout: float = SECONDS) -> str:
        return _checked(self.try_kubectl(*arguments, input=input, timeout=timeout))

    def helm(self, *arguments: str, timeout: float = 150.0) -> str:
        command = ["helm", "-n", self.namespace, *arguments]
        return _checked(subprocess.run(command, capture_output=True, text=True, timeout=timeout))

    def install(self, release: str, *settings: str, wait: bool = True, upgrade: bool = False) -> str:
        """Installs or upgrades a release of the chart with the image of this run."""
        repository, _, tag = self.image.rpartition(":")
        values = [
            f"image.repository={repository}",
            f"image.tag={tag}",
            "image.pullPolicy=Never",
            "defaults.resources.requests.cpu=20m",
            "defaults.resources.requests.memory=64Mi",
            "ps.persistence.size=64Mi",
            *settings,
        ]
        flags = [flag for value in values for flag in ("--set", value)]
        waiting = ["--wait", "--timeout", "120s"] if wait else []
        verb = "upgrade" if upgrade else "install"
        return self.helm(verb, release, str(CHART), *flags, *waiting)

    def get(self, kind: str, name: str = "", selector: str = "") -> Any:
        """An object, or the items of a list."""
        flags = [name] if name else (["-l", selector] if selector else [])
        found = json.loads(self.kubectl("get", kind, *flags, "-o", "json"))
        return found if name else found["items"]

    def apply(self, *objects: Object) -> None:
        self.kubectl("apply", "-f", "-", input="\n---\n".join(map(json.dumps, objects)))

    def python(self, pod: str, program: str, *arguments: str, timeout: float = SECONDS) -> Done:
        """Runs a Python program in a pod."""
        return self.try_kubectl(
            "exec", "-i", pod, "--", "python", "-", *arguments, input=program, timeout=timeout
        )

    def wait_for(self, what: str, condition: Callable[[], Any], seconds: float = SECONDS) -> Any:
        """Returns the condition's value as soon as it is true."""
        end = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            assert time.monotonic() < end, f"{what}: not within {seconds:g} s\n{self.describe()}"
            time.sleep(0.3)

    def wait_ready(self, *pods: str, seconds: float = SECONDS) -> None:
        self.wait_for(f"{pods} ready", lambda: all(is_ready(self.pod(pod)) for pod in pods), seconds)

    def pod(self, name: str) -> Object | None:
        done = self.try_kubectl("get", "pod", name, "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def describe(self) -> str:
        return self.try_kubectl("get", "pods,events", "-o", "wide").stdout[-4000:]


def _checked(done: Done) -> str:
    assert done.returncode == 0, f"{' '.join(done.args)}: code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def is_ready(pod: Object | None) -> bool:
    if pod is None or "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = pod["status"].get("conditions", ())
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def pod_manifest(
    name: str,
    image: str,
    containers: dict[str, dict[str, Any]],
    labels: dict[str, str] | None = None,
) -> Object:
    """A pod as the chart makes them: no root, a read-only file system, /tmp and /var/lib/tensorfleet."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "restartPolicy": "Never",
            "enableServiceLinks": False,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 5,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", "emptyDir": {}}],
            "containers": [
                {
                    "name": container,
                    "image": image,
                    "imagePullPolicy": "Never",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "tmp", "mountPath": "/tmp"},
                        {"name": "data", "mountPath": "/var/lib/tensorfleet"},
                    ],
                    **settings,
                }
                for container, settings in containers.items()
            ],
        },
    }


def with_credentials(pod: Object, fullname: str = FULLNAME) -> Object:
    """The pod with the token and the certificate of a release's clients, as docs/security.md says."""
    path = "/run/secrets/tensorfleet"
    keys = ("token", "ca.pem", "client.pem", "client-key.pem")
    # With its keys: then the pod waits until the Secret has them.
    items = [{"key": key, "path": key} for key in keys]
    secret = {"secretName": f"{fullname}-client", "items": items}
    pod["spec"]["volumes"].append({"name": "credentials", "secret": secret})
    for container in pod["spec"]["containers"]:
        container["volumeMounts"].append({"name": "credentials", "mountPath": path, "readOnly": True})
        container["env"] = container.get("env", []) + env(
            TENSORFLEET_TLS_CERT=f"{path}/client.pem",
            TENSORFLEET_TLS_KEY=f"{path}/client-key.pem",
            TENSORFLEET_TLS_CA=f"{path}/ca.pem",
            TENSORFLEET_TOKEN_FILE=f"{path}/token",
        )
    return pod


def env(**variables: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]


def sleeping() -> dict[str, Any]:
    """A container that waits for `kubectl exec`."""
    return {"command": ["sleep", "infinity"], "env": env(TENSORFLEET_ADDRESS=ADDRESS)}


def program(name: str) -> str:
    return (PROGRAMS / name).read_text()


def task_pods(kubernetes: Kubernetes, release: str = RELEASE) -> Sequence[Object]:
    return list(kubernetes.get("pods", selector=f"app.kubernetes.io/instance={release},tensorfleet.io/job"))
