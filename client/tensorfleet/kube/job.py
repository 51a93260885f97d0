"""The Job that `tensorfleet submit` makes, with one pod."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorfleet.kube.bundle import DIRECTORY, RUNNER, Bundle
from tensorfleet.kube.release import Release
from tensorfleet.session.containers import CONTAINER_VARIABLE

CONTAINER = "script"
CREDENTIALS = "/run/secrets/tensorfleet"
UID = 10001
RELEASE_LABEL, PROGRAM_LABEL = "tensorfleet.io/release", "tensorfleet.io/program"

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class JobSettings:
    """The settings of a script's run.

    Attributes:
        program: the program's name, also that of its variables' container.
        image, pull_policy, pull_secrets: as in a pod's container.
        env: environment variables beside TENSORFLEET_ADDRESS.
        cpu, memory: the container's requests; the memory, if given, is also its limit.
        seconds: the time after which the Job is stopped, including its time in the queue; None for no limit.
        keep_seconds: the time for which a finished Job is kept unless it is deleted.
        runner: the arguments of Python before the script, such as `-m` with a module that runs it.
    """

    program: str
    image: str
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cpu: str = "100m"
    memory: str | None = None
    seconds: int | None = None
    keep_seconds: int = 3600
    runner: tuple[str, ...] = ()


def environment(texts: Sequence[str]) -> dict[str, str]:
    """A dict from NAME=VALUE texts. Raises ValueError."""
    result = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{text!r} is not of the form NAME=VALUE")
        result[name] = value
    return result


def job_manifest(
    name: str, release: Release, bundle: Bundle, arguments: Sequence[str], settings: JobSettings
) -> dict[str, Any]:
    """The suspended Job, which is started when its files have been created."""
    label, value = release.client_label
    labels = {
        "app.kubernetes.io/component": "submit",
        "app.kubernetes.io/managed-by": "tensorfleet",
        RELEASE_LABEL: release.name,
        PROGRAM_LABEL: settings.program,
    }
    env = {
        "TENSORFLEET_ADDRESS": release.address,
        CONTAINER_VARIABLE: settings.program,
        **release.access.env,
        "PYTHONUNBUFFERED": "1",
        **settings.env,
    }
    command = [*settings.runner, f"{DIRECTORY}/{bundle.script}", *arguments]
    if bundle.packages:
        command = [f"{DIRECTORY}/{RUNNER}", *bundle.packages, "--", *command]
    requests = {"cpu": settings.cpu, **({"memory": settings.memory} if settings.memory else {})}
    resources: dict[str, Any] = {"requests": requests}
    if settings.memory:
        resources["limits"] = {"memory": settings.memory}
    container = {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "command": ["python", *map(_literal, command)],
        "workingDir": DIRECTORY,
        "env": [{"name": key, "value": _literal(text)} for key, text in env.items()],
        "resources": resources,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "files", "mountPath": DIRECTORY, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "data", "mountPath": "/var/lib/tensorfleet"},
            *(
                {"name": volume["name"], "mountPath": CREDENTIALS, "readOnly": True}
                for volume in release.access.volumes
            ),
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "imagePullSecrets": [{"name": secret} for secret in settings.pull_secrets],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "runAsGroup": UID,
            "fsGroup": UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            bundle.volume("files", name),
            {"name": "tmp", "emptyDir": {}},
            {"name": "data", "emptyDir": {}},
            *release.access.volumes,
        ],
    }
    spec: dict[str, Any] = {
        "suspend": True,
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": settings.keep_seconds,
        "template": {"metadata": {"labels": {**labels, label: value}}, "spec": pod},
    }
    if settings.seconds is not None:
        spec["activeDeadlineSeconds"] = settings.seconds
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": release.namespace, "labels": labels},
        "spec": spec,
    }


def _literal(text: str) -> str:
    """Text escaped so that Kubernetes does not replace $(NAME) in it."""
    return text.replace("$(", "$$(")
