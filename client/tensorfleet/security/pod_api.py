"""Kubernetes' API, as a pod reaches it with the token of its ServiceAccount; takes no further package."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorfleet.security.settings import SecurityError

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
CALL_SECONDS = 10.0
MAX_ANSWER_BYTES = 4 << 20
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """A call was refused, or the API server is not reached.

    Attributes:
        status: of the answer; 0 if there was none.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class PodApi:
    """Calls the API server.

    Args:
        host, port: of the API server.
        account: a directory with the pod's `token` and the server's `ca.crt`; both are read for each call, as
            they change.
    """

    def __init__(self, host: str, port: int, account: str = ACCOUNT) -> None:
        self._host, self._port, self._account = host, port, Path(account)

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ, account: str = "") -> PodApi:
        """That of the pod that this process runs in.

        Raises:
            SecurityError: it runs in none, or in one without a token.
        """
        account = account or ACCOUNT
        host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
        if not host or not port.isdecimal():
            raise SecurityError("this is no pod of Kubernetes: KUBERNETES_SERVICE_HOST is not set")
        if not os.path.isfile(os.path.join(account, "token")):
            raise SecurityError(f"this pod has no token for Kubernetes' API in {account}")
        return cls(host, int(port), account)

    def namespace(self) -> str:
        """The pod's own."""
        return (self._account / "namespace").read_text().strip()

    def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """The answer to a call, which ends within CALL_SECONDS for each of its parts.

        Raises:
            ApiError: it was refused, or the API server is not reached.
        """
        action = f"{method} {path}"
        try:
            token = (self._account / "token").read_text().strip()
            context = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=CALL_SECONDS, context=context
            )
            try:
                headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
                data = None
                if body is not None:
                    data, headers["Content-Type"] = json.dumps(body).encode(), content_type
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read(MAX_ANSWER_BYTES + 1)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, f"{action}: the API server is not reached: {error}") from None
        if len(text) > MAX_ANSWER_BYTES:
            raise ApiError(answer.status, f"{action}: the answer has more than {MAX_ANSWER_BYTES} bytes")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ApiError(answer.status, f"{action}: the API server answers {answer.status}, and no object")
        if answer.status >= 300:
            raise ApiError(answer.status, f"{action}: {found.get('message', answer.status)}")
        return found
