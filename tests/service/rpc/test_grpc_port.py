"""The look at a task's port before gRPC gets it."""

from __future__ import annotations

import socket
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet_service.rpc.grpc_server import check_free


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
