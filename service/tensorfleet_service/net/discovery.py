"""Discovery: asks a task for its stream endpoint, by gRPC at its address in the ClusterSpec."""

from __future__ import annotations

from collections.abc import Callable

import grpc

from tensorfleet.core import errors
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.security.calls import open_channel
from tensorfleet.security.settings import OPEN, Security

Discovery = Callable[[str, float], fleet_pb2.Endpoint]

GET_ENDPOINT = "/tensorfleet.FleetService/GetEndpoint"


GET_STATUS = "/tensorflow.WorkerService/GetStatus"


def discover(address: str, timeout: float, security: Security = OPEN) -> fleet_pb2.Endpoint:
    """The endpoint of the task at `address`; without stream addresses if it has only gRPC.

    TensorFlow's server does not know the call. Its devices say which task it is; its version stays empty.

    Raises:
        UnavailableError: nobody answers there within `timeout` seconds.
    """
    with open_channel(address, (("grpc.use_local_subchannel_pool", 1),), security) as channel:
        ask = channel.unary_unary(
            GET_ENDPOINT,
            request_serializer=fleet_pb2.GetEndpointRequest.SerializeToString,
            response_deserializer=fleet_pb2.Endpoint.FromString,
        )
        try:
            try:
                endpoint: fleet_pb2.Endpoint = ask(fleet_pb2.GetEndpointRequest(), timeout=timeout)
            except grpc.RpcError as e:
                if e.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
                endpoint = _endpoint_of_tensorflow(channel, timeout)
        except grpc.RpcError as e:
            raise errors.UnavailableError(None, None, f"{e.code().name}: {e.details()}") from None
    return endpoint


def _endpoint_of_tensorflow(channel: grpc.Channel, timeout: float) -> fleet_pb2.Endpoint:
    ask = channel.unary_unary(
        GET_STATUS,
        request_serializer=worker_pb2.GetStatusRequest.SerializeToString,
        response_deserializer=worker_pb2.GetStatusResponse.FromString,
    )
    devices = ask(worker_pb2.GetStatusRequest(), timeout=timeout).device_attributes
    for device in devices:
        task, found, _ = device.name.rpartition("/device:")
        if found:
            return fleet_pb2.Endpoint(task=task, incarnation=device.incarnation)
    raise errors.UnavailableError(None, None, "the server has no devices")
