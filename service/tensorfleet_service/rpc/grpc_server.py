"""The gRPC server of a task, for services that are tables of methods.

All calls are heard on the event loop that also carries this process's calls to other tasks (`grpc_loop`).
What may last runs on a pool, and so does whatever may run a step: how long that takes is not known before.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import DecodeError, EncodeError, Message

from tensorfleet.core import errors
from tensorfleet.security.settings import TlsFiles
from tensorfleet.security.tls import certificates
from tensorfleet.wire.grpc_socket import MESSAGE_BYTES, PATH as CONNECT
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices import memory
from tensorfleet_service.net import grpc_loop, limits
from tensorfleet_service.net.grpc_loop import INLINE_BYTES
from tensorfleet_service.net.peer_grpc import OWN_ERROR
from tensorfleet_service.net.tensor_protos import as_op_error
from tensorfleet_service.rpc.callers import Callers
from tensorfleet_service.rpc.grpc_sockets import ServedSocket, peer_of
from tensorfleet_service.rpc.request_memory import RequestMemory, Ticket
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.security.token_review import ANSWER_SECONDS
from tensorfleet_service.threads.pool import Pool

log = logging.getLogger(__name__)

_OWN_ERROR = ((OWN_ERROR, "1"),)
CLIENT_SILENT_MS = 60_000
HANDSHAKE_SECONDS = 20.0
START_SECONDS = 60.0
RESTART_SECONDS = 0.1
_LARGEST = 1 << 31  # bytes that protobuf writes
MAX_DETAILS = 2000  # bytes: TensorFlow's client loses longer ones to the limit on metadata

# A method takes its request and gives its response, on a thread where it may wait; failures are OpErrors.
Methods = Mapping[str, tuple[type[Message], Callable[[Any, "Call"], Message]]]

# A method that does not wait: `Reply` is called once, now or later, on any thread.
Reply = Callable[["errors.OpError | None", "Message | None"], None]
Prompt = Mapping[str, tuple[type[Message], Callable[[Any, "Call", Reply], None]]]

# A method with several responses: each is sent by the function, from any thread; None ends the call.
Send = Callable[[bytes | None], None]
Streams = Mapping[str, Callable[[bytes, "Call", Send], None]]

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
_Handler = Callable[[Any, Any], Awaitable[bytes]]


class Call:
    """A call under way, as methods see it.

    Attributes:
        peer: gRPC's name of the other side.
        principal: who makes it.
    """

    def __init__(self, name: str, context: Any, pool: Pool, guard: Guard) -> None:
        self._name = name
        self._context = context
        self._pool = pool
        self._guard = guard
        self.peer = peer_of(context)
        self.principal, self._digest = guard.of_call(name, context)
        self.room: Ticket | None = None
        self.keeps_room = False  # whether the method itself says when it has what it needs
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] | None = []

    def check_request(self, data: bytes) -> None:
        """Raises UnauthenticatedError unless a request is the one that its proof, if any, is for."""
        if self._digest:
            self._guard.check_request(self._name, data, self._digest, self.peer)

    def add_callback(self, function: Callable[[], None]) -> bool:
        """Has a function called when the call is over, answered or not; False if it is."""
        with self._lock:
            if self._callbacks is None:
                return False
            self._callbacks.append(function)
        return True

    def time_remaining(self) -> float | None:
        """Seconds until its caller's deadline; None if there is none."""
        remaining: float | None = self._context.time_remaining()
        # TensorFlow's client sends "no deadline" as one centuries away, which no wait can express.
        return remaining if remaining is None or remaining < threading.TIMEOUT_MAX else None

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        """Runs what may wait.

        Raises:
            ResourceExhaustedError: there is no thread for it.
        """
        try:
            self._pool.submit(function, *arguments)
        except (RuntimeError, MemoryError) as e:
            raise errors.ResourceExhaustedError(
                None, None, f"The task has no thread for the call: {e}"
            ) from None

    def received(self) -> None:
        """Gives the request's room to others: what it needs is there."""
        if self.room is not None:
            self.room.release()

    def end(self) -> None:
        """Calls the functions: nobody waits for an answer any more."""
        self.received()
        with self._lock:
            callbacks, self._callbacks = self._callbacks or (), None
        for function in callbacks:
            try:
                function()
            except Exception:
                log.exception("unexpected error at the end of a call")


