"""Writing of event files in a separate thread, so that training does not wait for the disk."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from tensorfleet.checkpoint import files
from tensorfleet.core import errors
from tensorfleet.records.tfrecord import framed

if TYPE_CHECKING:
    from tensorfleet.proto.event_pb2 import Event

_VERSION = "brain.Event:2"
_CHECK_SECONDS = 1.0  # interval at which callers that wait check whether the thread is alive


class EventFileWriter:
    """Writes event files, one at a time, to a directory, which is made if needed.

    Any number of threads may add events. The next call raises an error of the writing thread. `close` ends
    the thread; after that, events are dropped until `reopen`.
    """

    def __init__(self, logdir: str, max_queue: int, flush_secs: float, filename_suffix: str | None) -> None:
        self._logdir = logdir
        self._max_queue = max(max_queue, 1)
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._changed = threading.Condition()
        self._queue: deque[Event] = deque()
        self._added = self._written = self._flush_until = 0
        self._error: BaseException | None = None
        self._open()

    def get_logdir(self) -> str:
        """The directory."""
        return self._logdir

    def _open(self) -> None:
        from tensorfleet.proto.event_pb2 import Event

        with files.reported(self._logdir):
            os.makedirs(self._logdir, exist_ok=True)
            start = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
            number = 0
            while True:
                # A number, as two writers may start in the same second.
                name = start + (f".{number}" if number else "") + self._suffix
                try:
                    self._file = open(os.path.join(self._logdir, name), "xb")  # noqa: SIM115
                    break
                except FileExistsError:
                    number += 1
            version = Event(wall_time=time.time(), file_version=_VERSION)
            self._file.write(framed(version.SerializeToString()))
            self._file.flush()
        self._closing = False
        self._thread: threading.Thread | None = threading.Thread(
            target=self._run, name="tensorfleet-events", daemon=True
        )
        self._thread.start()

    def add_event(self, event: Event) -> None:
        """Passes an event to the thread; waits while the queue is full.

        Raises:
            OpError: earlier events could not be written.
        """
        with self._changed:
            if self._thread is None:
                return
            self._wait(lambda: len(self._queue) < self._max_queue)
            self._queue.append(event)
            self._added += 1
            self._changed.notify_all()

    def flush(self) -> None:
        """Waits until all events that were added before are in the file.

        Raises:
            OpError: events could not be written.
        """
        with self._changed:
            if self._thread is None:
                return
            until = self._flush_until = self._added
            self._changed.notify_all()
            self._wait(lambda: self._written >= until)

    def _wait(self, ready: Callable[[], bool]) -> None:
        while not ready() and self._error is None and self._thread is not None and self._thread.is_alive():
            self._changed.wait(_CHECK_SECONDS)
        if self._error is not None:
            if isinstance(self._error, errors.OpError):
                raise errors.from_code(self._error.error_code, self._error.message)
            raise errors.UnknownError(None, None, f"{self._file.name}: {self._error}")

    def close(self) -> None:
        """Writes the remaining events, ends the thread and closes the file.

        Raises:
            OpError: events could not be written.
        """
        with self._changed:
            thread = self._thread
            if thread is None:
                return
            self._closing = True
            self._changed.notify_all()
        while thread.is_alive():
            thread.join(_CHECK_SECONDS)
        with self._changed:
            self._thread = None
            self._file.close()
            error, self._error = self._error, None
            self._queue.clear()
            self._written = self._added
        if error is not None:
            raise error

    def reopen(self) -> None:
        """Starts another file, if this one is closed."""
        with self._changed:
            if self._thread is None:
                self._open()

    def _run(self) -> None:
        try:
            with files.reported(self._file.name):
                self._write_all()
        except BaseException as e:
            with self._changed:
                self._error = e
                self._changed.notify_all()

    def _write_all(self) -> None:
        due = time.monotonic() + self._flush_secs
        closing = False
        while not closing:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._queue or self._closing or self._flush_until > self._written,
                    max(due - time.monotonic(), 0.0),
                )
                events = list(self._queue)
                self._queue.clear()
                closing, wanted = self._closing, self._flush_until
                added = self._added
                self._changed.notify_all()
            self._file.write(b"".join(framed(event.SerializeToString()) for event in events))
            if closing or wanted > self._written or time.monotonic() >= due:
                self._file.flush()
                due = time.monotonic() + self._flush_secs
                with self._changed:
                    self._written = added
                    self._changed.notify_all()
