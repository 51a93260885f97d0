"""The stream transport of a session: small headers and raw tensors over sockets of our own.

A thread that calls takes an idle connection (or opens one), sends its request, waits for the answer on
that very socket, and puts the connection back: no hand-off between threads on the way.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from google.protobuf.message import Message

from tensorfleet.core import errors
from tensorfleet.proto import config_pb2, device_attributes_pb2, fleet_pb2, graph_pb2, master_pb2
from tensorfleet.session.master_connection import MasterConnection
from tensorfleet.session.timeouts import CLOSE_SECONDS, GRACE_SECONDS
from tensorfleet.session.transport import (
    Transport,
    Value,
    address_of,
    connect_seconds,
)
from tensorfleet.session.waiting import creating_takes_long, saying
from tensorfleet.wire import heartbeat
from tensorfleet.wire.frames import (
    UNKNOWN_CALLABLE,
    Frame,
    Kind,
    Method,
    encode,
    encode_with_meta,
    unpack_error,
)

_Response = TypeVar("_Response", bound=Message)


class StreamTransport(Transport):
    """A session on a master that is reached by its stream endpoint, over `connection` and others like it."""

    def __init__(
        self,
        connection: MasterConnection,
        endpoint: fleet_pb2.Endpoint,
        target: str,
        config: config_pb2.ConfigProto,
    ) -> None:
        self._address = connection.address
        self._security, self._host = connection.security, connection.host
        self._endpoint = endpoint
        self._target = target
        self._timeout: float | None = config.operation_timeout_in_ms / 1000 or None
        self._connect_seconds = connect_seconds(config)
        self.address = address_of(target)
        self.task = endpoint.task
        self.incarnation = endpoint.incarnation
        self._idle = [connection]
        self._closed = False
        self._open = {connection}
        self._waiting: dict[MasterConnection, tuple[int, float]] = {}
        self._ids = itertools.count(1)
        self._handle = ""
        self._version = 0
        self._lock = threading.Lock()
        self._heart = heartbeat.own()
        self._heart.watch(self)

    # Calls

    def create(self, graph_def: graph_pb2.GraphDef, config: config_pb2.ConfigProto) -> None:
        with saying(creating_takes_long(self._target, self._connect_seconds)):
            response = self._call(
                Method.CREATE_SESSION,
                master_pb2.CreateSessionRequest(graph_def=graph_def, config=config, target=self._target),
                master_pb2.CreateSessionResponse,
                # The server waits this long for the other tasks, and then says which are missing.
                self._connect_seconds + GRACE_SECONDS,
            )
        self._handle = response.session_handle
        self._version = response.graph_version

    def extend(self, graph_def: graph_pb2.GraphDef) -> None:
        response = self._call(
            Method.EXTEND_SESSION,
            master_pb2.ExtendSessionRequest(
                session_handle=self._handle, graph_def=graph_def, current_graph_version=self._version
            ),
            master_pb2.ExtendSessionResponse,
        )
        self._version = response.new_graph_version

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> StreamSignature:
        response = self._call(
            Method.MAKE_CALLABLE,
            master_pb2.MakeCallableRequest(
                session_handle=self._handle,
                options=config_pb2.CallableOptions(feed=feeds, fetch=fetches, target=targets),
            ),
            master_pb2.MakeCallableResponse,
        )
        return StreamSignature(self, response.handle, (feeds, fetches, targets))

    def partial_run_setup(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> str:
        return self._call(
            Method.PARTIAL_RUN_SETUP,
            master_pb2.PartialRunSetupRequest(
                session_handle=self._handle, feed=feeds, fetch=fetches, target=targets
            ),
            master_pb2.PartialRunSetupResponse,
        ).partial_run_handle

    def partial_run(self, handle: str, feeds: dict[str, Value], fetches: tuple[str, ...]) -> Sequence[Value]:
        request = master_pb2.RunStepRequest(
            session_handle=self._handle, fetch=fetches, partial_run_handle=handle
        )
        for name in feeds:
            request.feed.add(name=name)
        meta = request.SerializeToString()
        values = list(feeds.values())
        request_id = next(self._ids)
        frame = partial(encode_with_meta, Kind.CALL, request_id, Method.RUN_STEP, meta, values)
        return self.exchange(request_id, frame, self._timeout, None).tensors

    def list_devices(self) -> list[device_attributes_pb2.DeviceAttributes]:
        response = self._call(
            Method.LIST_DEVICES,
            master_pb2.ListDevicesRequest(session_handle=self._handle),
            master_pb2.ListDevicesResponse,
        )
        return [*response.local_device, *response.remote_device]

    def close(self) -> None:
        try:
            if self._handle:
                self._call(
                    Method.CLOSE_SESSION,
                    master_pb2.CloseSessionRequest(session_handle=self._handle),
                    master_pb2.CloseSessionResponse,
                    CLOSE_SECONDS,
                )
        except errors.AbortedError:
            pass  # the master does not know the session any more: it was reset or restarted
        finally:
            self._closed = True
            self._heart.forget(self)
            self._drop_idle()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._drop(connection)

    def _drop(self, connection: MasterConnection) -> None:
        self._open.discard(connection)
        connection.close()

    # Called by the heart

    def heard(self, now: float) -> float | None:
        """The monotonic time since when a call waits without a byte from the master; None if none does.

        A master that is silent may compute, so this is no more than a reason to ask it.
        """
        idle = set(self._idle.copy())
        before = self._waiting
        self._waiting = {}
        for connection in self._open.copy() - idle:
            received = connection.reader.traffic.received_bytes
            known = before.get(connection)
            self._waiting[connection] = known if known and known[0] == received else (received, now)
        return min((since for _, since in self._waiting.values()), default=None)

    def silent(self, why: str) -> None:
        """The master is lost: the calls that wait for it fail."""
        error = f"Lost the connection to {self._where()}: {why}"
        for connection in self._open.copy():
            connection.lose(errors.UnavailableError(None, None, error))
        self._heart.watch(self)  # for calls by later connections

    def _where(self) -> str:
        return f"{self._endpoint.task} ({self._target})"

    def _call(
        self, method: Method, request: Message, response: type[_Response], timeout: float | None = None
    ) -> _Response:
        request_id = next(self._ids)
        frame = partial(encode, Kind.CALL, request_id, method, request.SerializeToString())
        return response.FromString(self.exchange(request_id, frame, timeout or self._timeout, None).meta)

    # Steps

    def run(
        self,
        callable_id: int,
        feeds: Sequence[Value],
        options: config_pb2.RunOptions | None,
        metadata: config_pb2.RunMetadata | None,
        timeout: float | None,
    ) -> Sequence[Value]:
        """Runs a signature, by the number that the master gave it."""
        request_id = next(self._ids)
        if options is None and timeout is None:
            return self.exchange(
                request_id,
                partial(encode, Kind.RUN, request_id, callable_id, b"", feeds),
                self._timeout,
                None,
            ).tensors
        sent = config_pb2.RunOptions()
        if options is not None:
            sent.CopyFrom(options)
        if timeout:
            sent.timeout_in_ms = max(int(timeout * 1000), 1)
        # An empty message would say that there are no options.
        meta = sent.SerializeToString() or config_pb2.RunOptions(inter_op_thread_pool=-1).SerializeToString()
        frame = partial(encode_with_meta, Kind.RUN, request_id, callable_id, meta, feeds)
        return self.exchange(request_id, frame, timeout or self._timeout, metadata).tensors

    def exchange(
        self,
        request_id: int,
        frame: Callable[..., list[Any]],
        timeout: float | None,
        metadata: config_pb2.RunMetadata | None,
    ) -> Frame:
        """Sends a request and waits for its answer.

        Args:
            request_id: of the request, which the answer repeats.
            frame: makes the request, with the `arena` of the connection that it will go over.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            if timeout is not None:
                connection.sock.settimeout(timeout + GRACE_SECONDS)
            connection.send(frame(arena=connection.arena))
            answer = connection.reader.read()
            while answer.kind == Kind.TRACED and answer.number == request_id:
                if metadata is not None:
                    metadata.ParseFromString(answer.meta)
                answer = connection.reader.read()
            if answer.number != request_id:
                if answer.kind == Kind.ERROR and not answer.number:
                    raise unpack_error(answer)  # the master gives the connection up, and says why
                raise ValueError(f"the answer to request {answer.number} in place of {request_id}")
            if timeout is not None:
                connection.sock.settimeout(None)
        except BaseException as e:
            # The answer may still come: nobody else may read it. The server takes the end of the connection
            # for the end of the call, so an interrupted step is cancelled there.
            self._drop(connection)
            if isinstance(e, (ConnectionError, EOFError)):
                self._drop_idle()  # the others lead to the same process
            raise connection.lost or self._failure(e, timeout) from None
        self._idle.append(connection)
        if self._closed:
            self._drop_idle()  # nobody else would, now that the session has ended meanwhile
        if answer.kind == Kind.ERROR:
            raise unpack_error(answer)
        return answer

    def _connect(self) -> MasterConnection:
        try:
            with self._converted():
                connection = MasterConnection(
                    self._address, self._security, host=self._host, incarnation=self.incarnation
                )
        except (errors.UnavailableError, errors.UnauthenticatedError):
            # A restarted task has its stream endpoint elsewhere, and takes no proof for the earlier one.
            if self._current_incarnation() not in (None, self._endpoint.incarnation):
                raise self._restarted() from None
            raise
        if connection.incarnation != self._endpoint.incarnation:
            connection.close()
            raise self._restarted()
        self._open.add(connection)
        return connection

    def _current_incarnation(self) -> int | None:
        """The incarnation of the task that is at the target's address now, None if none answers."""
        from tensorfleet.session.transport_grpc import Channel

        channel = Channel(address_of(self._target), config_pb2.ConfigProto())
        try:
            return channel.call(
                "/tensorfleet.FleetService/GetEndpoint",
                fleet_pb2.GetEndpointRequest(),
                fleet_pb2.Endpoint,
                GRACE_SECONDS,
            ).incarnation
        except errors.OpError:
            return None
        finally:
            channel.close()

    def _restarted(self) -> errors.OpError:
        return errors.AbortedError(
            None,
            None,
            f"Session {self._handle} is not found: {self._endpoint.task} ({self._target}) has restarted. "
            "Make a new session.",
        )

    @contextlib.contextmanager
    def _converted(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, ValueError) as e:
            raise self._failure(e, None) from None

    def _failure(self, error: BaseException, timeout: float | None) -> BaseException:
        """The error for a broken exchange."""
        where = self._where()
        if isinstance(error, TimeoutError) and error.errno is None and timeout is not None:
            return errors.DeadlineExceededError(None, None, f"{where} did not answer within {timeout:g} s")
        if isinstance(error, (OSError, EOFError)):
            return errors.UnavailableError(None, None, f"Lost the connection to {where}: {error or 'closed'}")
        if isinstance(error, ValueError):
            return errors.InternalError(None, None, f"{where} sent what is not a frame: {error}")
        return error


