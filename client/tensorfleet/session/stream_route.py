"""Ways to a task's stream endpoint: the addresses that it names itself, and the one that the user named.

A task names the host that it has in the ClusterSpec. Behind a forwarded port or a Service the same port may
be reached at the user's host only; behind a firewall, nowhere, and then gRPC has to do.
"""

from __future__ import annotations

import logging
import threading
import time
from queue import Empty, SimpleQueue

from tensorfleet.core import errors
from tensorfleet.proto import fleet_pb2
from tensorfleet.security.calls import host_of
from tensorfleet.security.settings import Security
from tensorfleet.session.master_connection import BY_GRPC, MasterConnection
from tensorfleet.session.timeouts import CONNECT_SECONDS, ROUTE_SECONDS

_FAILURES = (OSError, EOFError, ValueError, KeyError, TypeError, errors.OpError)

_REFUSALS = (errors.UNAUTHENTICATED, errors.PERMISSION_DENIED)

_logger = logging.getLogger("tensorfleet")


def find_route(
    endpoint: fleet_pb2.Endpoint, address: str, security: Security
) -> MasterConnection | errors.OpError:
    """A connection to the endpoint's task, whichever of its addresses answers first.

    Args:
        endpoint: as the task at `address` gives it.
        address: the target's `host:port`.
        security: what this client shows, and asks for.

    Returns:
        The error, which the log tells, too, if no address leads to this very process of the task within 3
        seconds: a refusal, if there is one.
    """
    failures: list[errors.OpError] = []
    local = [a for a in endpoint.stream_address if a.startswith("unix:")]
    for candidate in local:  # answers at once, or is on another machine
        found = _try(candidate, endpoint.incarnation, CONNECT_SECONDS, security, host_of(address))
        if isinstance(found, MasterConnection):
            return found
        failures.append(found)
    routes = _routes(endpoint, address)
    answers: SimpleQueue[MasterConnection | errors.OpError] = SimpleQueue()
    race = _Race(answers)
    for candidate in routes:
        threading.Thread(
            target=lambda c=candidate: race.enter(_try(c, endpoint.incarnation, ROUTE_SECONDS, security)),
            name=f"connect {candidate}",
            daemon=True,  # looking a name up cannot be interrupted
        ).start()
    end = time.monotonic() + ROUTE_SECONDS
    for _ in routes:
        try:
            found = answers.get(timeout=max(end - time.monotonic(), 0))
        except Empty:
            failures.append(_unreached(f"no answer within {ROUTE_SECONDS:g} s from " + ", ".join(routes)))
            break
        if isinstance(found, MasterConnection):
            race.end()
            return found
        failures.append(found)
    race.end()
    why = "; ".join(failure.message for failure in failures)
    _logger.info(
        "%s at %s is used by gRPC, as its stream endpoint cannot be reached: %s", endpoint.task, address, why
    )
    return next((e for e in failures if e.error_code in _REFUSALS), _unreached(why))


def route_by_grpc(
    endpoint: fleet_pb2.Endpoint, address: str, security: Security
) -> MasterConnection | errors.OpError:
    """A connection that is a call by gRPC; the error, which the log tells, too, if there cannot be one."""
    found = _try(f"{BY_GRPC}{address}", endpoint.incarnation, ROUTE_SECONDS, security)
    if not isinstance(found, MasterConnection):
        _logger.info("%s at %s has no call that stays: %s", endpoint.task, address, found.message)
    return found


def _unreached(why: str) -> errors.OpError:
    return errors.UnavailableError(None, None, why)


class _Race:
    """Takes answers until it ends, and closes the connections that come too late."""

    def __init__(self, answers: SimpleQueue[MasterConnection | errors.OpError]) -> None:
        self._answers = answers
        self._ended = False
        self._lock = threading.Lock()

    def enter(self, answer: MasterConnection | errors.OpError) -> None:
        with self._lock:
            if not self._ended:
                self._answers.put(answer)
                return
        _close(answer)

    def end(self) -> None:
        with self._lock:
            self._ended = True
        while not self._answers.empty():
            _close(self._answers.get())


def _close(answer: MasterConnection | errors.OpError) -> None:
    if isinstance(answer, MasterConnection):
        answer.close()


def _routes(endpoint: fleet_pb2.Endpoint, address: str) -> list[str]:
    """The TCP addresses at which the endpoint may be, each once."""
    named = [a for a in endpoint.stream_address if a.startswith("tcp:")]
    host, _, port = address.rpartition(":")
    # gRPC's other forms of targets, such as dns:///… and ipv4:…, say nothing about where another port is.
    plain = port.isdecimal() and host and "/" not in host and (host.startswith("[") or ":" not in host)
    ports = [a.rpartition(":")[2] for a in named]
    return list(dict.fromkeys([*named, *(f"tcp:{host}:{p}" for p in ports if plain)]))


def _try(
    address: str, incarnation: int, timeout: float, security: Security, host: str = ""
) -> MasterConnection | errors.OpError:
    """A connection to this very process, or why there is none."""
    try:
        connection = MasterConnection(address, security, timeout, host, incarnation)
    except _FAILURES as error:
        return error if isinstance(error, errors.OpError) else _unreached(f"{address}: {error}")
    if connection.incarnation == incarnation:
        return connection
    connection.close()
    return _unreached(f"{address}: another task, or the same after a restart")
