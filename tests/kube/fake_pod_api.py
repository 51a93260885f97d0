"""Kubernetes' API by HTTPS for a pod: Secrets, with versions, and reviews of tokens."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tensorfleet.security.authority import Authority, pem
from tensorfleet.security.pod_api import PodApi

POD_TOKEN = "token-of-the-pod"

Object = dict[str, Any]


class FakePodApi:
    """What the server has.

    Attributes:
        secrets: by name; as the chart makes them, without data.
        before_patch: called before each PATCH, with the Secret's name.
        review: the status of a TokenReview, from its spec; or the HTTP status of a refusal.
        calls: method and path of each.
    """

    def __init__(self, *secrets: str) -> None:
        self.secrets: dict[str, Object] = {
            name: {"metadata": {"name": name, "resourceVersion": "1"}} for name in secrets
        }
        self.before_patch: Callable[[str], None] = lambda name: None
        self.review: Callable[[Object], Object | int] = lambda spec: {"authenticated": False}
        self.calls: list[str] = []

    def data(self, name: str) -> dict[str, bytes]:
        """What a Secret holds."""
        return {k: base64.b64decode(v) for k, v in self.secrets[name].get("data", {}).items()}

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Object]:
        self.calls.append(f"{method} {path}")
        if path == "/apis/authentication.k8s.io/v1/tokenreviews":
            status = self.review(body["spec"])
            return (status, {"message": "no"}) if isinstance(status, int) else (201, {"status": status})
        name = path.partition("/secrets/")[2].partition("?")[0]
        if name not in self.secrets:
            return 404, {"message": f'secrets "{name}" not found'}
        if method == "PATCH":
            self.before_patch(name)
            secret = self.secrets[name]
            if body["metadata"]["resourceVersion"] != secret["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified"}
            self.touch(name)
            secret["metadata"].setdefault("annotations", {}).update(body["metadata"].get("annotations", {}))
            secret.setdefault("data", {}).update(body["data"])
        return 200, self.secrets[name]

    def touch(self, name: str) -> None:
        """Somebody else changes a Secret."""
        metadata = self.secrets[name]["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)


class _Handler(BaseHTTPRequestHandler):
    api: FakePodApi

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {POD_TOKEN}":
            status, answer = 401, {"message": "Unauthorized"}
        else:
            status, answer = self.api.answer(self.command, self.path, json.loads(body or b"null"))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PATCH = do_POST = _serve

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(fake: FakePodApi, directory: Path) -> Iterator[PodApi]:
    """The API, and a pod's way to it; its account is in a directory, with the namespace `lab`."""
    authority = Authority.create("kubernetes", 1)
    chain, key = authority.issue("", ["127.0.0.1"], 1)
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in (
        ("ca.crt", pem(authority.certificate)),
        ("server.pem", chain + key),
        ("token", POD_TOKEN.encode()),
        ("namespace", b"lab"),
    ):
        (directory / name).write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem")
    handler = type("Handler", (_Handler,), {"api": fake})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield PodApi("127.0.0.1", server.server_address[1], str(directory))
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
