"""EarlyChunks: chunks of tensors that arrive before their ring begins."""

from __future__ import annotations

import logging
from typing import Any

from tensorfleet.core import errors
from tensorfleet_service.net import limits

log = logging.getLogger(__name__)

_RECORD_BYTES = 512  # of memory that each chunk takes beside its elements, of which there may be none


class EarlyChunks:
    """The early chunks of a task by round, within a limit on their bytes; not safe for several threads."""

    def __init__(self) -> None:
        self._chunks: dict[int, list[tuple[int, Any]]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        """The number of rounds that have early chunks."""
        return len(self._chunks)

    def keep(self, round_id: int, number: int, array: Any) -> list[tuple[int, errors.OpError]]:
        """Keeps a chunk; over the limit, drops those of the oldest rounds, and returns these with errors."""
        dropped = []
        self._chunks.setdefault(round_id, []).append((number, array))
        self._bytes += array.nbytes + _RECORD_BYTES
        while self._bytes > limits.MAX_EARLY_BYTES:
            oldest = next(iter(self._chunks))
            size = self._bytes
            self.take(oldest)
            size -= self._bytes
            log.warning("dropped %d bytes of a collective that has not begun", size)
            dropped.append((oldest, limits.early_error("A collective", size)))
        return dropped

    def take(self, round_id: int) -> list[tuple[int, Any]]:
        """Removes and returns the chunks of a round."""
        chunks = self._chunks.pop(round_id, [])
        self._bytes -= sum(int(array.nbytes) + _RECORD_BYTES for _, array in chunks)
        return chunks

    def clear(self) -> None:
        """Drops all chunks."""
        self._chunks.clear()
        self._bytes = 0
