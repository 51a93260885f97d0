"""An API server of Kubernetes that knows ConfigMaps, Jobs and pods, and can refuse each call."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import yaml

NAMESPACE = "lab"
STAMP = "2026-01-31T12:00:{:02d}.{:09d}Z"

Object = dict[str, Any]


def release(name: str = "fleet", spec: Any = None, fullname: str = "") -> Object:
    """The ConfigMap of a release."""
    spec = {"ps": ["p0:2222"], "worker": ["w0:2222", "w1:2222"]} if spec is None else spec
    return {
        "metadata": {
            "name": f"{fullname or name}-cluster-spec",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/instance": name, "app.kubernetes.io/component": "cluster-spec"},
        },
        "data": {"cluster.json": spec if isinstance(spec, str) else json.dumps(spec)},
    }


def client_access(secret: str) -> str:
    """What the chart says in the ConfigMap of a release with TLS and tokens."""
    keys = {"TLS_CERT": "client.pem", "TLS_KEY": "client-key.pem", "TLS_CA": "ca.pem", "TOKEN_FILE": "token"}
    items = [{"key": key, "path": key} for key in keys.values()]
    env = [
        {"name": f"TENSORFLEET_{name}", "value": f"/run/secrets/tensorfleet/{key}"}
        for name, key in keys.items()
    ]
    sources = [{"secret": {"name": secret, "items": items}}]
    return json.dumps({"env": env, "volumes": [{"name": "credentials", "projected": {"sources": sources}}]})


def task_pod(name: str = "fleet", job: str = "worker") -> Object:
    """The pod of a release's master."""
    return {
        "metadata": {
            "name": f"{name}-{job}-0",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/instance": name,
                "app.kubernetes.io/component": job,
                "apps.kubernetes.io/pod-index": "0",
            },
        },
        "spec": {
            "containers": [
                {"name": "sidecar", "image": "other:1"},
                {"name": "task", "image": "tensorfleet:7", "imagePullPolicy": "Never"},
            ],
            "imagePullSecrets": [{"name": "registry"}],
        },
        "status": {"phase": "Running"},
    }


def waiting(reason: str, message: str = "") -> Object:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [_container(state)]}


def unschedulable(message: str) -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


def running() -> Object:
    return {"phase": "Running", "containerStatuses": [_container({"running": {}})]}


def ended(code: int, reason: str = "Completed") -> Object:
    state = {"terminated": {"exitCode": code, "reason": reason}}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [_container(state)]}


def _container(state: Object) -> Object:
    return {"name": "script", "state": state, "ready": False, "restartCount": 0, "image": "", "imageID": ""}


