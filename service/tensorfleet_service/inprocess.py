"""Sessions on a master of the client's own process, without a server or that of a server."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import tensorfleet_service.kernels  # noqa: F401  the kernels register themselves
from tensorfleet.core import errors, gc_pause
from tensorfleet.graph.graph_part import GraphPart
from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.session.connect import register_own_servers
from tensorfleet.session.transport import Transport
from tensorfleet.wire.buffers import SHARED
from tensorfleet.wire.limits import POOLED_FROM_BYTES
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember, Member
from tensorfleet_service.master.partial import PartialRuns
from tensorfleet_service.master.session import MasterSession
from tensorfleet_service.master.signature import MasterSignature
from tensorfleet_service.master.step_future import StepFuture
from tensorfleet_service.worker.worker import Worker

TASK = "/job:localhost/replica:0/task:0"


class MasterTransport(Transport):
    """A session on a master of this process."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._session: MasterSession | None = None
        self._partial: PartialRuns | None = None
        self._timeout: float | None = None

    def create(self, graph_def: GraphDef, config: ConfigProto) -> None:
        self._begin(self._master.create_session(graph_def, config))

    def _begin(self, session: MasterSession) -> None:
        self._session = session
        self._partial = PartialRuns(session)
        # A server's own configuration may have a limit for sessions that bring none.
        self._timeout = session.operation_timeout or None

    def extend(self, graph_def: GraphDef) -> None:
        self._open().extend(graph_def)

    def create_from(self, part: GraphPart, config: ConfigProto) -> None:
        self._begin(self._master.create_session(part, config))

    def extend_from(self, part: GraphPart) -> None:
        self._open().extend(part)

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> InProcessSignature:
        session = self._open()
        return InProcessSignature(
            self._master, session, session.prepare(feeds, fetches, targets), self._timeout
        )

    def partial_run_setup(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> str:
        self._open()
        assert self._partial is not None
        return self._partial.setup(feeds, fetches, targets)

    def partial_run(self, handle: str, feeds: dict[str, Any], fetches: tuple[str, ...]) -> Sequence[Any]:
        assert self._partial is not None
        future = StepFuture()
        step = self._partial.run(handle, feeds, fetches, future.done)
        try:
            return future.wait(step, self._timeout)
        except KeyboardInterrupt:
            step.fail(errors.CancelledError(None, None, "The step was interrupted"))
            raise

    def list_devices(self) -> list[DeviceAttributes]:
        response = self._open().list_devices()
        return [*response.local_device, *response.remote_device]

    def close(self) -> None:
        if self._session is not None:
            # After a reset or shutdown, the master does not know the session any more.
            with contextlib.suppress(errors.AbortedError):
                self._master.close_session(self._session.handle)
            self._session = None

    def _open(self) -> MasterSession:
        if self._session is None:
            raise errors.AbortedError(None, None, "The session is closed")
        return self._session


class InProcessTransport(MasterTransport):
    """A master with one task in this process. Its variables live as long as it does, as in TensorFlow."""

    def __init__(self, config: ConfigProto) -> None:
        incarnation = secrets.randbits(63)
        cpus = config.device_count.get("CPU", 1)
        gpus = dict(config.device_count).get("GPU")
        self._worker = Worker(
            TASK, task_devices(TASK, incarnation, cpus, gpus, config.gpu_options), incarnation
        )
        super().__init__(Master(partial(_join, self._worker), self._worker.resources.reset, _to_stderr))

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> InProcessSignature:
        # Nothing here waits for other tasks, so one pause spans all of the work, and one collection follows.
        with gc_pause.paused():
            return super().prepare(feeds, fetches, targets)

    def close(self) -> None:
        super().close()
        self._worker.close()


def _join(worker: Worker, session: str, config: ConfigProto) -> list[Member]:
    return [LocalMember(worker, session, isolate=False)]


_serving: dict[tuple[int, str], Master] = {}
"""The masters of this process's servers, by process id (a fork has no servers) and address."""


def serves(address: str, master: Master) -> None:
    """Registers a server that sessions of this process can reach without a socket."""
    _serving[os.getpid(), address] = master


def serves_no_more(address: str) -> None:
    _serving.pop((os.getpid(), address), None)


def own_server(address: str) -> MasterTransport | None:
    """The transport to a server of this process; None if no server has the address."""
    master = _serving.get((os.getpid(), address))
    return None if master is None else MasterTransport(master)


register_own_servers(own_server)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class InProcessSignature:
    """A run signature on the master in this process."""

    __slots__ = ("_master", "_run", "_session", "_signature", "_timeout")

    def __init__(
        self, master: Master, session: MasterSession, signature: MasterSignature, timeout: float | None
    ) -> None:
        self._master = master
        self._session = session
        self._signature = signature
        self._timeout = timeout
        self._run = session.run_metered if session.is_metered else session.run_direct

    def __call__(self, feeds: Sequence[Any], timeout: float | None = None) -> Sequence[Any]:
        if self._signature.direct is None or timeout is not None:
            return self._wait(feeds, None, None, timeout)
        with np.errstate(all="ignore"):
            return own(self._run(self._signature, feeds))

    def traced(
        self, feeds: Sequence[Any], options: RunOptions, metadata: RunMetadata, timeout: float | None = None
    ) -> Sequence[Any]:
        return self._wait(feeds, options, metadata, timeout)

    def _wait(
        self,
        feeds: Sequence[Any],
        options: RunOptions | None,
        metadata: RunMetadata | None,
        timeout: float | None,
    ) -> Sequence[Any]:
        future = StepFuture()
        with np.errstate(all="ignore"):
            limit = timeout or self._timeout
            step = self._master.run_step(
                self._session, self._signature, feeds, future.done, options, metadata, may_block=not limit
            )
            try:
                return own(future.wait(step, limit))
            except KeyboardInterrupt:
                step.fail(errors.CancelledError(None, None, "The step was interrupted"))
                raise


def own(values: Sequence[Any]) -> Sequence[Any]:
    """The fetched values, with a copy in place of each array that something else holds, too.

    Inside of a step, constants, variables and fed values are handed out as they are. The caller may change
    fetched arrays, so it gets its own ones. A fresh array has no reference but that in `values`, and is not
    copied.
    """
    for value in values:
        if type(value) is np.ndarray:
            if value.nbytes >= POOLED_FROM_BYTES and value.base is not None:
                SHARED.give_up(value.base)
            if sys.getrefcount(value) > _FRESH or not (
                value.base is None or sys.getrefcount(value.base) <= _FRESH_BASE
            ):
                return [_own(v) for v in values]
    return values


def _own(value: Any) -> Any:
    return value.copy() if type(value) is np.ndarray else value


def _fresh_counts() -> tuple[int, int]:
    """The reference counts in `own` of an array, and of the base of a view, that nobody else holds."""
    counts = []
    for make in (lambda: np.empty(2), lambda: np.empty(2).reshape(2, 1)):
        values = (make(),)  # the only reference, as in the result of a step
        for item in values:
            counts.append(sys.getrefcount(item))
            if item.base is not None:
                counts.append(sys.getrefcount(item.base))
    return counts[0], counts[2]


_FRESH, _FRESH_BASE = _fresh_counts()
