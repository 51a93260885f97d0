"""Plain gRPC: TensorFlow's MasterService, as its own servers and ours speak it."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import grpc
import numpy as np
from google.protobuf.message import EncodeError, Message

from tensorfleet.core import dtypes, errors, tensor_util
from tensorfleet.core.shapes import to_proto as shape_proto
from tensorfleet.proto import config_pb2, fleet_pb2, graph_pb2, master_pb2
from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
from tensorfleet.proto.named_tensor_pb2 import NamedTensorProto
from tensorfleet.proto.tensor_pb2 import TensorProto
from tensorfleet.security import settings
from tensorfleet.security.calls import ENDPOINT, for_client, metadata, open_channel
from tensorfleet.security.settings import OPEN, Security
from tensorfleet.security.tls import certificates
from tensorfleet.session.transport import (
    CLOSE_SECONDS,
    DEFAULT_CONNECT_SECONDS,
    GRACE_SECONDS,
    Transport,
    Value,
    connect_seconds,
)
from tensorfleet.session.waiting import creating_takes_long, result_of, saying
from tensorfleet.wire import heartbeat
from tensorfleet.wire.sizes import metadata as size_metadata

_CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A server that is being restarted is found again within a second, not within two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
_PROBE_SECONDS = 1.0
_AGAIN_SECONDS = 0.2
_AGAIN_FOR_SECONDS = 30.0  # of calls without a limit of their own
_ENDED_BY_GRPC = "CANCELLED"
CREATE_GRACE_SECONDS = 5.0

_Response = TypeVar("_Response", bound=Message)


class _Call:
    """A call that waits for its answer."""

    __slots__ = ("lost",)

    def __init__(self) -> None:
        self.lost: errors.OpError | None = None


class Channel:
    """Calls to one server by gRPC; failures become `tf.errors`."""

    def __init__(
        self, address: str, config: config_pb2.ConfigProto, security: Security | None = None
    ) -> None:
        self.address = address
        self.security = for_client(address) if security is None else security
        self._config = config
        self.task = ""
        self.incarnation = 0  # of whichever process answers at the address
        self._channel = open_channel(address, _CHANNEL_OPTIONS, self.security)
        self._methods: dict[str, Any] = {}
        self._version = 0 if self.security.tls is None else certificates(self.security.tls).version
        self._proven_to = 0
        self.answered = False
        self._closed = False
        self._calls: set[_Call] = set()
        self._waiting: dict[_Call, float] = {}
        self._heart = heartbeat.own()
        self._heart.watch(self)

    def call(
        self,
        method: str,
        request: Message,
        response: type[_Response],
        timeout: float | None = None,
        wait: float | None = None,
    ) -> _Response:
        """Calls `/tensorflow.MasterService/METHOD`, or any other method by its whole path.

        A call that gRPC has ended, unseen by the task, as too many of others' have come before it, is made
        again: the task knows one that it has seen by its number, or the version of its graph.

        Args:
            wait: for so many seconds for a server that is not there yet, saying so in the log.
        """
        end = time.monotonic() + (_AGAIN_FOR_SECONDS if timeout is None else timeout)
        left = timeout
        while True:
            try:
                return self._call(method, request, response, left, wait)
            except errors.CancelledError as error:
                now = time.monotonic()
                if error.message != _ENDED_BY_GRPC or self._closed or now + 2 * _AGAIN_SECONDS >= end:
                    raise
            time.sleep(_AGAIN_SECONDS * (0.5 + random.random()))
            if timeout is not None:
                left = end - time.monotonic()
                wait = None if wait is None else left

    def _call(
        self,
        method: str,
        request: Message,
        response: type[_Response],
        timeout: float | None,
        wait: float | None,
    ) -> _Response:
        """Calls once."""
        path = method if method.startswith("/") else f"/tensorflow.MasterService/{method}"
        if self.security.tls is not None:
            self._renew()
        methods = self._methods  # before the channel: `silent` replaces both, this one last
        stub = methods.get(path)
        if stub is None:
            stub = methods[path] = self._channel.unary_unary(path, response_deserializer=response.FromString)
        data = _serialized(request)
        said, audience = size_metadata(len(data)), 0
        if self.security is not OPEN:
            audience = self._audience(path)
            said += metadata(self.security, self.address, path, data, audience)
        running = _Call()
        if wait is None:
            self._calls.add(running)
        try:
            if wait is None:
                result: _Response = stub(data, timeout=timeout, metadata=said)
            else:
                call = stub.future(data, timeout=timeout, metadata=said, wait_for_ready=True)
                result = result_of(call, self.address, wait, self._why_absent)
        except grpc.RpcError as error:
            if audience and error.code() is grpc.StatusCode.UNAUTHENTICATED:
                self._proven_to = 0
                if self._audience(path) != audience:  # the task has restarted, and has done nothing yet
                    return self._call(method, request, response, timeout, wait)
            raise running.lost or self._converted(error) from None
        except ValueError:
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.") from None
            raise running.lost or self._lost("closed") from None
        finally:
            self._calls.discard(running)
        return result

    def _renew(self) -> None:
        """Makes another channel once the certificates have been replaced."""
        assert self.security.tls is not None
        version = certificates(self.security.tls).version
        if version != self._version:
            self._version = version
            # The calls that run keep the old one until they end.
            self._channel = open_channel(self.address, _CHANNEL_OPTIONS, self.security)
            self._methods = {}

    def _audience(self, path: str) -> int:
        """The incarnation of the task that a call's proof is for; 0 where it takes none."""
        if not self.security.secret or path == ENDPOINT:
            return 0
        if not self._proven_to:
            request = fleet_pb2.GetEndpointRequest()
            self._proven_to = self.call(ENDPOINT, request, fleet_pb2.Endpoint, _PROBE_SECONDS).incarnation
        return self._proven_to

    def _lost(self, why: str) -> errors.OpError:
        where = f"{self.task} ({self.address})" if self.task else self.address
        return errors.UnavailableError(None, None, f"Lost the connection to {where}: {why}")

    # Called by the heart

    def heard(self, now: float) -> float | None:
        """The monotonic time since when a call waits for its answer; None if none does."""
        self._waiting = {call: self._waiting.get(call, now) for call in self._calls.copy()}
        return min(self._waiting.values(), default=None)

    def silent(self, why: str) -> None:
        """The server is lost: the calls that wait for it fail, and later ones have a channel of their own."""
        for call in self._calls.copy():
            call.lost = self._lost(why)
        lost, self._channel = (
            self._channel,
            open_channel(self.address, _CHANNEL_OPTIONS, self.security),
        )
        self._methods = {}
        self._proven_to = 0
        lost.close()
        self._heart.watch(self)
        if self._closed:
            self._channel.close()

    def _converted(self, error: grpc.RpcError) -> errors.OpError:
        code, details = error.code().value[0], error.details() or ""
        if code in (errors.UNAVAILABLE, errors.DEADLINE_EXCEEDED) and self.address not in details:
            details = f"{details} (server {self.address})"
        if code == errors.RESOURCE_EXHAUSTED and "larger than max" in details:
            details = (
                f"{self.address} takes no message of this size by gRPC, as it has not the memory: "
                f"{details}. Send less at once, use the stream, or raise TENSORFLEET_MEMORY_MB on the task."
            )
        return errors.from_code(code, details)

    def first_call(
        self, method: str, request: Message, response: type[_Response], timeout: float | None = None
    ) -> _Response:
        """Like `call`, waiting for a server that is not there yet; never for ever.

        Raises:
            UnavailableError: none within 30 seconds; DeadlineExceededError if the session has its own limit.
        """
        if self.answered:
            return self.call(method, request, response, timeout)
        limit = connect_seconds(self._config)
        left = timeout or limit
        try:
            result = self.call(method, request, response, left, wait=left)
        except errors.DeadlineExceededError as error:
            raise self._absent(limit, error) from None
        except errors.OpError as error:
            # Any other status was sent by a server.
            self.answered = not isinstance(error, errors.UnavailableError)
            raise
        self.answered = True
        return result

    def _absent(self, limit: float, error: errors.OpError) -> errors.OpError:
        """The error for no answer, with the reason, which only a call that does not wait is told."""
        last = self._why_absent() or error.message
        kind = (
            errors.DeadlineExceededError if self._config.operation_timeout_in_ms else errors.UnavailableError
        )
        variables = f"{settings.CERT}, {settings.KEY} and {settings.CA}"
        if self.security.tls is None and "Socket closed" in last:
            last += f". A task that takes TLS alone ends plain connections so: if it does, set {variables}"
        elif "WRONG_VERSION_NUMBER" in last:
            last += f". The task answers without TLS, which {variables} ask for"
        return kind(None, None, f"No answer from {self.address} within {limit:g} s; last error: {last}")

    def _why_absent(self) -> str:
        """Why a call that does not wait fails; empty if it does not."""
        try:
            self.call(
                "/tensorfleet.FleetService/GetEndpoint",
                fleet_pb2.GetEndpointRequest(),
                fleet_pb2.Endpoint,
                _PROBE_SECONDS,
            )
        except errors.OpError as probe:
            return probe.message
        return ""

    def endpoint(self) -> fleet_pb2.Endpoint | None:
        """The address of the task's stream transport; None for a server that knows no such thing."""
        try:
            endpoint = self.first_call(
                "/tensorfleet.FleetService/GetEndpoint", fleet_pb2.GetEndpointRequest(), fleet_pb2.Endpoint
            )
            self.task = endpoint.task
            return endpoint
        except errors.UnimplementedError:
            return None

    def reset(self, containers: list[str], device_filters: list[str]) -> None:
        self.first_call(
            "Reset",
            master_pb2.ResetRequest(container=containers, device_filters=device_filters),
            master_pb2.ResetResponse,
        )

    def close(self) -> None:
        self._closed = True
        self._heart.forget(self)
        self._channel.close()


