"""The gRPC server of a task, for services that are tables of methods."""

from __future__ import annotations

import logging
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import grpc
import grpc._server
import numpy as np
from google.protobuf.message import DecodeError, EncodeError, Message

from tensorfleet.core import errors
from tensorfleet.security.settings import TlsFiles
from tensorfleet.security.tls import certificates
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices import memory
from tensorfleet_service.net import limits
from tensorfleet_service.net.failures import as_op_error
from tensorfleet_service.net.peer_grpc import OWN_ERROR
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.security.principal import caller
from tensorfleet_service.threads.pool import PoolExecutor

log = logging.getLogger(__name__)

_OWN_ERROR = ((OWN_ERROR, "1"),)
CLIENT_SILENT_MS = 60_000
RECOVERY_SECONDS = 0.1  # until the thread that serves is begun again
MAX_WAITING_THREADS = 32  # calls that wait beyond these do so without a thread, which takes longer
_LARGEST = 1 << 31  # bytes that protobuf writes
MAX_DETAILS = 2000  # bytes: TensorFlow's client loses longer ones to the limit on metadata

# A method takes its request and gives its response; failures are OpErrors.
Methods = Mapping[str, tuple[type[Message], Callable[[Any, grpc.ServicerContext], Message]]]

# A method that may last: it returns at once, and `Reply` is called later, once, on any thread.
Reply = Callable[["errors.OpError | None", "Message | None"], None]
Waiting = Mapping[str, tuple[type[Message], Callable[[Any, grpc.ServicerContext, Reply], None]]]

T = TypeVar("T")

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class GrpcServer:
    """Serves methods by their full names.

    Args:
        address: host and port to bind; port 0 for any free one.
        methods: those that are answered by the thread that they run on.
        waiting: those that are answered when something has happened; no thread waits for it.
        handlers: further methods in gRPC's own form.
        max_message: the bytes of the largest request; -1: no limit.
        guard: says who may call what; by default everybody may.

    Raises:
        UnknownError: the address cannot be bound.
    """

    def __init__(
        self,
        address: str,
        methods: Methods,
        waiting: Waiting,
        handlers: Mapping[str, Any] | None = None,
        max_message: int = -1,
        guard: Guard | None = None,
    ) -> None:
        guard = guard or Guard()
        self.traffic = Traffic()
        self._stopped = threading.Event()
        executor = _Executor()
        self._executor = executor
        self._server = grpc.server(
            executor,
            handlers=(_Handler(methods, waiting, handlers or {}, executor, self.traffic, guard),),
            options=(
                ("grpc.max_receive_message_length", max_message),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                # Whoever waits for a long step may ask as often as it likes whether this task is still there,
                # and a client whose machine is gone is noticed, so that its step ends.
                ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
                ("grpc.http2.max_ping_strikes", 0),
                ("grpc.keepalive_time_ms", CLIENT_SILENT_MS),
                ("grpc.keepalive_timeout_ms", CLIENT_SILENT_MS // 2),
            ),
        )
        try:
            check_free(address)
            if guard.security.tls is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, _credentials(guard.security.tls))
        except (OSError, RuntimeError) as e:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {address}: {e}") from None

    def start(self) -> None:
        before = set(threading.enumerate())
        self._server.start()
        serving = [t for t in threading.enumerate() if t not in before and "_serve" in t.name]
        threading.Thread(target=self._keep_serving, args=(serving,), name="grpc guard", daemon=True).start()

    def _keep_serving(self, serving: list[threading.Thread]) -> None:
        """Goes on where the one thread that hears of all calls has ended: by a request without memory for it.

        Which one that was, nobody knows: all are refused that were being received.
        """
        for thread in serving:
            thread.join()
        while not self._stopped.wait(RECOVERY_SECONDS):
            error = memory.exhausted("Out of memory for a request by gRPC")
            log.warning("%s", error.message)
            self._executor.refuse_received(error)
            try:
                grpc._server._serve(self._server._state)
            except Exception as e:
                if not isinstance(e, MemoryError):
                    log.exception("the gRPC server goes on")
            else:
                return

    def stop(self, grace: float) -> None:
        """Refuses new calls, and waits up to `grace` seconds for those under way."""
        self._stopped.set()
        self._server.stop(grace).wait(grace + 5)
        self._executor.shutdown(wait=False, cancel_futures=True)