class FakeApi:
    """The objects that the server has, and how it behaves.

    Attributes:
        statuses: what the Job's pod says of itself, one at each look, the last one for ever; None: no pod.
        logs: what each request for its log brings; one that ends in ... breaks off.
        refused: status by "VERB resource", such as {"POST jobs": 403}.
        conditions: of the Job.
    """

    def __init__(self) -> None:
        self.config_maps = [release()]
        self.pods = [task_pod()]
        self.jobs: dict[str, Object] = {}
        self.statuses: list[Object | None] = [running(), ended(0)]
        self.logs: list[list[str]] = [["hello"]]
        self.refused: dict[str, int] = {}
        self.events: list[str] = []
        self.conditions: list[Object] = []
        self.calls: list[str] = []
        self.submitted: list[Object] = []
        self.sent_files: list[Object] = []
        self.log_queries: list[dict[str, list[str]]] = []
        self.secrets: dict[str, dict[str, bytes]] = {}
        self.lock = threading.Lock()

    def answer(self, verb: str, resource: str, name: str, query: dict[str, list[str]], body: Any) -> Any:
        self.calls.append(f"{verb} {resource}")
        status = self.refused.get(f"{verb} {resource}")
        if status:
            return status, f'{resource} is forbidden: User "me" cannot {verb} it'
        return getattr(self, f"{verb.lower()}_{resource}")(name, query, body)

    def get_configmaps(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        return _list(_chosen(self.config_maps, query))

    def get_secrets(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        if name not in self.secrets:
            return 404, f'secrets "{name}" not found'
        return {"data": {key: base64.b64encode(v).decode() for key, v in self.secrets[name].items()}}

    def get_pods(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        selector = query.get("labelSelector", [""])[0]
        if not selector.startswith("job-name="):
            return _list(_chosen(self.pods, query))
        job = self.jobs.get(selector.partition("=")[2])
        if job is None or job["spec"]["suspend"]:
            return _list([])
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if status is None:
            return _list([])
        pod_name = job["metadata"]["name"] + "-x"
        return _list([{"metadata": {"name": pod_name, "namespace": NAMESPACE}, "status": status}])

    def get_events(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        involved = {"kind": "Job"}
        return _list([{"metadata": {}, "involvedObject": involved, "message": e} for e in self.events])

    def get_jobs(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        if not name:
            return _list(_chosen(list(self.jobs.values()), query))
        job = self.jobs.get(name)
        if job is None:
            return 404, f'jobs.batch "{name}" not found'
        return {**job, "status": {"conditions": self.conditions}}

    def post_jobs(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        job = {**body, "status": {}}
        job["metadata"]["uid"] = "uid-1"
        self.submitted.append(json.loads(json.dumps(job)))
        self.jobs[job["metadata"]["name"]] = job
        return job

    def post_configmaps(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        self.sent_files.append(body)
        self.config_maps.append(body)
        return body

    def patch_jobs(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        sources = self.jobs[name]["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"]
        there = {item["metadata"]["name"] for item in self.config_maps}
        assert {source["configMap"]["name"] for source in sources} <= there, "started without its files"
        self.jobs[name]["spec"].update(body["spec"])
        return self.jobs[name]

    def delete_jobs(self, name: str, query: dict[str, list[str]], body: Any) -> Any:
        if self.jobs.pop(name, None) is None:
            return 404, f'jobs.batch "{name}" not found'
        self.config_maps = [item for item in self.config_maps if not _owned(item, name)]
        return {"kind": "Status", "status": "Success"}


def _owned(item: Object, job: str) -> bool:
    return any(owner["name"] == job for owner in item["metadata"].get("ownerReferences", ()))


def _chosen(items: list[Object], query: dict[str, list[str]]) -> list[Object]:
    wanted = dict(part.split("=") for part in query["labelSelector"][0].split(","))
    return [item for item in items if wanted.items() <= item["metadata"]["labels"].items()]


def _list(items: list[Object]) -> Object:
    return {"items": items}


class _Handler(BaseHTTPRequestHandler):
    api: FakeApi

    def _serve(self) -> None:
        url = urlparse(self.path)
        parts = url.path.split("/namespaces/")[1].split("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = parse_qs(url.query)
        if parts[-1] == "log" and not self.api.refused.get("GET log"):
            self._log(query)
            return
        resource, name = ("log", "") if parts[-1] == "log" else (parts[1], parts[2] if parts[2:] else "")
        with self.api.lock:
            answer = self.api.answer(self.command, resource, name, query, json.loads(body or b"null"))
        status = 200
        if isinstance(answer, tuple):
            status, message = answer
            answer = {"kind": "Status", "status": "Failure", "message": message, "code": status}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _log(self, query: dict[str, list[str]]) -> None:
        with self.api.lock:
            self.api.calls.append("GET log")
            self.api.log_queries.append(query)
            lines = self.api.logs.pop(0) if len(self.api.logs) > 1 else self.api.logs[0]
        breaks = lines[-1:] == ["..."]
        data = "".join(
            STAMP.format(i, i) + f" {line}\n" for i, line in enumerate(lines) if line != "..."
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data) + breaks))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    do_GET = do_POST = do_PATCH = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(directory: Path) -> Iterator[tuple[FakeApi, Path]]:
    """A server on a free port of the loopback, and the kubeconfig that leads to it."""
    api = FakeApi()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": api}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    config = directory / "kubeconfig"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "fake",
                "clusters": [
                    {"name": "fake", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
                ],
                "users": [{"name": "me", "user": {"token": "secret"}}],
                "contexts": [
                    {"name": "fake", "context": {"cluster": "fake", "user": "me", "namespace": NAMESPACE}}
                ],
            }
        )
    )
    try:
        yield api, config
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
