"""gRPC's health service (grpc.health.v1.Health), for probes that speak gRPC and clients that balance load."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorfleet.core import errors
from tensorfleet.proto.health_pb2 import HealthCheckRequest, HealthCheckResponse
from tensorfleet_service.observe.health import Health
from tensorfleet_service.rpc.grpc_calls import Call, Prompt, Send, Streams, at_once, parse

MAX_WATCHES = 1000  # nobody has to say who they are for one
PREFIX = "/grpc.health.v1.Health/"
SERVICES = ("", "tensorflow.MasterService")
"""The services that have a status; "" is the task as a whole."""


class HealthService:
    """Check, and Watch: an answer at once, and one at each change. No thread waits for a watcher."""

    def __init__(self, health: Health) -> None:
        self._health = health
        self._lock = threading.Lock()
        self._ends: dict[object, Callable[[], None]] = {}

    def prompt(self) -> Prompt:
        """The calls that have one answer, by their gRPC names."""
        return {PREFIX + "Check": (HealthCheckRequest, at_once(self.check))}

    def streams(self) -> Streams:
        """The calls that have several answers."""
        return {PREFIX + "Watch": self._watch}

    def check(self, request: HealthCheckRequest) -> HealthCheckResponse:
        """Whether work should be sent to the task.

        Raises:
            NotFoundError: the service is not one of SERVICES.
        """
        if request.service not in SERVICES:
            raise errors.NotFoundError(None, None, f"unknown service {request.service!r}")
        return HealthCheckResponse(status=self._status())

    def _status(self) -> HealthCheckResponse.ServingStatus:
        return HealthCheckResponse.SERVING if self._health.ready else HealthCheckResponse.NOT_SERVING

    def _watch(self, data: bytes, call: Call, send: Send) -> None:
        request: Any = parse(HealthCheckRequest, data)
        known = request.service in SERVICES
        lock = threading.Lock()
        told: int | None = None

        def tell() -> None:
            nonlocal told
            with lock:
                # By the protocol the call stays open even for an unknown service, which might appear.
                status = self._status() if known else HealthCheckResponse.SERVICE_UNKNOWN
                if status != told:
                    told = status
                    send(HealthCheckResponse(status=status).SerializeToString())

        key = object()
        unwatch = self._health.watch(tell)

        def forget() -> None:
            unwatch()
            with self._lock:
                self._ends.pop(key, None)

        with self._lock:
            full = len(self._ends) >= MAX_WATCHES
            if not full:
                self._ends[key] = lambda: send(None)
        if full:
            unwatch()
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"{MAX_WATCHES} calls watch this task's health, as many as may: call Check instead",
            )
        if call.add_callback(forget):
            tell()
        else:
            forget()

    def close(self) -> None:
        """Ends the calls of all watchers, as the server would wait for them."""
        with self._lock:
            ends = list(self._ends.values())
            self._ends.clear()
        for end in ends:
            end()
