"""TLS: contexts from the files in the settings, which are read again when they change."""

from __future__ import annotations

import functools
import logging
import os
import ssl
import threading
import weakref
from collections.abc import Callable

from tensorfleet.security import identity
from tensorfleet.security.identity import Identity
from tensorfleet.security.settings import SecurityError, TlsFiles

log = logging.getLogger("tensorfleet")

Check = Callable[[Identity], None]

_Stamp = tuple[tuple[int, int, int], ...]


class Certificates:
    """A certificate, its key and the trusted CAs, in the current state of their files.

    If the files cannot be used, as while they are being replaced, the previous ones stay in use.

    Raises:
        SecurityError: the files cannot be used.
    """

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self._lock = threading.Lock()
        self._checks: list[weakref.WeakMethod[Check]] = []
        self._refused: _Stamp = ()
        self._stamp = self._now()
        self._version = 1
        self._read()

    def _now(self) -> _Stamp:
        try:
            stats = [os.stat(path) for path in (self.files.cert, self.files.key, self.files.ca)]
        except OSError as e:
            raise SecurityError(f"{e.filename} cannot be read: {e.strerror}") from None
        return tuple((s.st_ino, s.st_mtime_ns, s.st_size) for s in stats)

    def _read(self) -> None:
        client, server, pages = (_context(self.files, is_server) for is_server in (False, True, True))
        try:
            pem = tuple(_bytes(path) for path in (self.files.key, self.files.cert, self.files.ca))
            own = _identity(pem[1])
        except (OSError, ValueError) as e:
            raise SecurityError(f"{self.files.cert} cannot be used: {e}") from None
        for check in self._checks:
            if (known := check()) is not None:
                known(own)
        self._client, self._server, self._own = client, server, own
        self._pages = pages
        self._pages.verify_mode = ssl.CERT_NONE
        self._pem: tuple[bytes, bytes, bytes] = (pem[0], pem[1], pem[2])

    def bind(self, check: Check) -> None:
        """Has a method look at the identity now, and at that of later certificates: they are not used if it
        raises SecurityError, which this passes on. It is forgotten with its object.
        """
        with self._lock:
            check(self._own)
            self._checks = [known for known in self._checks if known() is not None]
            self._checks.append(weakref.WeakMethod(check))

    def refresh(self) -> bool:
        """Reads the files again if they have changed; returns whether they have."""
        with self._lock:
            try:
                stamp = self._now()
                if stamp in (self._stamp, self._refused):
                    return False
                self._read()
            except SecurityError as e:
                log.error("the certificates are not replaced: %s", e)
                try:
                    self._refused = self._now()
                except SecurityError:
                    self._refused = ()
                return False
            self._stamp = stamp
            self._version += 1
            log.info("certificates read again from %s", self.files.cert)
            return True

    def client_context(self) -> ssl.SSLContext:
        """The context for connections that this process opens; the user must check the peer's identity."""
        self.refresh()
        return self._client

    def server_context(self) -> ssl.SSLContext:
        """The context for connections that others open, who must have a certificate."""
        self.refresh()
        return self._server

    def grpc_context(self) -> ssl.SSLContext:
        """As `client_context`, for connections that carry gRPC."""
        self.refresh()
        context = _context(self.files, False)
        context.set_alpn_protocols(["h2"])
        return context

    def pages_context(self) -> ssl.SSLContext:
        """For pages by HTTPS, whose readers show no certificate."""
        self.refresh()
        return self._pages

    @property
    def version(self) -> int:
        """A number that increases each time that the files are read again."""
        self.refresh()
        return self._version

    @property
    def own(self) -> Identity:
        """The identity of this process."""
        return self._own

    @property
    def pem(self) -> tuple[bytes, bytes, bytes]:
        """Key, certificates and CAs, for gRPC."""
        self.refresh()
        return self._pem


def _identity(chain: bytes) -> Identity:
    """The identity in the first certificate of a PEM file."""
    from cryptography import x509  # takes a while to import, and only those who use TLS need it

    certificate = x509.load_pem_x509_certificate(chain)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Identity()
    return identity.of_names(
        names.get_values_for_type(x509.UniformResourceIdentifier),
        [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))],
    )


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _context(files: TlsFiles, server: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # `Identity.why_not_task` checks the identity instead
    context.verify_mode = ssl.CERT_REQUIRED
    if server:
        context.num_tickets = (
            0  # no session tickets, so that each connection verifies the current certificates
        )
    try:
        context.load_cert_chain(files.cert, files.key)
    except (OSError, ValueError) as e:
        raise SecurityError(f"{files.cert} and {files.key} cannot be used together: {e}") from None
    try:
        context.load_verify_locations(files.ca)
    except (OSError, ValueError) as e:
        raise SecurityError(f"{files.ca} holds no certificates of CAs: {e}") from None
    return context


@functools.cache
def certificates(files: TlsFiles) -> Certificates:
    """The certificates in some files, once for the process.

    Raises:
        SecurityError: the files cannot be used.
    """
    return Certificates(files)
