"""Discovery: asks a task, by gRPC at its address in the ClusterSpec, where its stream endpoint is."""

from __future__ import annotations

from collections.abc import Callable

import grpc

from tensorfleet import errors
from tensorfleet.proto import fleet_pb2

Discovery = Callable[[str, float], fleet_pb2.Endpoint]

GET_ENDPOINT = "/tensorfleet.FleetService/GetEndpoint"


def discover(address: str, timeout: float) -> fleet_pb2.Endpoint:
    """The endpoint of the task at `address`; without stream addresses if it has gRPC only.

    Raises:
        UnavailableError: nobody answers there within `timeout` seconds.
    """
    with grpc.insecure_channel(address, options=(("grpc.use_local_subchannel_pool", 1),)) as channel:
        ask = channel.unary_unary(
            GET_ENDPOINT,
            request_serializer=fleet_pb2.GetEndpointRequest.SerializeToString,
            response_deserializer=fleet_pb2.Endpoint.FromString,
        )
        try:
            endpoint: fleet_pb2.Endpoint = ask(fleet_pb2.GetEndpointRequest(), timeout=timeout)
        except grpc.RpcError as e:
            raise errors.UnavailableError(None, None, f"{e.code().name}: {e.details()}") from None
    return endpoint
