"""The image: every role by environment variables, what it says when one is wrong, what is not in it."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.k8s.kubernetes import Kubernetes, env, pod_manifest

MAX_BYTES = 300_000_000  # NumPy, gRPC, cryptography and Pillow with their libraries take most of it
ROLES = ("ps", "worker", "chief", "evaluator")
CLUSTER = json.dumps({role: [f"127.0.0.1:{2222 + index}"] for index, role in enumerate(ROLES)})
OTHER_PORTS = {
    "TENSORFLEET_STREAM_PORT": "0",
    "TENSORFLEET_METRICS_PORT": "0",
    "TENSORFLEET_INSECURE": "yes",
}

WRONG = {
    "nothing": ({}, "TENSORFLEET_CLUSTER_SPEC"),
    "no-job": ({"TENSORFLEET_CLUSTER_SPEC": CLUSTER}, "TENSORFLEET_JOB_NAME"),
    "another-job": (
        {"TENSORFLEET_CLUSTER_SPEC": CLUSTER, "TENSORFLEET_JOB_NAME": "master"},
        "TENSORFLEET_JOB_NAME is 'master'",
    ),
    "another-task": (
        {
            "TENSORFLEET_CLUSTER_SPEC": CLUSTER,
            "TENSORFLEET_JOB_NAME": "ps",
            "TENSORFLEET_TASK_INDEX": "3",
        },
        "TENSORFLEET_TASK_INDEX is 3",
    ),
    "no-json": ({"TENSORFLEET_CLUSTER_SPEC": "{", "TENSORFLEET_JOB_NAME": "ps"}, "TENSORFLEET_CLUSTER_SPEC"),
    "port": (
        {
            "TENSORFLEET_CLUSTER_SPEC": CLUSTER,
            "TENSORFLEET_JOB_NAME": "ps",
            "TENSORFLEET_TASK_INDEX": "0",
            "TENSORFLEET_METRICS_PORT": "http",
        },
        "TENSORFLEET_METRICS_PORT",
    ),
}


def ended(kubernetes: Kubernetes, pod: str) -> dict[str, Any]:
    """The containers of a pod by name, when all have ended."""

    def states() -> dict[str, Any] | None:
        statuses = kubernetes.get("pod", pod)["status"].get("containerStatuses", ())
        found = {status["name"]: status["state"].get("terminated") for status in statuses}
        return found if found and all(found.values()) else None

    result: dict[str, Any] = kubernetes.wait_for(f"the containers of {pod} end", states)
    return result


def test_wrong_settings_end_it_at_once_and_are_named(kubernetes: Kubernetes) -> None:
    containers = {name: {"env": env(**settings)} for name, (settings, _) in WRONG.items()}
    kubernetes.apply(pod_manifest("wrong", kubernetes.image, containers))
    states = ended(kubernetes, "wrong")
    for name, (_, text) in WRONG.items():
        log = kubernetes.kubectl("logs", "wrong", "-c", name)
        assert states[name]["exitCode"] == 2, log
        assert text in log
        assert "Traceback" not in log
    kubernetes.kubectl("delete", "pod", "wrong")


def test_every_role_serves_and_drains(kubernetes: Kubernetes) -> None:
    containers = {
        role: {
            "env": env(
                TENSORFLEET_CLUSTER_SPEC=CLUSTER,
                TENSORFLEET_JOB_NAME=role,
                TENSORFLEET_TASK_INDEX="0",
                **OTHER_PORTS,
            )
        }
        for role in ROLES
    }
    kubernetes.apply(pod_manifest("roles", kubernetes.image, containers))

    def serves(role: str) -> bool:
        return " serves at " in kubernetes.try_kubectl("logs", "roles", "-c", role).stdout

    kubernetes.wait_for("all roles serve", lambda: all(map(serves, ROLES)))
    for role in ROLES:
        lines = kubernetes.kubectl("logs", "roles", "-c", role).splitlines()
        assert {json.loads(line)["task"] for line in lines} == {f"/job:{role}/task:0"}
        kubernetes.kubectl("exec", "roles", "-c", role, "--", "bash", "-c", "kill -TERM 1")
    assert {role: state["exitCode"] for role, state in ended(kubernetes, "roles").items()} == dict.fromkeys(
        ROLES, 0
    )
    kubernetes.kubectl("delete", "pod", "roles")


def test_a_shell_for_clients(kubernetes: Kubernetes) -> None:
    """No root, nothing to write to but /tmp and /var/lib/tensorfleet, no installer, no compiler."""
    script = (
        "id -u; id -g; whoami; touch /x /opt/x 2>&1;"
        "touch /tmp/x /var/lib/tensorfleet/x && echo written; pwd;"
        "for p in gcc cc pip pip3; do command -v $p; done; python -m pip 2>&1;"
        "find / -xdev -type f -perm /6000 2>/dev/null; python -c 'import cupy' 2>&1 | tail -1;"
        "env | grep TENSORFLEET | sort; tensorfleet version | sed -n 1p"
    )
    container = {"command": ["bash", "-c", script]}
    kubernetes.apply(pod_manifest("shell", kubernetes.image, {"shell": container}))
    ended(kubernetes, "shell")
    assert kubernetes.kubectl("logs", "shell").splitlines() == [
        "10001",
        "10001",
        "tensorfleet",
        "touch: cannot touch '/x': Read-only file system",
        "touch: cannot touch '/opt/x': Read-only file system",
        "written",
        "/var/lib/tensorfleet",
        "/opt/tensorfleet/bin/python: No module named pip",
        "ModuleNotFoundError: No module named 'cupy'",
        "TENSORFLEET_BIND_HOST=0.0.0.0",
        "TENSORFLEET_LOG_FORMAT=json",
        "TENSORFLEET_METRICS_PORT=8080",
        "TENSORFLEET_STATE_DIR=/var/lib/tensorfleet",
        "TENSORFLEET_STREAM_PORT=2223",
        "tensorfleet          0.1.0",
    ]
    kubernetes.kubectl("delete", "pod", "shell")


DECODE = """
import io
from PIL import Image
for kind in ("PNG", "JPEG", "GIF", "BMP"):
    file = io.BytesIO()
    Image.new("RGB", (7, 5), (9, 99, 199)).save(file, kind)
    with Image.open(file, formats=(kind,)) as image:
        image.load()
        print(kind, image.size)
"""


def test_images_are_decoded(kubernetes: Kubernetes) -> None:
    """Of Pillow, what other formats take is left out."""
    container = {"command": ["python", "-c", DECODE]}
    kubernetes.apply(pod_manifest("decode", kubernetes.image, {"shell": container}))
    ended(kubernetes, "decode")
    lines = kubernetes.kubectl("logs", "decode").splitlines()
    assert lines == [f"{kind} (7, 5)" for kind in ("PNG", "JPEG", "GIF", "BMP")]
    kubernetes.kubectl("delete", "pod", "decode")


def test_its_size(kubernetes: Kubernetes) -> None:
    size = os.environ.get("TENSORFLEET_K8S_IMAGE_BYTES")
    if not size:
        pytest.skip("the size is told by k8s-dev/e2e")
    assert int(size) < MAX_BYTES
