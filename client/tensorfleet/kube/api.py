"""The Kubernetes API server: the client package, credentials, and the translation of errors."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorfleet.core import errors, installing

CALL_SECONDS = 15.0
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_ERRORS: dict[int, type[errors.OpError]] = {
    400: errors.InvalidArgumentError,
    401: errors.UnauthenticatedError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    409: errors.AlreadyExistsError,
    422: errors.InvalidArgumentError,
    429: errors.ResourceExhaustedError,
}


def package(what: str) -> Any:
    """The package `kubernetes`. Raises ImportError with the way to install it for `what`."""
    try:
        import kubernetes
    except ModuleNotFoundError as error:
        if error.name != "kubernetes":
            raise
        raise ImportError(
            f"{what} takes the package kubernetes: {installing.the_extra('kubernetes', 'kubernetes')}"
        ) from error
    return kubernetes


class Cluster:
    """A Kubernetes cluster, from a kubeconfig or from the pod that this process runs in.

    Args:
        context: a context of the kubeconfig; None for its current one.

    Attributes:
        namespace: the namespace of the context or of the pod, else `default`.
    """

    def __init__(self, what: str, context: str | None = None) -> None:
        """Reads the configuration.

        Raises:
            ImportError: the package `kubernetes` is missing.
            FailedPreconditionError: no configuration is found, or it has no such context.
        """
        self._package = package(what)
        config = self._package.config
        self._configuration = self._package.client.Configuration()
        self.namespace = "default"
        try:
            if context is None and _in_cluster():
                config.load_incluster_config(client_configuration=self._configuration)
                self.namespace = _NAMESPACE_FILE.read_text().strip() or self.namespace
            else:
                file = kubeconfig()
                config.load_kube_config(file, context, self._configuration)
                contexts, active = config.list_kube_config_contexts(file)
                chosen = next((c for c in contexts if c["name"] == context), active)
                self.namespace = chosen["context"].get("namespace") or self.namespace
        except config.ConfigException as error:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"no way to a Kubernetes cluster: {error}. Set KUBECONFIG to a configuration that works with "
                "kubectl, or choose one of its contexts",
            ) from None
        # No silent retries: errors are raised at once, and callers decide about retries.
        self._configuration.retries = False

    @property
    def server(self) -> str:
        """The API server's address."""
        return str(self._configuration.host)

    def configuration(self) -> Any:
        """The address and the credentials, as a `kubernetes.client.Configuration`."""
        return self._configuration

    def core(self) -> Any:
        """A new CoreV1Api."""
        return self._package.client.CoreV1Api(self._package.client.ApiClient(self._configuration))

    def batch(self) -> Any:
        """A new BatchV1Api."""
        return self._package.client.BatchV1Api(self._package.client.ApiClient(self._configuration))

    def refusal(self, status: int, body: bytes | None) -> Exception:
        """The API server's answer to a call without the package, as an exception for `errors_of`."""
        error: Exception = self._package.client.ApiException(status=status, reason="refused")
        error.body = body  # type: ignore[attr-defined]
        return error

    @contextlib.contextmanager
    def errors_of(self, action: str) -> Iterator[None]:
        """Turns errors of the API server into `tf.errors`, which name the `action` and the reason.

        Raises:
            OpError: by the status: PermissionDeniedError for 403, NotFoundError for 404, …; UnavailableError
                if the server cannot be reached.
        """
        try:
            yield
        except self._package.client.ApiException as error:
            kind = _ERRORS.get(error.status, errors.UnavailableError)
            raise kind(None, None, f"cannot {action}: {_reason(error)}{_advice(error.status)}") from None
        except self._transport_errors() as error:
            raise self._unreachable(action, error) from None

    def _unreachable(self, action: str, error: object) -> errors.OpError:
        return errors.UnavailableError(
            None, None, f"cannot {action}: the API server {self.server} is not reached: {error}"
        )

    def broken_stream(self) -> tuple[type[Exception], ...]:
        """The type of error of a streamed answer that breaks off."""
        import urllib3

        return (urllib3.exceptions.ProtocolError, urllib3.exceptions.ReadTimeoutError)

    def _transport_errors(self) -> tuple[type[Exception], ...]:
        import urllib3

        return (OSError, urllib3.exceptions.HTTPError)


def kubeconfig() -> str | None:
    """The kubeconfig that the environment names now; the package keeps the one at the time of its import."""
    return os.environ.get("KUBECONFIG") or None


def _in_cluster() -> bool:
    """Whether this is a pod with a service account, without a kubeconfig in the environment."""
    return kubeconfig() is None and _NAMESPACE_FILE.exists()


def _reason(error: Any) -> str:
    """The API server's explanation of an error."""
    try:
        return str(json.loads(error.body)["message"])
    except (ValueError, TypeError, KeyError):
        return f"{error.status} {error.reason}"


def _advice(status: int) -> str:
    if status == 403:
        return ". Ask for a Role with these verbs: docs/cli.md lists them"
    if status == 401:
        return ". The credentials of the kubeconfig are not valid any more"
    return ""
