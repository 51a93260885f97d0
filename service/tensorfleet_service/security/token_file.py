"""The task's file of tokens, which is read again after each change."""

from __future__ import annotations

import logging
import os
import threading
import time

from tensorfleet.security import tokens
from tensorfleet.security.settings import SecurityError
from tensorfleet.security.tokens import Token

log = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]


class TokenFile:
    """The tokens in a file, with their holders.

    While the file is invalid, such as while it is being edited, the tokens read before stay in force; if it
    is gone, no token is accepted.

    Raises:
        SecurityError: the file cannot be used.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp = self._now()
        self._unread: _Stamp | None = None
        self._tokens = tokens.read(path)
        if self._stamp is None:
            raise SecurityError(f"{path} cannot be read")

    def _now(self) -> _Stamp | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _current(self) -> list[Token]:
        stamp = self._now()
        if stamp == self._stamp:
            return self._tokens
        read: list[Token] | None = []
        if stamp is None:
            log.error("no token is accepted: %s is gone", self._path)
        else:
            try:
                read = tokens.read(self._path)
                log.info("%d tokens read again from %s", len(read), self._path)
            except tokens.UnreadableError as e:
                # Such as for want of descriptors. That says nothing about the file, so the next call tries
                # again; else a token that the file revokes would stay in force.
                with self._lock:
                    if self._unread != stamp:
                        log.error(
                            "the token file cannot be read now, the earlier tokens stay in force: %s", e
                        )
                    self._unread = stamp
                    return self._tokens
            except SecurityError as e:
                log.error("the token file is invalid, the earlier tokens stay in force: %s", e)
                read = None
        with self._lock:
            self._stamp = stamp
            if read is not None:
                self._tokens = read
            return self._tokens

    def find(self, text: str) -> tuple[Token | None, str]:
        """(the token with a text, or None; the reason why it is not accepted)."""
        return self.find_hash(tokens.hashed(text))

    def find_hash(self, hash: str) -> tuple[Token | None, str]:
        """Like `find`, by the hash of a token, for those who have proven to know the cluster secret."""
        found = tokens.find(self._current(), hash)
        if found is None:
            return None, "the token is not known here: it is wrong, or was revoked"
        if not found.valid(time.time()):
            return None, f"the token {found.name} has expired"
        return found, ""

    def holds(self, hash: str, role: str) -> bool:
        """Whether a token that was accepted before is still valid, with the same role."""
        now = time.time()
        return any(t.hash == hash and t.role == role and t.valid(now) for t in self._current())
