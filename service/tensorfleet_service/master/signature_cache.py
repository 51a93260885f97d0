"""SignatureCache: the run signatures of a session, each of which is prepared once, by its first user."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from tensorfleet.core import gc_pause
from tensorfleet_service.master.recent import Recent
from tensorfleet_service.master.signature import MasterSignature, SignatureKey

if TYPE_CHECKING:
    from tensorfleet_service.master.graph_work import Cut
    from tensorfleet_service.master.members import Registered


class SignatureCache:
    """Signatures by their feeds, fetches and targets."""

    def __init__(
        self,
        lock: AbstractContextManager[bool],
        check_open: Callable[[], None],
        cut: Callable[[SignatureKey], Cut],
        register: Callable[[Cut], Sequence[Registered]],
        direct: bool = True,
    ) -> None:
        """
        Args:
            lock: the session's lock, under which it is closed.
            check_open: raises if the session is closed, or refuses steps.
            cut: does the graph work, under the lock.
            direct: whether steps may run on the thread that asks for them, without being counted.
            register: waits for tasks, without the lock, so that the session can be extended and closed
                meanwhile, and other signatures prepared.
        """
        self._lock = lock
        self._check_open = check_open
        self._cut = cut
        self._register = register
        self._direct = direct
        self._recent: Recent[SignatureKey, MasterSignature] = Recent()
        self._signatures = self._recent.entries
        self._in_work: dict[SignatureKey, threading.Event] = {}

    def __len__(self) -> int:
        return len(self._signatures)

    def prepared(self, key: SignatureKey) -> MasterSignature | None:
        """The signature, if it has been used before."""
        found = self._signatures.get(key)
        if found is not None:
            self._recent.used(key)
        return found

    def get(self, key: SignatureKey) -> MasterSignature:
        """The signature, prepared at its first use.

        Raises:
            OpError: a name is unknown, a node cannot be placed, has no kernel, or a task does not answer.
        """
        found = self.prepared(key)
        while found is None:
            with self._lock:
                self._check_open()
                found = self._signatures.get(key)
                if found is not None:
                    break
                other = self._in_work.get(key)
                if other is None:
                    mine = self._in_work[key] = threading.Event()
                    with gc_pause.paused():
                        try:
                            cut = self._cut(key)
                        except BaseException:
                            del self._in_work[key]
                            mine.set()
                            raise
            if other is None:
                return self._finish(key, cut, mine)
            # Ends with the registration, which has a time limit. If it has failed, this thread tries again.
            other.wait()
            found = self._signatures.get(key)
        return found

    def _finish(self, key: SignatureKey, cut: Cut, mine: threading.Event) -> MasterSignature:
        parts: Sequence[Registered] = ()
        try:
            parts = self._register(cut)
            with self._lock:
                self._check_open()
                made = MasterSignature(key, parts, cut.graphs, self._direct)
                for _, dropped in self._recent.put(key, made, key[:3]):
                    dropped.release()
            return made
        except BaseException:
            for part in parts:
                part.member.deregister(part.handle)
            raise
        finally:
            with self._lock:
                del self._in_work[key]
            mine.set()

    def clear(self) -> None:
        """Forgets all signatures, under the lock; the tasks drop their graphs with the session."""
        self._recent.clear()
        for event in self._in_work.values():
            event.set()
