"""Transport: what a session needs of its master, whichever way it is reached.

Values are NumPy arrays; of rank 0, NumPy scalars. Strings are object arrays of bytes, of rank 0 for a single
one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tensorfleet.core.addresses import without_spaces
from tensorfleet.session.timeouts import (
    CLOSE_SECONDS as CLOSE_SECONDS,
    DEFAULT_CONNECT_SECONDS as DEFAULT_CONNECT_SECONDS,
    GRACE_SECONDS as GRACE_SECONDS,
)

if TYPE_CHECKING:
    from tensorfleet.graph.graph_part import GraphPart
    from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
    from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
    from tensorfleet.proto.graph_pb2 import GraphDef

Value = np.ndarray[Any, Any] | np.generic


class Signature(Protocol):
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
    """One session on one master. Many threads may run its signatures at once; failures are `tf.errors`."""

    @abstractmethod
    def create(self, graph_def: GraphDef, config: ConfigProto) -> None:
        """Makes the session on the master. Called once, before everything else."""

    @abstractmethod
    def extend(self, graph_def: GraphDef) -> None:
        """Adds nodes, all of them new. Signatures that were prepared before stay valid."""

    def create_from(self, part: GraphPart, config: ConfigProto) -> None:
        """`create` by operations; a master of this process needs no message of them."""
        self.create(part.graph_def(), config)

    def extend_from(self, part: GraphPart) -> None:
        """`extend` by operations."""
        self.extend(part.graph_def())

    @abstractmethod
    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> Signature:
        """Prepares a run signature: names of tensors to feed and to fetch, and of operations to run."""

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


def address_of(target: str) -> str:
    """`host:port` of a target `grpc://host:port`."""
    return without_spaces(target.split("://", 1)[1])


def connect_seconds(config: ConfigProto) -> float:
    """The time to wait for a server to answer at all, in seconds."""
    return config.operation_timeout_in_ms / 1000 or DEFAULT_CONNECT_SECONDS
