"""The gRPC server of a task, for services that are tables of methods."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import grpc
from google.protobuf.message import DecodeError, EncodeError, Message

from tensorfleet import errors
from tensorfleet.traffic import Traffic
from tensorfleet_service.worker import limits
from tensorfleet_service.worker.failures import as_op_error
from tensorfleet_service.worker.peer_grpc import OWN_ERROR
from tensorfleet_service.worker.pool import PoolExecutor

log = logging.getLogger(__name__)

_OWN_ERROR = ((OWN_ERROR, "1"),)
MAX_DETAILS = 2000  # bytes: TensorFlow's client loses longer ones to the limit on metadata

# A method takes its request and gives its response; failures are OpErrors.
Methods = Mapping[str, tuple[type[Message], Callable[[Any, grpc.ServicerContext], Message]]]

# A method that may last: it returns at once, and `Reply` is called later, once, on any thread.
Reply = Callable[["errors.OpError | None", "Message | None"], None]
Waiting = Mapping[str, tuple[type[Message], Callable[[Any, grpc.ServicerContext, Reply], None]]]

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class GrpcServer:
    """Serves methods by their full names.

    Args:
        address: host and port to bind; port 0 for any free one.
        methods: those that are answered by the thread that they run on.
        waiting: those that are answered when something has happened; no thread waits for it.
        handlers: further methods in gRPC's own form.

    Raises:
        UnknownError: the address cannot be bound.
    """

    def __init__(
        self, address: str, methods: Methods, waiting: Waiting, handlers: Mapping[str, Any] | None = None
    ) -> None:
        self.traffic = Traffic()
        executor = PoolExecutor("grpc")
        self._executor = executor
        self._server = grpc.server(
            executor,
            handlers=(_Handler(methods, waiting, handlers or {}, executor, self.traffic),),
            options=(
                ("grpc.max_receive_message_length", -1),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                # Tasks whose step waits here ask every ten seconds whether this one is still there.
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
            ),
        )
        try:
            self.port = self._server.add_insecure_port(address)
        except RuntimeError as e:
            raise errors.UnknownError(None, None, f"Could not start gRPC server: {address}: {e}") from None

    def start(self) -> None:
        self._server.start()

    def stop(self, grace: float) -> None:
        """Refuses new calls, and waits up to `grace` seconds for those under way."""
        self._server.stop(grace).wait(grace + 5)
        self._executor.shutdown(wait=False, cancel_futures=True)


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    def __init__(
        self,
        methods: Methods,
        waiting: Waiting,
        handlers: Mapping[str, Any],
        executor: Executor,
        traffic: Traffic,
    ) -> None:
        self._methods = {name: _method_handler(name, traffic, *method) for name, method in methods.items()}
        for name, method in waiting.items():
            self._methods[name] = _waiting_handler(name, traffic, executor, *method)
        self._methods.update(handlers)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._methods.get(handler_call_details.method)


def _method_handler(
    name: str,
    traffic: Traffic,
    request: type[Message],
    function: Callable[[Any, grpc.ServicerContext], Message],
) -> grpc.RpcMethodHandler:
    def answer(data: bytes, context: grpc.ServicerContext) -> bytes:
        _received(traffic, data)
        try:
            return _sent(traffic, function(parse(request, data), context).SerializeToString())
        except errors.OpError as e:
            context.set_trailing_metadata(_OWN_ERROR)
            context.abort(_CODES.get(e.error_code, grpc.StatusCode.UNKNOWN), shorten(e.message))
        except Exception as e:
            found = as_op_error(e, name)
            context.set_trailing_metadata(_OWN_ERROR)
            context.abort(_CODES.get(found.error_code, grpc.StatusCode.UNKNOWN), shorten(found.message))
        raise AssertionError("abort raises")

    return grpc.unary_unary_rpc_method_handler(answer, None, None)


def _received(traffic: Traffic, data: bytes) -> None:
    traffic.received += 1
    traffic.received_bytes += len(data)


def _sent(traffic: Traffic, data: bytes) -> bytes:
    traffic.sent += 1
    traffic.sent_bytes += len(data)
    return data


def _waiting_handler(
    name: str,
    traffic: Traffic,
    executor: Executor,
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
                    send(_sent(traffic, response.SerializeToString()))
                except (ValueError, EncodeError) as e:
                    error = errors.InvalidArgumentError(None, None, f"The answer cannot be sent by gRPC: {e}")
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

        _received(traffic, data)
        try:
            function(parse(request, data), context, reply)
        except errors.OpError as e:
            reply(e, None)
        except Exception as e:
            log.exception("%s failed", name)
            reply(errors.InternalError(None, None, f"{type(e).__name__}: {e}"), None)

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
        return message.FromString(data)
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