class GrpcServer:
    """Serves methods by their full names.

    Args:
        address: host and port to bind; port 0 for any free one.
        methods: those that may wait.
        prompt: those that do not, and run no step: the thread that hears of all calls calls them.
        running: those that do not wait, but may run a step.
        streams: those with several responses.
        max_message: the bytes of the largest request; -1: no limit.
        guard: says who may call what; by default everybody may.
        connect: is given, on a thread of its own, each call that is a connection of the stream transport; if
            None, there are no such calls.

    Raises:
        UnknownError: the address cannot be bound.
    """

    def __init__(
        self,
        address: str,
        methods: Methods,
        prompt: Prompt,
        running: Prompt | None = None,
        streams: Streams | None = None,
        max_message: int = -1,
        guard: Guard | None = None,
        connect: Callable[[ServedSocket], None] | None = None,
    ) -> None:
        self._guard = guard or Guard()
        self.traffic = Traffic()
        self._stopped = threading.Event()
        self._pool = Pool("grpc")
        self._handlers = _Handlers(
            methods,
            prompt,
            running or {},
            streams or {},
            self._pool,
            self.traffic,
            max_message,
            self._guard,
            connect,
        )
        self._options = (
            ("grpc.max_receive_message_length", max_message),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
            # A request that has not been admitted occupies no more than the first window of its stream.
            ("grpc.http2.bdp_probe", 0),
            ("grpc.http2.lookahead_bytes", limits.grpc_window(max_message)),
            ("grpc.http2.max_frame_size", MESSAGE_BYTES),
            # Whoever waits for a long step may ask as often as it likes whether this task is still there,
            # and a client whose machine is gone is noticed, so that its step ends.
            ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
            ("grpc.http2.max_ping_strikes", 0),
            # Whoever has said nothing for so long is no client.
            ("grpc.server_handshake_timeout_ms", int(HANDSHAKE_SECONDS * 1000)),
            ("grpc.keepalive_time_ms", CLIENT_SILENT_MS),
            ("grpc.keepalive_timeout_ms", CLIENT_SILENT_MS // 2),
        )
        try:
            check_free(address)
            self.port: int = grpc_loop.wait_for(self._bind(address), START_SECONDS)
        except (OSError, RuntimeError) as e:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {address}: {e}") from None
        self._address = f"{address.rpartition(':')[0]}:{self.port}"

    async def _bind(self, address: str) -> int:
        self._server = grpc.aio.server(handlers=(self._handlers,), options=self._options)
        tls = self._guard.security.tls
        port: int = (
            self._server.add_insecure_port(address)
            if tls is None
            else self._server.add_secure_port(address, _credentials(tls))
        )
        return port

    def start(self) -> None:
        async def start() -> None:
            await self._server.start()
            self._kept = asyncio.create_task(self._keep_serving())

        grpc_loop.wait_for(start(), START_SECONDS)

    async def _keep_serving(self) -> None:
        """Begins anew where gRPC has ended its server: it does so when it has no memory to hear of a call."""
        while not self._stopped.is_set():
            try:
                await self._server.wait_for_termination()
                return  # it was stopped
            except Exception as e:
                log.warning("the gRPC server ended, and begins again: %s: %s", type(e).__name__, e)
            while not self._stopped.is_set():
                await asyncio.sleep(RESTART_SECONDS)
                try:
                    await self._bind(self._address)
                    await self._server.start()
                    break
                except Exception as e:
                    log.warning("the gRPC server could not begin again: %s: %s", type(e).__name__, e)

    def check_principals(self) -> None:
        """Ends the calls of those whose tokens are not accepted any more."""
        self._handlers.check_principals()

    def check_callers(self) -> float:
        """Ends connections of strangers if there are too many; the seconds until the next look."""
        return self._handlers.callers.look(self.port)

    def stop(self, grace: float) -> None:
        """Refuses new calls, and waits up to `grace` seconds for those under way."""
        self._stopped.set()
        self._handlers.close_sockets()
        grpc_loop.wait_for(self._server.stop(grace), grace + 5)
        self._pool.close()


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


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """The methods in gRPC's form.

    On the wire, a stream of one request is the request of a unary call; and in the form for streams it is
    read when the handler says so: once it is known who calls, and there is room for it.
    """

    def __init__(
        self,
        methods: Methods,
        prompt: Prompt,
        running: Prompt,
        streams: Streams,
        pool: Pool,
        traffic: Traffic,
        max_message: int,
        guard: Guard,
        connect: Callable[[ServedSocket], None] | None,
    ) -> None:
        self._pool = pool
        self._traffic = traffic
        self._guard = guard
        self._memory = RequestMemory(max_message)
        self.callers = Callers()
        self._by_token: dict[Call, Reply] = {}  # the calls under way of those who have shown a token
        self._methods: dict[str, grpc.RpcMethodHandler] = {}
        for name, (request, function) in methods.items():
            self._add(name, partial(self._lasting, name, request, function))
        for name, (request, begin) in prompt.items():
            self._add(name, partial(self._prompt, INLINE_BYTES, name, request, begin))
        for name, (request, begin) in running.items():
            self._add(name, partial(self._prompt, 0, name, request, begin))
        self._sockets: set[ServedSocket] = set()
        self._stopped = False
        if connect is not None:
            self._methods[CONNECT] = grpc.stream_stream_rpc_method_handler(partial(self._connected, connect))
        for name, stream in streams.items():
            self._methods[name] = grpc.stream_stream_rpc_method_handler(self._streaming(name, stream))

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._methods.get(handler_call_details.method)

    def _add(self, name: str, begin: Callable[[list[bytes], Call, Reply], None]) -> None:
        """Adds a method with one response; `begin` does not wait, and raises what the call fails with.

        It gets the request's bytes in a list, which it empties: they shall not be there until the answer is.
        """

        async def serve(_: Any, context: Any) -> bytes:
            try:
                await self._asked(name, context)
                call = Call(name, context, self._pool, self._guard)
                self.callers.heard(call.peer, self._guard.reads(name))
            except Exception as e:
                _fail(context, as_op_error(e, name))
                return b""
            loop = asyncio.get_running_loop()
            answered: asyncio.Future[bytes | errors.OpError] = loop.create_future()

            def end(outcome: bytes | errors.OpError) -> None:
                if not answered.done():
                    answered.set_result(outcome)

            def reply(error: errors.OpError | None, response: Message | None) -> None:
                outcome: bytes | errors.OpError
                try:
                    if error is not None:
                        raise error
                    assert response is not None
                    outcome = _serialized(name, response)
                except Exception as e:  # such as no memory: whoever waits has to know
                    outcome = as_op_error(e, name)
                if grpc_loop.is_here():
                    end(outcome)
                else:
                    loop.call_soon_threadsafe(end, outcome)

            try:
                if call.principal.token:
                    self._by_token[call] = reply
                try:
                    data = await self._read(name, context, call)
                    # A call has a context of its own, without its thread's settings of NumPy. It may run
                    # kernels, whose NaN and infinity are values like all others.
                    np.seterr(all="ignore")
                    begin([data], call, reply)
                except Exception as e:
                    reply(as_op_error(e, name), None)
                finally:
                    data = b""
                outcome = await answered
            finally:
                self._by_token.pop(call, None)
                call.end()
            if isinstance(outcome, errors.OpError):
                _fail(context, outcome)
                return b""
            self._traffic.sent += 1
            self._traffic.sent_bytes += len(outcome)
            return outcome

        self._methods[name] = grpc.stream_unary_rpc_method_handler(serve)

    def check_principals(self) -> None:
        """Ends the calls of those whose tokens are not accepted any more, and with them their steps."""
        for call, reply in self._by_token.copy().items():
            if not self._guard.still(call.principal):
                reply(self._guard.refusal("the token was revoked, or has expired"), None)

    async def _asked(self, name: str, context: Any) -> None:
        """Waits until it is known who calls, where somebody else has to say it; others' calls go on."""
        asked = self._guard.to_ask(name, context)
        if asked is not None:
            # Whoever else has the same token waits for the same answer.
            await asyncio.wait([asyncio.shield(asyncio.wrap_future(asked))], timeout=ANSWER_SECONDS)

    async def _connected(self, connect: Callable[[ServedSocket], None], _: Any, context: Any) -> None:
        peer = peer_of(context)
        try:
            # Strangers' messages are not read: gRPC would keep the largest until they are.
            await self._asked(CONNECT, context)
            self._guard.of_call(CONNECT, context)
        except Exception as e:
            _fail(context, as_op_error(e, CONNECT))
            return
        finally:
            self.callers.heard(peer, False)
        if self._stopped:
            _fail(context, errors.UnavailableError(None, None, "The task is shutting down"))
            return
        sock = ServedSocket(context, partial(self.callers.heard, peer, True))
        self._sockets.add(sock)
        try:
            try:
                threading.Thread(target=connect, args=(sock,), name="connection", daemon=True).start()
            except (RuntimeError, MemoryError) as e:
                _fail(
                    context, errors.ResourceExhaustedError(None, None, f"The task has no thread for it: {e}")
                )
            else:
                await sock.serve()
        finally:
            self._sockets.discard(sock)

    def close_sockets(self) -> None:
        """Ends the calls that are connections, and refuses new ones."""
        self._stopped = True
        for sock in self._sockets.copy():
            sock.close()

    async def _read(self, name: str, context: Any, call: Call) -> bytes:
        """The request of a call, once there is room for it; empty for those that strangers may make."""
        if not self._guard.reads(name):
            return b""
        call.room = await self._memory.take(context)
        data = await self._memory.receive(context, call.room)
        if data is grpc.aio.EOF:
            raise errors.InvalidArgumentError(None, None, f"A request of {name} is missing")
        self._traffic.received += 1
        self._traffic.received_bytes += len(data)
        return bytes(data)

    def _lasting(
        self,
        name: str,
        request: type[Message],
        function: Callable[[Any, Call], Message],
        data: list[bytes],
        call: Call,
        reply: Reply,
    ) -> None:
        def run() -> None:
            try:
                call.check_request(data[0])
                message = [parse(request, data.pop())]
                call.received()
                response = function(message.pop(), call)
            except Exception as e:
                reply(as_op_error(e, name), None)
            else:
                reply(None, response)

        call.submit(run)

    def _prompt(
        self,
        inline: int,
        name: str,
        request: type[Message],
        function: Callable[[Any, Call, Reply], None],
        data: list[bytes],
        call: Call,
        reply: Reply,
    ) -> None:
        def run() -> None:
            try:
                call.check_request(data[0])
                if size > INLINE_BYTES:
                    # What gRPC has let go of in small pieces. The message comes, and the arrays made of it.
                    memory.BUDGET.make_room(2 * size)
                function(parse(request, data.pop()), call, reply)
            except Exception as e:
                reply(as_op_error(e, name), None)
            if not call.keeps_room:
                call.received()

        size = len(data[0])
        if size < inline:
            run()
        else:
            call.submit(run)

    def _streaming(
        self, name: str, function: Callable[[bytes, Call, Send], None]
    ) -> Callable[..., Awaitable[None]]:
        async def serve(_: Any, context: Any) -> None:
            try:
                await self._asked(name, context)
                call = Call(name, context, self._pool, self._guard)
                self.callers.heard(call.peer, self._guard.reads(name))
            except Exception as e:
                _fail(context, as_op_error(e, name))
                return
            loop = asyncio.get_running_loop()
            responses: asyncio.Queue[bytes | None] = asyncio.Queue()

            def send(response: bytes | None) -> None:
                loop.call_soon_threadsafe(responses.put_nowait, response)

            try:
                try:
                    data = await self._read(name, context, call)
                    call.check_request(data)
                    function(data, call, send)
                except Exception as e:
                    _fail(context, as_op_error(e, name))
                    return
                call.received()
                while (response := await responses.get()) is not None:
                    await context.write(response)
            finally:
                call.end()

        return serve


def _fail(context: Any, error: errors.OpError) -> None:
    """Has a call end with an error."""
    context.set_trailing_metadata(_OWN_ERROR)
    context.set_code(_CODES.get(error.error_code, grpc.StatusCode.UNKNOWN))
    context.set_details(shorten(error.message))


def _serialized(name: str, response: Message) -> bytes:
    try:
        data: bytes = response.SerializeToString()
    except MemoryError:
        raise memory.exhausted(f"Out of memory for a {type(response).__name__} by gRPC") from None
    except (ValueError, EncodeError) as e:
        if response.ByteSize() < _LARGEST:
            limits.check_room(response.ByteSize(), f"a {type(response).__name__}")
        raise errors.InvalidArgumentError(None, None, f"The answer cannot be sent by gRPC: {e}") from None
    limits.check_room(len(data), f"the answer of {name}")
    return data


def at_once(function: Callable[[Any], Message]) -> Callable[[Any, Call, Reply], None]:
    """A prompt method whose answer is there when it returns."""

    def answer(request: Any, call: Call, reply: Reply) -> None:
        reply(None, function(request))

    return answer


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
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= MAX_DETAILS:
        return data.decode()
    half = MAX_DETAILS // 2
    return data[:half].decode("utf-8", "ignore") + " … " + data[-half:].decode("utf-8", "ignore")
