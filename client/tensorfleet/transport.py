"""Transport: what a session needs of its master, whichever way it is reached.

`connect` chooses: a master in this process (no target, or that of a server of this process), a stream to one
of TensorFleet's tasks, or plain gRPC as TensorFlow's own servers speak it. Values are NumPy arrays; of rank
0, NumPy scalars. Strings are object arrays of bytes, of rank 0 for a single one.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tensorfleet import errors

if TYPE_CHECKING:
    from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
    from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
    from tensorfleet.proto.graph_pb2 import GraphDef

Value = np.ndarray[Any, Any] | np.generic

FORCE_VARIABLE = "TENSORFLEET_TRANSPORT"
DEFAULT_CONNECT_SECONDS = 30.0

_GRPC_PREFIXES = ("grpc://", "grpc+stream://")


class Runner(Protocol):
    """One run signature, prepared once: feeds and fetches go by position, in the order given to `prepare`."""

    def __call__(self, feeds: Sequence[Value], timeout: float | None = None) -> Sequence[Value]:
        """Runs a step. `timeout` is in seconds; None leaves it to the session's configuration."""
        ...

    def traced(
        self, feeds: Sequence[Value], options: RunOptions, metadata: RunMetadata, timeout: float | None = None
    ) -> Sequence[Value]:
        """Runs a step under `options` and writes into `metadata` what they ask for."""
        ...


class Transport(ABC):
    """One session on one master. Many threads may call its runners at once; failures are `tf.errors`."""

    @abstractmethod
    def create(self, graph_def: GraphDef, config: ConfigProto) -> None:
        """Makes the session on the master. Called once, before everything else."""

    @abstractmethod
    def extend(self, graph_def: GraphDef) -> None:
        """Adds nodes, all of them new. Runners that were prepared before stay valid."""

    @abstractmethod
    def prepare(self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]) -> Runner:
        """The runner of a signature: names of tensors to feed and to fetch, and of operations to run."""

    @abstractmethod
    def partial_run_setup(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> str:
        """Opens a step that is run in parts, and returns its handle."""

    @abstractmethod
    def partial_run(self, handle: str, feeds: dict[str, Value], fetches: tuple[str, ...]) -> Sequence[Value]:
        """Feeds a part of an open step and returns the fetches, in order."""

    @abstractmethod
    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that the session can use."""

    @abstractmethod
    def close(self) -> None:
        """Ends the session on the master; steps that are running are cancelled."""


def check_target(target: str) -> None:
    """Raises NotFoundError for a target that `connect` does not know."""
    if target and not target.startswith(_GRPC_PREFIXES):
        raise errors.NotFoundError(
            None,
            None,
            f'No session factory registered for the given session options: {{target: "{target}" config: }} '
            "Registered factories are {DIRECT_SESSION, GRPC_SESSION}.",
        )


def connect(target: str, config: ConfigProto) -> Transport:
    """The transport for a session's target.

    Raises:
        NotFoundError: the target is of no known form.
        ImportError: no target is given, and the service is not installed.
        UnavailableError: no server answers within 30 seconds.
        DeadlineExceededError: the same within `config.operation_timeout_in_ms`, where that is set.
    """
    check_target(target)
    if not target:
        return _in_process(config)
    service = sys.modules.get("tensorfleet_service.inprocess")
    if service is not None and FORCE_VARIABLE not in os.environ:
        own: Transport | None = service.own_server(address_of(target), config)
        if own is not None:
            return own
    from tensorfleet import transport_grpc

    channel = transport_grpc.Channel(address_of(target), config)
    endpoint = channel.endpoint()  # by gRPC, too, errors say which task it is
    if os.environ.get(FORCE_VARIABLE) != "grpc" and endpoint is not None and endpoint.stream_address:
        from tensorfleet.stream_route import find_route
        from tensorfleet.transport_stream import StreamTransport

        connection = find_route(endpoint, address_of(target))
        if connection is not None:
            channel.close()
            return StreamTransport(connection, endpoint, target, config)
    return transport_grpc.GrpcTransport(channel, target, config)


def _in_process(config: ConfigProto) -> Transport:
    try:
        from tensorfleet_service.inprocess import InProcessTransport
    except ModuleNotFoundError as error:
        if error.name not in ("tensorfleet_service", "tensorfleet_service.inprocess"):
            raise
        raise ImportError(
            "A session without a target computes in this process, which takes the service's package: "
            "pip install tensorfleet-service. To use a cluster, name one of its tasks: "
            'tf.Session("grpc://host:port").'
        ) from error
    transport: Transport = InProcessTransport(config)
    return transport


def reset(target: str, containers: Sequence[str] | None, config: ConfigProto | None) -> None:
    """Closes the sessions of the master at `target` and clears containers (none: the default one)."""
    from tensorfleet.proto.config_pb2 import ConfigProto

    check_target(target)
    config = config or ConfigProto()
    if not target:
        # Sessions in this process share no containers: each has its own variables, gone when it is closed.
        return
    from tensorfleet import transport_grpc

    channel = transport_grpc.Channel(address_of(target), config)
    try:
        channel.reset(list(containers or ()), list(config.device_filters))
    finally:
        channel.close()


def address_of(target: str) -> str:
    """`host:port` of a target `grpc://host:port`."""
    return target.split("://", 1)[1]


def connect_seconds(config: ConfigProto) -> float:
    """How long to wait for a server to answer at all."""
    return config.operation_timeout_in_ms / 1000 or DEFAULT_CONNECT_SECONDS
