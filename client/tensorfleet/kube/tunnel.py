"""A byte stream to a port of a pod, through the API server's websockets.

The one in the package `kubernetes` buffers without limit if the network is slower than the sender, and prints
a traceback when a side closes the connection.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Any

from tensorfleet.kube.api import CALL_SECONDS, Cluster

# The two channels of the port: data, and the text of an error.
_DATA, _ERROR = 0, 1
_PROTOCOL = "v4.channel.k8s.io"


class Tunnel:
    """An open stream with some methods of a socket; one thread may read while another one writes.

    Raises:
        OpError: the API server refuses, as for a pod that does not run, or cannot be reached.
    """

    def __init__(self, cluster: Cluster, pod: str, namespace: str, port: int) -> None:
        from importlib import import_module

        websocket: Any = import_module("websocket")  # a dependency of kubernetes, without types
        self._lib = websocket
        self._opened: set[int] = set()
        configuration = cluster.configuration()
        self._socket: Any = websocket.WebSocket(sslopt=_ssl_options(configuration), enable_multithread=True)
        self._socket.settimeout(CALL_SECONDS)
        url = f"{configuration.host}/api/v1/namespaces/{namespace}/pods/{pod}/portforward?ports={port}"
        with cluster.errors_of(f"forward a port to the pod {pod}"):
            try:
                self._socket.connect(
                    "ws" + url.removeprefix("http"), subprotocols=[_PROTOCOL], header=_headers(configuration)
                )
            except websocket.WebSocketBadStatusException as error:
                raise cluster.refusal(error.status_code, error.resp_body) from None
            except websocket.WebSocketException as error:
                raise OSError(str(error)) from None
        self._socket.settimeout(None)

    def recv(self, size: int) -> bytes:
        """The next bytes, empty at the end. Raises OSError if the port does not answer."""
        while True:
            try:
                opcode, frame = self._socket.recv_data()
            except self._lib.WebSocketConnectionClosedException:
                return b""
            except self._lib.WebSocketException as error:
                raise OSError(str(error)) from None
            if opcode == self._lib.ABNF.OPCODE_CLOSE or not frame:
                return b""
            channel, data = frame[0], bytes(frame[1:])
            if channel not in self._opened:
                self._opened.add(channel)  # the first frame of a channel is the port's number
            elif channel == _ERROR:
                raise OSError(data.decode(errors="replace"))
            elif data:
                return data

    def sendall(self, data: bytes) -> None:
        """Sends bytes. Raises OSError if the stream has ended."""
        try:
            self._socket.send(bytes([_DATA]) + data, self._lib.ABNF.OPCODE_BINARY)
        except self._lib.WebSocketException as error:
            raise OSError(str(error)) from None

    def shutdown(self, how: int) -> None:
        """Ends both directions; a reading thread gets the end."""
        sock = self._socket.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the connection."""
        self._socket.shutdown()


def _headers(configuration: Any) -> list[str]:
    token = configuration.auth_settings().get("BearerToken")
    return [f"authorization: {token['value']}"] if token else []


def _ssl_options(configuration: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"cert_reqs": ssl.CERT_NONE}
    if configuration.verify_ssl:
        options = {"cert_reqs": ssl.CERT_REQUIRED, "ca_certs": configuration.ssl_ca_cert}
        if configuration.assert_hostname is not None:
            options["check_hostname"] = configuration.assert_hostname
    for key, value in (
        ("certfile", configuration.cert_file),
        ("keyfile", configuration.key_file),
        ("server_hostname", configuration.tls_server_name),
    ):
        if value:
            options[key] = value
    return {key: value for key, value in options.items() if value is not None}
