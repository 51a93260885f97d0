"""The cluster secret: proofs that two processes know the same secret, which is never sent.

Each side sends a random number, and an HMAC over both numbers and the claims of both sides. A proof is not
valid for another connection, task or incarnation. It authenticates but does not encrypt.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
import threading
import time

NONCE_BYTES = 32
WINDOW_SECONDS = 60.0
"""The greatest allowed difference between the clocks of a caller and a task, for calls by gRPC."""

OPENER, ACCEPTOR = b"opener", b"acceptor"

_STREAM = b"tensorfleet stream 1"
_CALL = b"tensorfleet call 1"


def nonce() -> bytes:
    return secrets.token_bytes(NONCE_BYTES)


def prove(secret: bytes, side: bytes, *said: bytes) -> bytes:
    """The proof of one side of a connection; `said` is the claims of both sides, in order."""
    return _mac(secret, _STREAM, side, *said)


def _mac(secret: bytes, *parts: bytes) -> bytes:
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(struct.pack("<Q", len(part)))
        mac.update(part)
    return mac.digest()


def same(one: bytes, other: bytes) -> bool:
    """Compares two proofs in constant time."""
    return hmac.compare_digest(one, other)


# Calls by gRPC: one proof for each, of the method, the task that it is for, and the digest of the request. It
# carries the digest, so that it can be verified before the request is received, which may be large.


def call_proof(
    secret: bytes, claim: str, audience: int, method: str, data: bytes, now: float | None = None
) -> str:
    """The proof that a call carries.

    Args:
        claim: the task that calls, or "" for a client.
        audience: the incarnation of the task that is called.
    """
    at = str(time.time_ns() // 1_000_000 if now is None else int(now * 1000))
    once = secrets.token_hex(16)
    digest = request_digest(data)
    return ",".join((claim, at, once, digest, _call_mac(secret, claim, audience, method, digest, at, once)))


def request_digest(data: bytes) -> str:
    """The digest of a request for its proof."""
    return hashlib.sha256(data).hexdigest()


def _call_mac(secret: bytes, claim: str, audience: int, method: str, digest: str, at: str, once: str) -> str:
    return _mac(secret, _CALL, "\n".join((claim, str(audience), method, at, once, digest)).encode()).hex()


class CallProofs:
    """Verifies the proofs of calls to one task; each is accepted once."""

    def __init__(self, secret: bytes, audience: int) -> None:
        self._secret = secret
        self._audience = audience
        self._seen: dict[str, float] = {}  # in the order of arrival
        self._lock = threading.Lock()

    def verify(self, proof: str, method: str) -> tuple[str, str, str]:
        """(claim of a proof, digest of its request, reason why it is not accepted or "").

        The caller must compare the digest with that of the request when it has been received.
        """
        parts = proof.split(",")
        if len(parts) != 5:
            return "", "", "its proof cannot be read"
        claim, at, once, digest, mac = parts
        expected = _call_mac(self._secret, claim, self._audience, method, digest, at, once)
        if not same(expected.encode(), mac.encode("ascii", "replace")):
            return "", "", "it does not know the cluster secret, or means another task"
        now = time.time()
        if not abs(now - int(at) / 1000) <= WINDOW_SECONDS:
            return "", "", f"its clock differs by more than {WINDOW_SECONDS:g} s from this task's"
        with self._lock:
            for old, seen in list(self._seen.items()):
                if now - seen <= 2 * WINDOW_SECONDS:
                    break
                del self._seen[old]
            if once in self._seen:
                return "", "", "the call was made before: it is a replay"
            self._seen[once] = now
        return claim, digest, ""
