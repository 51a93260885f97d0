"""Credentials of a release's clients, on this machine: files that only this user can read."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensorfleet.core import errors
from tensorfleet.kube.api import CALL_SECONDS, Cluster
from tensorfleet.kube.release import Release
from tensorfleet.security import settings


@contextmanager
def on_this_machine(cluster: Cluster, release: Release) -> Iterator[dict[str, str]]:
    """The environment variables of a client here; their files are removed at the end.

    Raises:
        PermissionDeniedError: this user may not read the Secret.
        NotFoundError: it, or a key of it, is not there (yet).
        OpError: the API server is not reached.
    """
    files = release.access.files()
    if not files:
        yield {}
        return
    read = {name: _read(cluster, release, *place) for name, place in files.items()}
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    with tempfile.TemporaryDirectory(
        prefix="tensorfleet-", dir=runtime if os.path.isdir(runtime) else None
    ) as folder:  # of mode 0700
        for name, data in read.items():
            (Path(folder) / name).write_bytes(data)
        env = {key: str(Path(folder) / Path(path).name) for key, path in release.access.env.items()}
        if settings.CERT in env:
            # The certificate names no port of this machine, but the Service.
            env[settings.SERVER_NAME] = f"{release.fullname}.{release.namespace}"
        yield env


def _read(cluster: Cluster, release: Release, name: str, key: str) -> bytes:
    with cluster.errors_of(f"read the Secret {name}, which has the credentials of clients"):
        secret = cluster.core().read_namespaced_secret(name, release.namespace, _request_timeout=CALL_SECONDS)
    if key not in (secret.data or {}):
        raise errors.NotFoundError(
            None,
            None,
            f"the Secret {name} in the namespace {release.namespace} has no {key}; see: kubectl get jobs "
            f"-n {release.namespace} -l app.kubernetes.io/component=credentials",
        )
    return base64.b64decode(secret.data[key])
