"""The gRPC channel of a session, which is another one once the server was lost."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from tensorfleet.core import errors
from tensorfleet.proto import config_pb2, fleet_pb2
from tensorfleet.session import transport_grpc


class FakeChannel:
    """Refuses calls once it is closed, as gRPC's does; `asked` is called when a method is first asked for."""

    def __init__(self, asked: Any) -> None:
        self._asked = asked
        self.closed = False

    def unary_unary(self, path: str, **_: Any) -> Any:
        self._asked()

        def call(request: Any, timeout: float | None = None, metadata: Any = None) -> fleet_pb2.Endpoint:
            if self.closed:
                raise ValueError("Cannot invoke RPC on closed channel!")
            return fleet_pb2.Endpoint(task="/job:worker")

        return call

    def close(self) -> None:
        self.closed = True


def test_a_server_lost_in_the_middle_of_a_call_is_reached_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times: list[str] = []

    def lose_once() -> None:
        if not times:
            times.append("lost")
            channel.silent("no sign of life")

    monkeypatch.setattr(grpc, "insecure_channel", lambda *_, **__: FakeChannel(lose_once))
    channel = transport_grpc.Channel("127.0.0.1:1", config_pb2.ConfigProto())

    def ask() -> fleet_pb2.Endpoint:
        path = "/tensorfleet.FleetService/GetEndpoint"
        return channel.call(path, fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint)

    with pytest.raises(errors.UnavailableError):
        ask()
    assert ask().task == "/job:worker"
    channel.close()
