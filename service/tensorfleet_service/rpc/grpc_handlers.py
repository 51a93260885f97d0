"""GrpcHandlers: the methods of a task's services in gRPC's form."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import EncodeError, Message

from tensorfleet.core import errors
from tensorfleet.core.printable import told
from tensorfleet.wire.grpc_socket import PATH as CONNECT
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices import memory
from tensorfleet_service.graph import message_pieces
from tensorfleet_service.net import grpc_loop, limits
from tensorfleet_service.net.grpc_loop import INLINE_BYTES
from tensorfleet_service.net.peer_grpc import OWN_ERROR
from tensorfleet_service.net.tensor_protos import as_op_error
from tensorfleet_service.rpc.callers import Callers
from tensorfleet_service.rpc.grpc_calls import Call, Methods, Prompt, Reply, Response, Send, Streams, parse
from tensorfleet_service.rpc.grpc_sockets import ServedSocket, peer_of
from tensorfleet_service.rpc.request_memory import RequestMemory
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.security.token_review import ANSWER_SECONDS
from tensorfleet_service.threads.pool import Pool

_OWN_ERROR = ((OWN_ERROR, "1"),)
MAX_DETAILS = 2000  # bytes: TensorFlow's client loses longer ones to the limit on metadata

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class GrpcHandlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
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
        callers: Callers,
    ) -> None:
        self._pool = pool
        self._traffic = traffic
        self._guard = guard
        self._memory = RequestMemory(max_message)
        self.callers = callers
        self.port = 0  # once it is known
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
            peer = peer_of(context)
            try:
                await self._asked(name, context)
                call = Call(name, context, self._pool, self._guard)
                self._heard(peer, self._guard.reads(name))
            except Exception as e:
                self._heard(peer, False)
                _fail(context, as_op_error(e, name))
                return b""
            loop = asyncio.get_running_loop()
            answered: asyncio.Future[bytes | errors.OpError] = loop.create_future()

            def end(outcome: bytes | errors.OpError) -> None:
                if not answered.done():
                    answered.set_result(outcome)

            def reply(error: errors.OpError | None, response: Response | None) -> None:
                outcome: bytes | errors.OpError
                try:
                    if error is not None:
                        raise error
                    assert response is not None
                    outcome = _serialized(name, response)
                except Exception as e:  # such as no memory: whoever waits has to know
                    outcome = as_op_error(e, name)
                    # Its frames hold what it was about, perhaps a large graph, and one of them holds it.
                    outcome.__traceback__ = outcome.__context__ = outcome.__cause__ = None
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

    def _heard(self, peer: str, let_in: bool) -> None:
        self.callers.heard(peer, let_in, self.port)

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
            self._heard(peer, False)
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
                function(parse(request, data.pop(), call.apart), call, reply)
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
            peer = peer_of(context)
            try:
                await self._asked(name, context)
                call = Call(name, context, self._pool, self._guard)
                self._heard(peer, self._guard.reads(name))
            except Exception as e:
                self._heard(peer, False)
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


def _serialized(name: str, response: Response) -> bytes:
    try:
        data = message_pieces.serialize(response)
    except MemoryError:
        raise memory.exhausted(f"Out of memory for a {type(response).__name__} by gRPC") from None
    except (ValueError, EncodeError) as e:
        if response.ByteSize() < message_pieces.LARGEST:
            limits.check_room(response.ByteSize(), f"a {type(response).__name__}")
        raise errors.InvalidArgumentError(None, None, f"The answer cannot be sent by gRPC: {e}") from None
    limits.check_room(len(data), f"the answer of {name}")
    return data


def shorten(text: str) -> str:
    """A text that fits into a status: the beginning and, where nodes are named, the end."""
    data = told(text).encode()
    if len(data) <= MAX_DETAILS:
        return data.decode()
    half = MAX_DETAILS // 2
    return data[:half].decode("utf-8", "ignore") + " … " + data[-half:].decode("utf-8", "ignore")
