"""Forwards local ports to a pod through the API server, as `kubectl port-forward` does."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from tensorfleet.core import errors
from tensorfleet.kube.api import Cluster
from tensorfleet.kube.tunnel import Tunnel

OPEN_SECONDS = 30.0  # time that a connection waits for the pod, such as while it restarts
RETRY_SECONDS = 1.0
_CHUNK = 1 << 18

FindPod = Callable[[], Any]
Say = Callable[[str], None]


class Forwarder:
    """Listens on local ports and forwards each connection to a port of the pod that `find_pod` returns.

    Args:
        find_pod: a function, called for each connection, that returns the pod (V1Pod); raises OpError.
        host: the local address to listen at.
        ports: from local to remote ports; 0 for any free local port.
        say: a function that gets texts when the pod cannot be reached, and when it can be again.

    Raises:
        OSError: a local port is taken.
    """

    def __init__(
        self, cluster: Cluster, find_pod: FindPod, host: str, ports: dict[int, int], say: Say
    ) -> None:
        self._cluster = cluster
        self._find_pod = find_pod
        self._say = say
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._away = False
        self._open: set[Any] = set()
        self.local_ports: dict[int, int] = {}
        """The local port of each remote one."""
        try:
            for local, remote in ports.items():
                server = socket.create_server((host, local))
                self._open.add(server)
                self.local_ports[remote] = server.getsockname()[1]
                self._start(f"accept {remote}", self._accept, server, remote)
        except OSError:
            self.close()
            raise

    def check(self, seconds: float = OPEN_SECONDS) -> None:
        """Waits until the pod can be reached. Raises OpError with the reason if it cannot be in time."""
        for remote in self.local_ports:
            self._reach(remote, seconds).close()
            return

    def close(self) -> None:
        """Ends all connections."""
        self._closed.set()
        with self._lock:
            opened, self._open = self._open, set()
        for sock in opened:
            _close(sock)

    def _start(self, name: str, target: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=target, args=arguments, name=name, daemon=True).start()

    def _accept(self, server: socket.socket, remote: int) -> None:
        while not self._closed.is_set():
            try:
                near, _ = server.accept()
            except OSError:
                return  # closed
            if self._keep(near):
                self._start(f"forward {remote}", self._serve, near, remote)

    def _keep(self, sock: Any) -> bool:
        """Keeps a socket for `close`; returns False if that was called already."""
        with self._lock:
            if not self._closed.is_set():
                self._open.add(sock)
                return True
        _close(sock)
        return False

    def _drop(self, sock: Any) -> None:
        with self._lock:
            self._open.discard(sock)
        _close(sock)

    def _serve(self, near: socket.socket, remote: int) -> None:
        try:
            far = self._reach(remote, OPEN_SECONDS)
        except errors.OpError:
            self._drop(near)  # `_reach` has reported the error
            return
        if self._keep(far):
            self._start(f"forward {remote}", self._copy, far, near)
            self._copy(near, far)
        self._drop(near)
        self._drop(far)

    def _copy(self, source: Any, sink: Any) -> None:
        """Copies until one side ends, which also ends the thread of the other direction."""
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                sink.sendall(data)
        self._drop(source)
        self._drop(sink)

    def _reach(self, remote: int, seconds: float) -> Tunnel:
        """A stream to a port of the pod. Raises OpError if none can be opened within `seconds`."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self._forward(remote)
            except errors.OpError as error:
                with self._lock:
                    tell, self._away = not self._away, True
                if tell:
                    self._say(f"{error.message}; trying again")
                if self._closed.is_set() or time.monotonic() > end:
                    raise
                self._closed.wait(RETRY_SECONDS)
            else:
                with self._lock:
                    tell, self._away = self._away, False
                if tell:
                    self._say("connected again")
                return found

    def _forward(self, remote: int) -> Tunnel:
        pod = self._find_pod()
        name, namespace = pod.metadata.name, pod.metadata.namespace
        if pod.status.phase != "Running" or pod.metadata.deletion_timestamp is not None:
            state = "is ending" if pod.metadata.deletion_timestamp is not None else pod.status.phase
            raise errors.UnavailableError(None, None, f"the pod {name} is not there: {state}")
        return Tunnel(self._cluster, name, namespace, remote)


def _close(sock: Any) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
