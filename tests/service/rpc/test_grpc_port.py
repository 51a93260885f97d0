"""The look at a task's port before gRPC gets it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

import tensorfleet as tf
from tensorfleet.proto import worker_pb2
from tensorfleet.wire.sizes import SIZE
from tensorfleet_service.devices import memory
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.rpc.grpc_server import GrpcServer, check_free
from tensorfleet_service.threads import pool
from tests.until import until


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "localhost:{}", "[::]:{}", "0.0.0.0:{}"])
def test_a_port_that_is_listened_at_is_refused(address: str) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        if address.startswith("localhost") and any(
            family == socket.AF_INET6 for family, *_ in socket.getaddrinfo("localhost", port)
        ):
            pytest.skip("localhost has a second address here, which is free")
        with pytest.raises(OSError, match="in use"):
            check_free(address.format(port))
    check_free(address.format(port))


def test_any_free_port() -> None:
    check_free("127.0.0.1:0")


@pytest.mark.parametrize("address", ["localhost", "10.0.0.1", "host:"])
def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no port: write host:port"):
        check_free(address)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no port: write host:port"):
        tf.train.Server({"ps": [address]}, job_name="ps", task_index=0)


def test_a_foreign_address_is_refused() -> None:
    with pytest.raises(OSError, match="assign"):
        check_free("192.0.2.1:0")


def test_a_machine_without_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.socket

    def without_ipv6(family: int = socket.AF_INET, *args: Any) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError("Address family not supported by protocol")
        return real(family, *args)

    monkeypatch.setattr(socket, "socket", without_ipv6)
    check_free("[::]:0")


STATUS = "/test/Status"


class Asking:
    """Calls the one method of a server."""

    def __init__(self, server: GrpcServer, channel: grpc.Channel) -> None:
        self.address = f"127.0.0.1:{server.port}"
        self.memory = server._handlers._memory
        self._method = channel.unary_unary(
            STATUS, response_deserializer=worker_pb2.GetStatusResponse.FromString
        )

    def __call__(self) -> str:
        name: str = self._method(b"", timeout=20).device_attributes[0].name
        return name


@pytest.fixture
def ask() -> Iterator[Asking]:
    response = worker_pb2.GetStatusResponse()
    response.device_attributes.add(name="here")
    server = GrpcServer("127.0.0.1:0", {STATUS: (worker_pb2.GetStatusRequest, lambda *_: response)}, {})
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield Asking(server, channel)
    server.stop(1)


def test_a_request_without_memory_for_it_is_refused_and_others_are_answered(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask() == "here"

    def no_memory(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(limits, "parse", no_memory)
        with pytest.raises(grpc.RpcError) as caught:
            ask()
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, caught.value
    assert ask() == "here"


def test_a_call_without_a_thread_is_refused_and_others_are_answered(
    ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(pool, "_Thread", refused)
        with pytest.raises(grpc.RpcError, match="no thread for the call") as caught:
            ask()
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert ask() == "here"


@pytest.mark.parametrize("size", [None, "300"])
def test_a_request_that_does_not_come_keeps_no_room_that_others_wait_for(
    ask: Asking, monkeypatch: pytest.MonkeyPatch, size: str | None
) -> None:
    # Not that of this process: the watchdog of a server in it would hold all other tests to it.
    budget = memory.Budget()
    budget.limit = memory.Limit(1000, "this test")
    monkeypatch.setattr(budget, "room", lambda: 1000)
    monkeypatch.setattr(ask.memory, "_budget", budget)
    monkeypatch.setattr(timeouts, "REQUEST_SECONDS", 0.5)
    over = threading.Event()

    def silent() -> Iterator[bytes]:
        over.wait(60)
        yield from ()

    metadata = [] if size is None else [(SIZE, size)]
    with grpc.insecure_channel(ask.address) as channel:
        call = channel.stream_unary(STATUS).future(silent(), metadata=metadata)
        try:
            until(lambda: ask.memory._receiving)
            assert ask() == "here"
            with pytest.raises(grpc.RpcError, match="did not come within"):
                call.result(20)
            assert call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            until(lambda: not ask.memory._reserved)
        finally:
            over.set()
