"""The gRPC server of a task: TensorFlow's MasterService, our FleetService, and the health service's place."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import Message

from tensorfleet import errors

log = logging.getLogger(__name__)

MAX_DETAILS = 2000  # bytes: TensorFlow's client loses longer ones to the limit on metadata
THREADS = 1024  # at most; a step occupies one while it runs

# A method takes its request and gives its response; failures are OpErrors.
Methods = Mapping[str, tuple[type[Message], Callable[[Any, grpc.ServicerContext], Message]]]

_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class GrpcServer:
    """Serves methods by their full names.

    Args:
        address: host and port to bind; port 0 for any free one.

    Raises:
        UnknownError: the address cannot be bound.
    """

    def __init__(self, address: str, methods: Methods) -> None:
        executor = ThreadPoolExecutor(
            THREADS, thread_name_prefix="grpc", initializer=lambda: np.seterr(all="ignore") and None
        )
        self._executor = executor
        self._server = grpc.server(
            executor,
            handlers=(_Handler(methods),),
            options=(
                ("grpc.max_receive_message_length", -1),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
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
    def __init__(self, methods: Methods) -> None:
        self._methods = {name: _method_handler(name, *method) for name, method in methods.items()}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._methods.get(handler_call_details.method)


def _method_handler(
    name: str, request: type[Message], function: Callable[[Any, grpc.ServicerContext], Message]
) -> grpc.RpcMethodHandler:
    def answer(data: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return function(parse(request, data), context).SerializeToString()
        except errors.OpError as e:
            context.abort(_CODES.get(e.error_code, grpc.StatusCode.UNKNOWN), shorten(e.message))
        except Exception as e:
            log.exception("%s failed", name)
            context.abort(grpc.StatusCode.INTERNAL, shorten(f"{type(e).__name__}: {e}"))
        raise AssertionError("abort raises")

    return grpc.unary_unary_rpc_method_handler(answer, None, None)


def parse(message: type[Message], data: bytes) -> Message:
    """A request from its bytes.

    Raises:
        InternalError: they are no such message, in the words of gRPC.
    """
    from google.protobuf.message import DecodeError

    try:
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
