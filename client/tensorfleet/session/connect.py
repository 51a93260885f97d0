"""The way from a session to its master: `connect` chooses.

It is a master in this process (no target, or that of a server of this process), a stream to one of
TensorFleet's tasks, or plain gRPC as TensorFlow's own servers speak it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tensorfleet.core import errors
from tensorfleet.core.entry_points import load_entry_point
from tensorfleet.session.transport import Transport, address_of

if TYPE_CHECKING:
    from tensorfleet.proto.config_pb2 import ConfigProto

FORCE_VARIABLE = "TENSORFLEET_TRANSPORT"

_HOST_AND_PORT = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.%\w]+\]):\d+")
_GRPC_PREFIXES = ("grpc://", "grpc+stream://")
_HOST_ALONE = re.compile(r"[\w.-]+")


def full_target(target: str) -> str:
    """The target with `grpc://`, which TensorFlow asks for, before a bare `host:port`.

    Raises:
        NotFoundError: the target is of no form that `connect` knows.
        InvalidArgumentError: it is a host without a port.
    """
    if target.startswith(_GRPC_PREFIXES) and _HOST_ALONE.fullmatch(address_of(target)):
        # gRPC would try the port of HTTPS until the session gives up.
        raise errors.InvalidArgumentError(
            None, None, f'The target "{target}" has no port. Tasks are at host:port: "{target}:2222".'
        )
    if not target or target.startswith(_GRPC_PREFIXES):
        return target
    if _HOST_AND_PORT.fullmatch(target):
        return f"grpc://{target}"
    raise errors.NotFoundError(
        None,
        None,
        f'No session factory registered for the given session options: {{target: "{target}" config: }} '
        "Registered factories are {DIRECT_SESSION, GRPC_SESSION}. "
        'A target is the address of a task, such as "grpc://127.0.0.1:2222", or empty for this process.',
    )


def connect(target: str, config: ConfigProto) -> Transport:
    """The transport for a session's target.

    Raises:
        NotFoundError: the target is of no known form.
        ImportError: no target is given, and the service is not installed.
        UnauthenticatedError: there is a cluster secret, and nobody there has proven to know it.
        UnavailableError: no server answers within 30 seconds.
        DeadlineExceededError: the same within `config.operation_timeout_in_ms`, where that is set.
    """
    target = full_target(target)
    if not target:
        return _in_process(config)
    if FORCE_VARIABLE not in os.environ:
        for find in _own_servers:
            own = find(address_of(target))
            if own is not None:
                return own
    from tensorfleet.session import transport_grpc

    channel = transport_grpc.Channel(address_of(target), config)
    endpoint = channel.endpoint()  # by gRPC, too, errors say which task it is
    why: list[errors.OpError] = []
    by_calls = os.environ.get(FORCE_VARIABLE) == "grpc"
    if not by_calls and endpoint is not None:
        from tensorfleet.session.stream_route import find_route, route_by_grpc
        from tensorfleet.session.transport_stream import StreamTransport

        for there_is, route in ((endpoint.stream_address, find_route), (endpoint.connects, route_by_grpc)):
            if there_is:
                connection = route(endpoint, address_of(target), channel.security)
                if not isinstance(connection, errors.OpError):
                    channel.close()
                    return StreamTransport(connection, endpoint, target, config)
                why.append(connection)
    if not by_calls and channel.security.secret:
        channel.close()
        raise _unproven(address_of(target), why)
    return transport_grpc.GrpcTransport(channel, target, config)


def _unproven(address: str, why: Sequence[errors.OpError]) -> errors.OpError:
    """The error where only single calls are left, of which the caller alone would prove who it is."""
    if why and why[-1].error_code in (errors.UNAUTHENTICATED, errors.PERMISSION_DENIED):
        return why[-1]
    reasons = "; ".join(error.message for error in why) or "it has no stream"
    return errors.UnauthenticatedError(
        None,
        None,
        f"Nobody at {address} has proven to know the cluster secret: {reasons}. "
        f"{FORCE_VARIABLE}=grpc trusts whoever answers.",
    )


_own_servers: list[Callable[[str], Transport | None]] = []


def register_own_servers(find: Callable[[str], Transport | None]) -> None:
    """Registers what finds the server of this process at an address: a session on it needs no socket."""
    _own_servers.append(find)


def _in_process(config: ConfigProto) -> Transport:
    way: Callable[[ConfigProto], Transport] = load_entry_point(
        "tensorfleet.service",
        "session",
        "A session without a target computes in this process, which takes the service's package: {how}. "
        'To use a cluster, name one of its tasks: tf.Session("grpc://host:port").',
    )
    return way(config)


def reset(target: str, containers: Sequence[str] | None, config: ConfigProto | None) -> None:
    """Closes the sessions of the master at `target` and clears containers (none: the default one)."""
    from tensorfleet.proto.config_pb2 import ConfigProto

    target = full_target(target)
    config = config or ConfigProto()
    if not target:
        # Sessions in this process share no containers: each has its own variables, gone when it is closed.
        return
    from tensorfleet.session import transport_grpc

    channel = transport_grpc.Channel(address_of(target), config)
    try:
        channel.reset(list(containers or ()), list(config.device_filters))
    finally:
        channel.close()