def _serialized(request: Message) -> bytes:
    try:
        return request.SerializeToString()
    except (ValueError, EncodeError) as e:
        text = f"The request cannot be sent by gRPC, whose messages hold 2 GiB at most: {e}. Use the stream."
        raise errors.InvalidArgumentError(None, None, text) from None


class GrpcTransport(Transport):
    """A session on a master that is reached by gRPC."""

    def __init__(self, channel: Channel, target: str, config: config_pb2.ConfigProto) -> None:
        self._channel = channel
        self._target = target
        self._timeout = config.operation_timeout_in_ms / 1000 or None
        self._handle = ""
        self._version = 0

    def create(self, graph_def: graph_pb2.GraphDef, config: config_pb2.ConfigProto) -> None:
        request = master_pb2.CreateSessionRequest(graph_def=graph_def, config=config, target=self._target)
        if not self._channel.answered:
            self._channel.endpoint()  # tells a server that is not there from one that waits for others
        # As by the stream: the server waits for so long itself, and then says which tasks are missing.
        limit = self._timeout and self._timeout + CREATE_GRACE_SECONDS
        with saying(creating_takes_long(self._target, self._timeout or DEFAULT_CONNECT_SECONDS)):
            response = self._channel.call("CreateSession", request, master_pb2.CreateSessionResponse, limit)
        self._handle = response.session_handle
        self._version = response.graph_version

    def extend(self, graph_def: graph_pb2.GraphDef) -> None:
        request = master_pb2.ExtendSessionRequest(
            session_handle=self._handle, graph_def=graph_def, current_graph_version=self._version
        )
        response = self._channel.call(
            "ExtendSession", request, master_pb2.ExtendSessionResponse, self._timeout
        )
        self._version = response.new_graph_version

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> GrpcSignature:
        return GrpcSignature(self, feeds, fetches, targets)

    def partial_run_setup(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> str:
        request = master_pb2.PartialRunSetupRequest(
            session_handle=self._handle,
            feed=feeds,
            fetch=fetches,
            target=targets,
            request_id=new_request_id(),
        )
        response = self._channel.call(
            "PartialRunSetup", request, master_pb2.PartialRunSetupResponse, self._timeout
        )
        return response.partial_run_handle

    def partial_run(self, handle: str, feeds: dict[str, Value], fetches: tuple[str, ...]) -> Sequence[Value]:
        request = master_pb2.RunStepRequest(
            session_handle=self._handle,
            feed=[NamedTensorProto(name=name, tensor=feed_proto(v)) for name, v in feeds.items()],
            fetch=fetches,
            partial_run_handle=handle,
        )
        return self.run_step(request, fetches, None, None)

    def run_step(
        self,
        request: master_pb2.RunStepRequest,
        fetches: tuple[str, ...],
        metadata: config_pb2.RunMetadata | None,
        timeout: float | None,
    ) -> list[Value]:
        """Sends a step; the fetches in order."""
        request.session_handle = self._handle
        request.store_errors_in_response_body = True
        request.request_id = new_request_id()
        limit = timeout or self._timeout
        if timeout and not request.options.timeout_in_ms:
            request.options.timeout_in_ms = max(int(timeout * 1000), 1)
        if limit is not None:
            limit += GRACE_SECONDS
        response = self._channel.call("RunStep", request, master_pb2.RunStepResponse, limit)
        if response.status_code:
            raise errors.from_code(response.status_code, response.status_error_message)
        if metadata is not None:
            metadata.CopyFrom(response.metadata)
        values = {named.name: named.tensor for named in response.tensor}
        for name in fetches:
            if name not in values:
                raise errors.InternalError(
                    None, None, f"The server {self._channel.address} left out the fetch {name}"
                )
        return [tensor_util.make_ndarray(values[name]) for name in fetches]

    def list_devices(self) -> list[DeviceAttributes]:
        response = self._channel.call(
            "ListDevices",
            master_pb2.ListDevicesRequest(session_handle=self._handle),
            master_pb2.ListDevicesResponse,
            self._timeout,
        )
        return [*response.local_device, *response.remote_device]

    def close(self) -> None:
        try:
            if self._handle:
                self._channel.call(
                    "CloseSession",
                    master_pb2.CloseSessionRequest(session_handle=self._handle),
                    master_pb2.CloseSessionResponse,
                    CLOSE_SECONDS,
                )
        except errors.AbortedError:
            pass  # the master does not know the session any more: it was reset or restarted
        finally:
            self._channel.close()


class GrpcSignature:
    """A run signature as a RunStepRequest that lacks only its values."""

    def __init__(
        self,
        transport: GrpcTransport,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
    ) -> None:
        self._transport = transport
        self._feeds = feeds
        self._fetches = fetches
        self._targets = targets

    def __call__(self, feeds: Sequence[Value], timeout: float | None = None) -> Sequence[Value]:
        return self._transport.run_step(self._request(feeds), self._fetches, None, timeout)

    def traced(
        self,
        feeds: Sequence[Value],
        options: config_pb2.RunOptions,
        metadata: config_pb2.RunMetadata,
        timeout: float | None = None,
    ) -> Sequence[Value]:
        request = self._request(feeds)
        request.options.CopyFrom(options)
        if options.timeout_in_ms:
            timeout = options.timeout_in_ms / 1000
        return self._transport.run_step(request, self._fetches, metadata, timeout)

    def _request(self, feeds: Sequence[Value]) -> master_pb2.RunStepRequest:
        request = master_pb2.RunStepRequest(fetch=self._fetches, target=self._targets)
        request.options.SetInParent()
        for name, value in zip(self._feeds, feeds, strict=True):
            request.feed.add(name=name, tensor=feed_proto(value))
        return request


def feed_proto(value: Value) -> TensorProto:
    """A fed value as a message: always raw bytes, strings too, as TensorFlow's client sends them."""
    if value.dtype.hasobject:
        array = np.asarray(value)
        string: Any = dtypes.string.enum
        return TensorProto(
            dtype=string,
            tensor_shape=shape_proto(array.shape),
            tensor_content=tensor_util.string_bytes(array),
        )
    return tensor_util.to_proto(value)


def new_request_id() -> int:
    """Random and not 0: by it the master knows a repeated request. No seed of the program repeats it."""
    return secrets.randbits(63) or 1
