"""Event files that operations write, for TensorBoard."""

from __future__ import annotations

import os
import platform
import threading
import time
from typing import BinaryIO

from tensorfleet.checkpoint.files import reported
from tensorfleet.core import errors
from tensorfleet.core.files import Files
from tensorfleet.proto.event_pb2 import Event
from tensorfleet.records.tfrecord import framed

_VERSION = "brain.Event:2"


class EventFile:
    """A task's event file, made by `create`. Events are in the file when `add` returns; any thread may call.

    Attributes:
        name: among the task's resources.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None

    def create(self, files: Files, directory: str, suffix: str) -> None:
        """Begins a file in the directory, which is made if needed; without effect where there is one.

        Raises:
            OpError: of the kind of the operating system's error.
        """
        if self._file is not None:
            return
        with reported(directory):
            files.make_directories(directory)
            start = f"events.out.tfevents.{int(time.time()):010d}.{platform.node()}"
            number = 0
            while True:
                # A number, as two writers may start in the same second.
                name = start + (f".{number}" if number else "") + suffix
                try:
                    file = files.open_for_write(os.path.join(directory, name), "xb")
                    break
                except FileExistsError:
                    number += 1
        with self._lock:
            first = self._file is None
            if first:
                self._file = file
        if first:
            self.add(Event(file_version=_VERSION))
        else:
            file.close()

    def add(self, event: Event) -> None:
        """Writes an event, with the present time where it has none.

        Raises:
            FailedPreconditionError: the file was not made, or is closed.
            OpError: of the kind of the operating system's error.
        """
        if not event.wall_time:
            event.wall_time = time.time()
        file = self._file
        if file is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                "The summary writer is closed, or not initialized: run tf.contrib.summary.initialize, or the "
                "operations of summary_writer_initializer_op().",
            )
        with reported(self.name):
            file.write(framed(event.SerializeToString()))
            file.flush()

    def close(self) -> None:
        """Closes the file, if there is one."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()
