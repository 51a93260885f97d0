"""What `tensorfleet submit` puts on the API server: a Job with one pod, and a ConfigMap with its files."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorfleet.kube.release import Release

# An object of the API server may have 1 MiB, with its names and labels.
MAX_BYTES = 1_000_000
DIRECTORY = "/job"  # of the files in the container
CONTAINER = "script"
UID = 10001

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class FileError(ValueError):
    """A file cannot be sent along; the text says which one and why."""


def read_files(script: str, others: Sequence[str]) -> dict[str, bytes]:
    """The files' contents by their base names, the script's first.

    Raises:
        FileError: one is missing or no file, two have the same name, a name has odd characters, or all of
            them together are too large.
    """
    files: dict[str, bytes] = {}
    for path in [Path(script), *map(Path, others)]:
        if not _KEY.fullmatch(path.name):
            raise FileError(f"{path}: the name may have letters, digits, '-', '_' and '.' only; rename it")
        if path.name in files:
            raise FileError(f"{path}: another file has the same name, and all go into one directory")
        try:
            files[path.name] = path.read_bytes()
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror}") from None
    size = sum(map(_encoded_size, files.values()))
    if size > MAX_BYTES:
        raise FileError(
            f"the files have {size:,} bytes as they are sent, and a ConfigMap takes {MAX_BYTES:,} at most. "
            "Put large ones into an image (--image)"
        )
    return files


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _encoded_size(content: bytes) -> int:
    return len(content) if _is_text(content) else (len(content) + 2) // 3 * 4


@dataclass(frozen=True)
class JobSettings:
    """How a script is run.

    Attributes:
        image, pull_policy, pull_secrets: as in a pod's container.
        env: environment variables beside TENSORFLEET_ADDRESS.
        cpu, memory: the container's requests; the memory is its limit, too, where it is given.
        seconds: the Job is stopped after so many, queueing included; None: never.
        keep_seconds: how long a Job that is over is kept if nobody deletes it.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cpu: str = "100m"
    memory: str | None = None
    seconds: int | None = None
    keep_seconds: int = 3600


def environment(texts: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE texts as a dict. Raises ValueError."""
    result = {}
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{text!r} is not of the form NAME=VALUE")
        result[name] = value
    return result


def job_manifest(
    name: str, release: Release, script: str, arguments: Sequence[str], settings: JobSettings
) -> dict[str, Any]:
    """The Job, suspended: it begins when its files are there."""
    label, value = release.client_label
    labels = {
        "app.kubernetes.io/component": "submit",
        "app.kubernetes.io/managed-by": "tensorfleet",
        "tensorfleet.io/release": release.name,
    }
    env = {"TENSORFLEET_ADDRESS": release.address, "PYTHONUNBUFFERED": "1", **settings.env}
    requests = {"cpu": settings.cpu, **({"memory": settings.memory} if settings.memory else {})}
    resources: dict[str, Any] = {"requests": requests}
    if settings.memory:
        resources["limits"] = {"memory": settings.memory}
    container = {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "command": ["python", f"{DIRECTORY}/{script}", *map(_literal, arguments)],
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
            {"name": "files", "configMap": {"name": name}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "data", "emptyDir": {}},
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
    """Text in which Kubernetes replaces no $(NAME)."""
    return text.replace("$(", "$$(")


def files_manifest(job: Any, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The ConfigMap of the Job `job` (V1Job), which goes with it."""
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": job.metadata.name,
            "namespace": job.metadata.namespace,
            "labels": dict(job.metadata.labels),
            "ownerReferences": [owner],
        },
        "immutable": True,
        "data": {name: content.decode() for name, content in files.items() if _is_text(content)},
        "binaryData": {
            name: base64.b64encode(content).decode()
            for name, content in files.items()
            if not _is_text(content)
        },
    }