def _credentials(files: TlsFiles) -> Any:
    """gRPC's form of the certificates, of which it asks for newer ones at each connection."""
    held = certificates(files)
    version = held.version

    def configuration() -> Any:
        key, chain, roots = held.pem
        return grpc.ssl_server_certificate_configuration([(key, chain)], roots)

    def newer() -> Any:
        nonlocal version
        current = held.version
        if current == version:
            return None
        version = current
        return configuration()

    return grpc.dynamic_ssl_server_credentials(configuration(), newer, require_client_authentication=True)


class _Executor(PoolExecutor):
    """The threads of a gRPC server, and which calls have a thread but no request yet."""

    def __init__(self) -> None:
        super().__init__("grpc")
        self._receiving: dict[int, Any] = {}  # by the thread

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        call = next((argument.call for argument in args if hasattr(argument, "call")), None)
        if call is None:
            return super().submit(fn, *args, **kwargs)

        def run() -> T:
            self._receiving[threading.get_ident()] = call
            try:
                return fn(*args, **kwargs)
            finally:
                self.received()

        try:
            return super().submit(run)
        except (RuntimeError, MemoryError) as e:  # no thread; the one that serves must not end by it
            call.cancel(errors.RESOURCE_EXHAUSTED, shorten(f"The task has no thread for the call: {e}"))
            ended: Future[T] = Future()
            ended.cancel()
            return ended

    def received(self) -> None:
        """The request is there that the calling thread has waited for."""
        self._receiving.pop(threading.get_ident(), None)

    def refuse_received(self, error: errors.OpError) -> None:
        """Ends the calls whose requests are not there yet."""
        for call in list(self._receiving.values()):
            call.cancel(error.error_code, shorten(error.message))


