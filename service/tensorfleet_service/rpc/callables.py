"""Callables: the numbers by which clients of the stream run the signatures of their sessions."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING

from tensorfleet_service.master.recent import Recent

if TYPE_CHECKING:
    from tensorfleet_service.master.session import MasterSession
    from tensorfleet_service.master.signature import MasterSignature, SignatureKey


class Callables:
    """Signatures by their numbers.

    A session has as many as may be prepared. For more, those are dropped that were not used for the longest
    time: who runs one asks for its number again.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[MasterSession, MasterSignature]] = {}
        self._numbers: dict[str, Recent[SignatureKey, int]] = {}
        """By session: a client that forgets a number, and asks again, gets the same."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, number: int) -> tuple[MasterSession, MasterSignature] | None:
        """The session and the signature of a number."""
        found = self._found.get(number)
        if found is not None:
            session, signature = found
            numbers = self._numbers.get(session.handle)
            if numbers is not None:
                numbers.used(signature.key)
        return found

    def number(self, session: MasterSession, signature: MasterSignature) -> int:
        """The number of a signature, which no other client should guess."""
        key = signature.key
        with self._lock:
            numbers = self._numbers.setdefault(session.handle, Recent())
            number = numbers.entries.get(key)
            if number is None:
                number = secrets.randbits(63)
            for _, dropped in numbers.put(key, number, key[:3]):
                del self._found[dropped]
            self._found[number] = session, signature
        return number

    def forget(self, handle: str) -> None:
        """Drops what is known of a session."""
        with self._lock:
            numbers = self._numbers.pop(handle, None)
            if numbers is not None:
                for number in list(numbers.entries.values()):
                    del self._found[number]
