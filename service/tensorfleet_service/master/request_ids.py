"""Request ids: which requests of a session its client has sent before."""

from __future__ import annotations

import threading
from collections import OrderedDict

from tensorfleet.core import errors

REMEMBERED = 10_000
"""How many ids are remembered, as many as by TensorFlow's master; here of each session."""


class RequestIds:
    """The ids of a session's latest requests. Safe to use from several threads.

    They are kept by session, so that no client can have those of others forgotten.

    Args:
        most: limit on the ids that are remembered.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._ids: OrderedDict[int, None] = OrderedDict()

    def check_new(self, request_id: int) -> None:
        """Raises AbortedError for a request that has come before, which its client has retried.

        Args:
            request_id: as in the message; 0: the client gives none.
        """
        if not request_id:
            return
        with self._lock:
            if request_id in self._ids:
                raise errors.AbortedError(
                    None,
                    None,
                    f"The same request_id {request_id} was received before: the request was retried.",
                )
            self._ids[request_id] = None
            if len(self._ids) > self._most:
                self._ids.popitem(last=False)
