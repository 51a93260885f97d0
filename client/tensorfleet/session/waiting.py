"""Messages of a session that nobody answers: whom it waits for, the last error, and for how long still."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from tensorfleet.core import errors
from tensorfleet.session.timeouts import AGAIN_SECONDS, FIRST_SECONDS, UNKNOWN_NAME_SECONDS

_logger = logging.getLogger("tensorfleet")

# Errors of getaddrinfo for names that do not exist; others, such as no name server, may pass.
_NO_SUCH_NAME = tuple(getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name))


def result_of(future: Any, address: str, limit: float, last_error: Callable[[], str]) -> Any:
    """The result of a call by gRPC that waits for a server, with a warning in the log while there is none.

    Args:
        future: of the call, which has its own deadline, `limit` seconds from now.
        address: `host:port`.
        last_error: asks the server without waiting for it, and gives the reason why it cannot be reached.

    Raises:
        grpc.RpcError: the call failed.
        UnavailableError: after five seconds the host's name is still unknown.
    """
    start = time.monotonic()
    try:
        for seconds in _moments():
            with contextlib.suppress(grpc.FutureTimeoutError):
                return future.result(max(start + seconds - time.monotonic(), 0))
            unknown = unknown_name(address)
            if unknown and seconds >= UNKNOWN_NAME_SECONDS:
                raise errors.UnavailableError(None, None, f"{unknown} Correct the address of the session.")
            if seconds == UNKNOWN_NAME_SECONDS:
                continue
            last = unknown or last_error()
            waited = time.monotonic() - start
            left = (UNKNOWN_NAME_SECONDS if unknown else limit) - waited
            if future.done() or left <= 0:
                continue
            _logger.warning(
                "The session waits for %s, which has not answered for %.0f s; it gives up in %.0f s. "
                "Last error: %s",
                address,
                waited,
                left,
                last,
            )
        raise AssertionError("there is always another moment")
    except BaseException:
        future.cancel()
        raise


def _moments() -> Iterator[float]:
    """The times to look, in seconds from the start."""
    yield FIRST_SECONDS
    yield UNKNOWN_NAME_SECONDS
    seconds = FIRST_SECONDS
    while True:
        seconds += AGAIN_SECONDS
        yield seconds


def unknown_name(address: str) -> str:
    """A sentence if the host of `host:port` has a name that stands for no address; else empty."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        return ""  # one of gRPC's other forms
    try:
        socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            return f'The name "{host}" of {address} is unknown: {error.strerror}.'
    except (OSError, UnicodeError):
        pass  # nothing is known of the name, and the call will say what is wrong
    return ""


@contextlib.contextmanager
def saying(text: str) -> Iterator[None]:
    """Says `text` in the log, as a warning, if what is done in this context takes more than two seconds."""
    timer = threading.Timer(FIRST_SECONDS, _logger.warning, ("%s", text))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def creating_takes_long(target: str, limit: float) -> str:
    """The message while the master at `target` makes a session, for which it has `limit` seconds."""
    return (
        f"{target} has not made the session in {FIRST_SECONDS:.0f} s. As a rule it waits for other tasks of "
        f"its cluster, up to {limit:g} s in all: its log names them, and so does: tensorfleet status {target}"
    )
