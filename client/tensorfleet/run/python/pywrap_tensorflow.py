"""`tensorflow.python.pywrap_tensorflow`: what programs use of TensorFlow's C++ classes."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from tensorfleet.core.compat import as_text
from tensorfleet.proto.event_pb2 import Event
from tensorfleet.records.tfrecord import TFRecordWriter


class EventsWriter:
    """A file of events, whose name begins with `file_prefix`."""

    def __init__(self, file_prefix: Any) -> None:
        prefix = os.path.abspath(as_text(file_prefix))
        self._name = f"{prefix}.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
        self._writer: TFRecordWriter | None = None

    def _opened(self) -> TFRecordWriter:
        if self._writer is None:
            self._writer = TFRecordWriter(self._name)
            self._writer.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        return self._writer

    def FileName(self) -> bytes:
        """The file's name."""
        self._opened()
        return self._name.encode()

    def WriteEvent(self, event: Event) -> None:
        """Appends an event."""
        self._opened().write(event.SerializeToString())

    def Flush(self) -> bool:
        """Writes what is buffered."""
        self._opened().flush()
        return True

    def Close(self) -> bool:
        """Ends the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        return True
