"""The tensors that a session keeps on a task between its steps."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from tensorfleet.core import errors
from tensorfleet.core.long_texts import excerpt


class SessionTensors:
    """Tensors by the texts of their handles. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._tensors: dict[bytes, Any] = {}

    def keep(self, name: str, device: str, value: Any) -> bytes:
        """Keeps a tensor; returns its handle: its name, a number, and the device after the last semicolon."""
        handle = f"{name};{next(self._numbers)};{device}".encode()
        with self._lock:
            self._tensors[handle] = value
        return handle

    def get(self, handle: bytes) -> Any:
        """The tensor of a handle; raises InvalidArgumentError if there is none."""
        found = self._tensors.get(handle, self)
        if found is self:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The tensor with handle '{excerpt(handle)}' is not in the session store.",
            )
        return found

    def forget(self, handle: bytes) -> None:
        """Forgets a tensor; raises InvalidArgumentError if there is none."""
        with self._lock:
            self.get(handle)
            del self._tensors[handle]
