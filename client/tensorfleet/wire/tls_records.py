"""TLS records by compiled code, if the distribution tensorfleet-kernels is installed.

Python's `ssl` hands out one record of 16 KiB a call, by way of buffers of its own. The module works on the
same OpenSSL object, after the handshake. That stays with `ssl`, as does what is decided about certificates.
"""

from __future__ import annotations

import _ssl
import functools
import importlib
import logging
import os
import socket
import ssl
import sys
from typing import Any

_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

_logger = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_NATIVE"

INTERFACE = 3
"""Version of the functions that are called here; the module has the same number."""

RENEWED_AFTER_RECORDS = 1 << 23
"""New keys after so many records: AES-GCM is for 2**24.5 of them (RFC 8446, 5.5)."""


BESIDE_FROM_BYTES = 4 << 20
"""So many bytes and more are encrypted and decrypted by a second thread, where there is a core for it."""

SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Those of TLS 1.3, the fastest one first; `ssl` prefers 256 bits, and has no way to say otherwise."""

INTERPRETERS = ((3, 11), (3, 12), (3, 13))
"""The versions of CPython of which it is known where their `ssl` keeps the library's objects."""


@functools.cache
def module() -> Any:
    """The compiled module; None if it is not installed, switched off, or does not fit this interpreter."""
    if os.environ.get(SWITCH, "1") == "0" or sys.version_info[:2] not in INTERPRETERS:
        return None
    try:
        found = importlib.import_module("tensorfleet_kernels._tls")
    except ModuleNotFoundError:
        return None
    except ImportError as e:
        _logger.warning("tensorfleet-kernels cannot be loaded, Python's ssl is used alone: %s", e)
        return None
    # An interpreter with `ssl` inside has no file of it, nor may others call its OpenSSL.
    path = getattr(_ssl, "__file__", None)
    if found.INTERFACE != INTERFACE or not path or not found.use(path, ssl.OPENSSL_VERSION):
        _logger.info("Python's ssl is used alone: tensorfleet-kernels does not fit it")
        return None
    return found


def prefer(tls: ssl.SSLObject) -> None:
    """Has a connection use the fastest of its cipher suites, before its handshake, if it can be told.

    Suites that OpenSSL's configuration has taken away stay away.
    """
    found, inner = module(), _inner(tls)
    if found is not None and inner is not None:
        allowed = {suite["name"] for suite in inner.context.get_ciphers()}
        suites = ":".join(suite for suite in SUITES if suite in allowed)
        if suites:
            found.prefer(inner, inner.context, type(inner).__basicsize__, suites)


def over(tls: ssl.SSLObject, arrived: ssl.MemoryBIO, sock: socket.socket) -> Any:
    """What reads and writes a connection from now on; None if `ssl` has to.

    Args:
        arrived: what has come, and was not yet read.
        sock: the socket, with the timeout that holds for it.
    """
    found, inner = module(), _inner(tls)
    if found is None or inner is None:
        return None
    rest = arrived.read()
    size, beside = type(inner).__basicsize__, BESIDE_FROM_BYTES if _has_core_beside(sock) else 0
    try:
        records = found.open(inner, inner.context, size, sock.fileno(), rest, RENEWED_AFTER_RECORDS, beside)
    except (OSError, MemoryError) as e:
        _logger.info("Python's ssl is used for a connection: %s", e)
        records = None
    if records is None:
        arrived.write(rest)
        return None
    records.settimeout(sock.gettimeout())
    return records


def _has_core_beside(sock: socket.socket) -> bool:
    """Whether a second thread would have a core, when this thread and the other side are busy, too."""
    try:
        is_here = sock.family == socket.AF_UNIX or sock.getpeername()[0] == sock.getsockname()[0]
    except OSError:  # the other side has gone
        return False
    cores = _CORES // 2 if is_here else _CORES
    return cores > 1


def _inner(tls: ssl.SSLObject) -> Any:
    """The object of `ssl` by which the library's is found; None if it is of another kind."""
    inner: Any = getattr(tls, "_sslobj", None)
    return inner if type(inner) is getattr(_ssl, "_SSLSocket", None) else None