def check_free(address: str) -> None:
    """Raises OSError if nothing can listen at the address: gRPC writes lines of its own about it first.

    An address without a port is an InvalidArgumentError.

    As gRPC does, it takes an address whose host has several if one of them can be listened at.
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise errors.InvalidArgumentError(
            None,
            None,
            f'The address of this task in the cluster, "{address}", has no port: write host:port, such as '
            '"localhost:2222".',
        )
    host = host.strip("[]")
    failures: list[OSError] = []
    for family, kind, _, _, place in socket.getaddrinfo(
        None if host in ("", "::") else host,  # None: all interfaces, by IPv4 alone where there is no IPv6
        int(port),
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE,
    ):
        try:
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                probe.bind(place)
                probe.listen(1)
                return
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    def __init__(
        self,
        methods: Methods,
        waiting: Waiting,
        handlers: Mapping[str, Any],
        executor: _Executor,
        traffic: Traffic,
        guard: Guard,
    ) -> None:
        self._methods = {
            name: _method_handler(name, traffic, executor, guard, *method) for name, method in methods.items()
        }
        self._direct: dict[str, grpc.RpcMethodHandler] = {}
        self._waiting: set[object] = set()  # calls whose threads wait
        for name, method in waiting.items():
            self._methods[name] = _waiting_handler(name, traffic, executor, guard, *method)
            self._direct[name] = _direct_handler(name, traffic, executor, guard, self._waiting, *method)
        self._methods.update(handlers)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        name = handler_call_details.method
        if len(self._waiting) < MAX_WAITING_THREADS and (direct := self._direct.get(name)) is not None:
            return direct
        return self._methods.get(name)


def _method_handler(
    name: str,
    traffic: Traffic,
    executor: _Executor,
    guard: Guard,
    request: type[Message],
    function: Callable[[Any, grpc.ServicerContext], Message | None],
    parsed: bool = True,
) -> grpc.RpcMethodHandler:
    """A handler that gives what the function returns, or nothing if that is None: nobody waits any more.

    Args:
        parsed: whether the function takes a message, not its bytes.
    """

    def serve(data: bytes, context: grpc.ServicerContext) -> bytes:
        executor.received()
        _begin_call(traffic, data)
        try:
            if guard.enabled:
                caller.set(guard.of_call(name, data, context))
            response = function(parse(request, data) if parsed else data, context)
            if response is None:
                return b""
            answer = _serialized(response)
            del data, response  # there may be no room for the answer beside them
            limits.check_room(len(answer), f"the answer of {name}")
            return _sent(traffic, answer)
        except Exception as e:
            found = as_op_error(e, name)
            context.set_trailing_metadata(_OWN_ERROR)
            context.abort(_CODES.get(found.error_code, grpc.StatusCode.UNKNOWN), shorten(found.message))
        raise AssertionError("abort raises")

    return grpc.unary_unary_rpc_method_handler(serve, None, None)


def _serialized(response: Message) -> bytes:
    try:
        return response.SerializeToString()
    except MemoryError:
        raise memory.exhausted(f"Out of memory for a {type(response).__name__} by gRPC") from None
    except (ValueError, EncodeError) as e:
        if response.ByteSize() < _LARGEST:
            limits.check_room(response.ByteSize(), f"a {type(response).__name__}")
        raise errors.InvalidArgumentError(None, None, f"The answer cannot be sent by gRPC: {e}") from None


def _begin_call(traffic: Traffic, data: bytes) -> None:
    # gRPC gives each call a context of its own, without the thread's settings of NumPy. The call may run
    # kernels, whose NaN and infinity are values like all others.
    np.seterr(all="ignore")
    traffic.received += 1
    traffic.received_bytes += len(data)


def _sent(traffic: Traffic, data: bytes) -> bytes:
    traffic.sent += 1
    traffic.sent_bytes += len(data)
    return data


def _direct_handler(
    name: str,
    traffic: Traffic,
    executor: _Executor,
    guard: Guard,
    waiting: set[object],
    request: type[Message],
    function: Callable[[Any, grpc.ServicerContext, Reply], None],
) -> grpc.RpcMethodHandler:
    """A handler whose thread waits for the answer, and sends it in one piece: the shortest way, for a few."""

    def wait(data: bytes, context: grpc.ServicerContext) -> Message | None:
        # A queue, not an event: to be woken by it takes half as long.
        ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        replies: list[tuple[errors.OpError | None, Message | None]] = []

        def reply(error: errors.OpError | None, response: Message | None) -> None:
            replies.append((error, response))
            ended.put(None)

        # Also called where whoever asked is gone, or its deadline has passed.
        is_asked = context.add_callback(lambda: ended.put(None))
        function(parse(request, data), context, reply)
        if is_asked and not replies:
            waiting.add(ended)
            try:
                ended.get()
            finally:
                waiting.discard(ended)
        error, response = replies[0] if replies else (None, None)
        if error is not None:
            raise error
        return response

    return _method_handler(name, traffic, executor, guard, request, wait, parsed=False)


def _waiting_handler(
    name: str,
    traffic: Traffic,
    executor: _Executor,
    guard: Guard,
    request: type[Message],
    function: Callable[[Any, grpc.ServicerContext, Reply], None],
) -> grpc.RpcMethodHandler:
    """A handler that occupies no thread between request and answer.

    On the wire, a stream of one response is the response of a unary call; and for streams gRPC has a form in
    which the handler returns and the response follows.
    """

    def answer(data: bytes, context: grpc.ServicerContext, send: Callable[[bytes | None], None]) -> None:
        def finish(error: errors.OpError | None, response: Message | None) -> None:
            if error is None:
                assert response is not None
                try:
                    data = _serialized(response)
                    limits.check_room(len(data), f"the answer of {name}")
                    send(_sent(traffic, data))
                except Exception as e:  # such as no memory: whoever waits has to know
                    error = as_op_error(e, name)
            if error is not None:
                context.set_trailing_metadata(_OWN_ERROR)
                context.set_code(_CODES.get(error.error_code, grpc.StatusCode.UNKNOWN))
                context.set_details(shorten(error.message))
            send(None)

        def reply(error: errors.OpError | None, response: Message | None) -> None:
            try:
                executor.submit(finish, error, response)
            except RuntimeError:
                log.debug("%s not answered: the server has stopped", name)

        executor.received()
        _begin_call(traffic, data)
        try:
            if guard.enabled:
                guard.of_call(name, data, context)
            function(parse(request, data), context, reply)
        except Exception as e:
            reply(as_op_error(e, name), None)

    answer.experimental_non_blocking = True  # type: ignore[attr-defined]
    return grpc.unary_stream_rpc_method_handler(answer, None, None)


def parse(message: type[Message], data: bytes) -> Message:
    """A request from its bytes.

    Raises:
        ResourceExhaustedError: there are more of them than the task takes.
        InternalError: they are no such message, in the words of gRPC.
    """
    try:
        limits.check_message(len(data))
        return limits.parse(message, data)
    except DecodeError:
        raise errors.InternalError(
            None, None, f"Unable to parse request: not a {message.DESCRIPTOR.name}"
        ) from None


def shorten(text: str) -> str:
    """A text that fits into a status: the beginning and, where nodes are named, the end."""
    data = text.encode()
    if len(data) <= MAX_DETAILS:
        return text
    half = MAX_DETAILS // 2
    return data[:half].decode("utf-8", "ignore") + " … " + data[-half:].decode("utf-8", "ignore")