class StreamSignature:
    """A run signature that the master knows by a number."""

    __slots__ = ("_callable", "_names", "_transport")

    def __init__(
        self,
        transport: StreamTransport,
        callable_id: int,
        names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    ) -> None:
        self._transport = transport
        self._callable = callable_id
        self._names = names

    def __call__(self, feeds: Sequence[Value], timeout: float | None = None) -> Sequence[Value]:
        return self._run(feeds, None, None, timeout)

    def traced(
        self,
        feeds: Sequence[Value],
        options: config_pb2.RunOptions,
        metadata: config_pb2.RunMetadata,
        timeout: float | None = None,
    ) -> Sequence[Value]:
        return self._run(feeds, options, metadata, timeout)

    def _run(
        self,
        feeds: Sequence[Value],
        options: config_pb2.RunOptions | None,
        metadata: config_pb2.RunMetadata | None,
        timeout: float | None,
    ) -> Sequence[Value]:
        try:
            return self._transport.run(self._callable, feeds, options, metadata, timeout)
        except errors.AbortedError as e:
            if e.message != UNKNOWN_CALLABLE:
                raise
        # No step was begun. The master drops what is not used for long; of a session that it does not know
        # any more, this says so.
        self._callable = self._transport.prepare(*self._names)._callable
        return self._transport.run(self._callable, feeds, options, metadata, timeout)
