"""Probes: by HTTP and by gRPC, while a task starts, serves, lacks a GPU, drains, and has stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http import HTTPStatus

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from tensorfleet_service.devices import gpu
from tensorfleet_service.observe.health import Health
from tensorfleet_service.observe.http_server import HttpServer
from tensorfleet_service.rpc.health_service import PREFIX, SERVICES
from tensorfleet_service.server import TaskServer
from tests.observe.conftest import MakeServer
from tests.observe.scrape import Page, get, scrape
from tests.observe.test_metrics import by_transport

OK, UNAVAILABLE = HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE
SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
DRAINING = "draining: running steps end, new ones are refused"


class Pages:
    """The HTTP port of a task."""

    def __init__(self, health: Health) -> None:
        self.http = HttpServer("127.0.0.1", 0, health)
        self.http.start()

    def __call__(self, path: str, accept: str = "*/*", method: str = "GET") -> Page:
        return get(f"http://127.0.0.1:{self.http.port}{path}", accept, method)

    def state(self) -> dict[str, int]:
        return {path: self(f"/healthz/{path}").status for path in ("live", "startup", "ready")}


@pytest.fixture
def health() -> Health:
    return Health(drain_limit=7.0)


@pytest.fixture
def pages(health: Health) -> Iterator[Pages]:
    made = Pages(health)
    yield made
    made.http.close()


def test_from_start_to_end(health: Health, pages: Pages, server: MakeServer) -> None:
    assert pages.state() == {"live": OK, "startup": UNAVAILABLE, "ready": UNAVAILABLE}
    assert pages("/healthz/ready").text == "starting: the task does not serve yet\n"
    assert pages("/metrics").status == UNAVAILABLE
    task = server(health=health)
    pages.http.registry = task.registry()
    assert pages.state() == {"live": OK, "startup": OK, "ready": OK}
    assert pages("/healthz").text == "ok\n"
    task.stop(0.1)
    assert pages.state() == {"live": OK, "startup": OK, "ready": UNAVAILABLE}
    assert pages("/healthz/ready").text == f"{DRAINING}\n"
    assert "tensorfleet_drain_limit_seconds 7.0" in pages("/metrics").text


def test_metrics_by_what_the_scraper_accepts(health: Health, pages: Pages, server: MakeServer) -> None:
    pages.http.registry = server(health=health).registry()
    plain = pages("/metrics")
    assert plain.kind.startswith("text/plain; version=")
    assert "# EOF" not in plain.text
    openmetrics = pages("/metrics", "application/openmetrics-text; version=1.0.0")
    assert openmetrics.kind.startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")


def test_other_pages(pages: Pages) -> None:
    assert "/metrics" in pages("/").text
    assert pages("/nothing").status == HTTPStatus.NOT_FOUND
    assert pages("/healthz/live", method="HEAD") == (OK, "text/plain; charset=utf-8", "")
    assert pages("/healthz/live", method="POST").status == HTTPStatus.NOT_IMPLEMENTED


def test_a_scrape_that_fails_does_not_end_the_port(pages: Pages) -> None:
    class Broken:
        def collect(self) -> Iterator[object]:
            raise RuntimeError("no numbers today")

    pages.http.registry = Broken()  # type: ignore[assignment]
    answer = pages("/metrics")
    assert (answer.status, answer.text) == (500, "RuntimeError: no numbers today\n")
    assert pages("/healthz/live").status == OK


def test_a_missing_gpu_is_the_reason(
    health: Health, pages: Pages, server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "visible", lambda: (0, "CuPy sees no GPU: no CUDA-capable device is detected"))
    task = server(gpus=2, health=health)
    assert pages.state() == {"live": OK, "startup": OK, "ready": UNAVAILABLE}
    assert pages("/healthz/ready").text == (
        "the task must have 2 GPUs and has 0: CuPy sees no GPU: no CUDA-capable device is detected\n"
    )
    found = scrape(task)
    assert (found("tensorfleet_gpus_required"), found("tensorfleet_gpus")) == (2, 0)
    assert found("tensorfleet_ready") == 0
    # It serves all the same: what it is asked is the caller's business.
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        assert session.run(tf.constant(1) + 1) == 2


def test_without_gpus_none_is_opened(server: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("a GPU was opened")

    monkeypatch.setattr(gpu, "devices", opened)
    monkeypatch.setattr(gpu, "visible", opened)
    assert scrape(server(gpus=0))("tensorfleet_gpus") == 0


# ------------------------------------------------------------------------------------------------------ gRPC


class Stub:
    """A client of the health service, as grpc-health-probe is one."""

    def __init__(self, task: TaskServer) -> None:
        self.channel = grpc.insecure_channel(task.address)
        to_bytes, from_bytes = HealthCheckRequest.SerializeToString, HealthCheckResponse.FromString
        self._check = self.channel.unary_unary(PREFIX + "Check", to_bytes, from_bytes)
        self._watch = self.channel.unary_stream(PREFIX + "Watch", to_bytes, from_bytes)

    def check(self, service: str = "") -> int:
        return self._check(HealthCheckRequest(service=service), timeout=10).status  # type: ignore[no-any-return]

    def watch(self, service: str = "") -> grpc.Call:
        return self._watch(HealthCheckRequest(service=service), timeout=30)


@pytest.mark.parametrize("service", SERVICES)
def test_check_and_watch(server: MakeServer, service: str) -> None:
    task = server()
    stub = Stub(task)
    with stub.channel:
        assert stub.check(service) == SERVING
        watching = stub.watch(service)
        assert next(watching).status == SERVING
        # The end of the task is not kept back by those who watch it.
        task.stop(20)
        assert next(watching).status == NOT_SERVING
        assert list(watching) == []


def test_a_task_without_its_gpu_does_not_say_that_it_serves(server: MakeServer) -> None:
    stub = Stub(server(gpus=1))
    with stub.channel:
        assert stub.check() == NOT_SERVING


def test_an_unknown_service(server: MakeServer) -> None:
    stub = Stub(server())
    with stub.channel:
        with pytest.raises(grpc.RpcError) as caught:
            stub.check("no.such.Service")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        watching = stub.watch("no.such.Service")
        assert next(watching).status == HealthCheckResponse.SERVICE_UNKNOWN
        watching.cancel()


def test_a_watcher_that_is_gone_is_forgotten(server: MakeServer) -> None:
    task = server()
    stub = Stub(task)
    watching = stub.watch()
    assert next(watching).status == SERVING
    gone = threading.Event()
    task.health.watch(gone.set)
    watching.cancel()
    stub.channel.close()
    task.health.drains()
    assert gone.wait(10)
    task.stop(1)


# ----------------------------------------------------------------------------------------------------- drain


@pytest.mark.parametrize("transport", ["stream", "grpc", "own process"])
def test_a_drain_waits_for_the_step_that_runs_and_refuses_others(
    server: MakeServer, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    by_transport(monkeypatch, transport)
    task = server()
    entered, leave, draining = threading.Event(), threading.Event(), threading.Event()
    task.health.watch(draining.set)
    # Larger than what a socket takes at once: the answer is still under way when the step has ended.
    expected = np.arange(4_000_000, dtype=np.float64)

    def work() -> object:
        entered.set()
        assert leave.wait(30)
        return expected

    results: list[object] = []
    with tf.Graph().as_default():
        session = tf.Session(task.target)
        other = tf.constant(1) + 1
        assert session.run(other) == 2
        value = tf.py_func(work, [], tf.float64)
        step = threading.Thread(target=lambda: results.append(session.run(value)))
        step.start()
        assert entered.wait(30)
        stop = threading.Thread(target=task.stop, args=(30,))
        stop.start()
        assert draining.wait(30)
        with pytest.raises(tf.errors.UnavailableError, match="shutting down"):
            session.run(other)
        assert scrape(task)("tensorfleet_draining_seconds") > 0
        leave.set()
        step.join(30)
        stop.join(30)
    assert not stop.is_alive()
    np.testing.assert_array_equal(results[0], expected)


def test_a_drain_ends_at_its_limit(server: MakeServer) -> None:
    task = server()
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        empty = tf.FIFOQueue(1, [tf.int32], [[]]).dequeue()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                session.run(empty)
            except tf.errors.OpError as e:
                errors.append(e)

        step = threading.Thread(target=run)
        step.start()
        registry = task.registry()
        while scrape(registry)("tensorfleet_steps_running", role="master") == 0:
            assert step.is_alive()
        task.stop(0.2)
        step.join(30)
    assert isinstance(
        errors[0], (tf.errors.CancelledError, tf.errors.UnavailableError, tf.errors.AbortedError)
    )
