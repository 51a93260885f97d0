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

_logger = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_NATIVE"

INTERFACE = 1
"""Version of the functions that are called here; the module has the same number."""

RENEWED_AFTER_RECORDS = 1 << 23
"""New keys after so many records: AES-GCM is for 2**24.5 of them (RFC 8446, 5.5)."""


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


def over(tls: ssl.SSLObject, arrived: ssl.MemoryBIO, sock: socket.socket) -> Any:
    """What reads and writes a connection from now on; None if `ssl` has to.

    Args:
        arrived: what has come, and was not yet read.
        sock: the socket, with the timeout that holds for it.
    """
    found = module()
    # The objects of the library are found by those of `ssl`.
    inner: Any = getattr(tls, "_sslobj", None)
    if found is None or type(inner) is not getattr(_ssl, "_SSLSocket", None):
        return None
    rest = arrived.read()
    try:
        records = found.open(
            inner, inner.context, type(inner).__basicsize__, sock.fileno(), rest, RENEWED_AFTER_RECORDS
        )
    except (OSError, MemoryError) as e:
        _logger.info("Python's ssl is used for a connection: %s", e)
        records = None
    if records is None:
        arrived.write(rest)
        return None
    records.settimeout(sock.gettimeout())
    return records
