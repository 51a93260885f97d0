"""Reader: takes the names of files from a queue, and gives the records in them.

Reads stand in a line. One thread at a time serves it. While the queue is empty no thread does, and the step
that puts a name in has the line served again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, errors
from tensorfleet.core.long_texts import excerpt
from tensorfleet.proto.reader_base_pb2 import ReaderBaseState
from tensorfleet_service.records.sources import Open, Source
from tensorfleet_service.state.queues import Queue
from tensorfleet_service.threads.future import Future

if TYPE_CHECKING:
    from tensorfleet_service.threads.pool import Pool

Read = tuple[list[bytes], list[bytes]]
"""Keys, and the same number of values."""


class _Attempt:
    """A place in the line: for up to `count` records of the files that `queue` names, or for `action`, which
    is called between two reads.
    """

    __slots__ = ("action", "count", "ended", "error", "future", "queue", "value")

    def __init__(
        self, queue: Queue | None = None, count: int = 0, action: Callable[[], Any] | None = None
    ) -> None:
        self.queue = queue
        self.count = count
        self.action = action
        self.future: Future | None = None
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None


class Reader:
    """Reads records of the files that a queue names (`TFRecordReaderV2` and its kin).

    Args:
        kind: the kind of reader, for messages.
        name: its name among the task's resources.
        open_source: opens a file.
        serializes: whether its state can be saved, which is so only if a file is one record.
    """

    def __init__(self, kind: str, name: str, open_source: Open, serializes: bool, pool: Pool) -> None:
        self.kind = kind
        self.name = name
        self._open = open_source
        self._serializes = serializes
        self._pool = pool
        self._lock = threading.Lock()
        self._line: deque[_Attempt] = deque()
        self._busy = False  # a thread serves the line, or the queue is going to have it served
        self._awaited: Future | None = None  # the name that the first of the line waits for
        self._work: deque[bytes] = deque()  # names that arrived after the read for them was cancelled
        self._begin()

    def _begin(self) -> None:
        self._source: Source | None = None
        self._file = b""
        self._ready: deque[bytes] = deque()
        self.produced = 0
        self.started = 0
        self.finished = 0

    def take(self, queue: Queue, count: int) -> Read | Future:
        """The next records of one file, from 1 to `count` of them; a Future for them while the queue is
        empty.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            InvalidArgumentError: it is not one of strings.
            DataLossError, NotFoundError, …: the file cannot be read.
        """
        if len(queue.dtypes) != 1:
            raise errors.InvalidArgumentError(None, None, "Expected single component queue")
        if queue.dtypes[0] is not dtypes.string:
            raise errors.InvalidArgumentError(None, None, "Expected queue with single string component")
        if count < 1:
            return [], []
        found: Read | Future = self._line_up(_Attempt(queue, count))
        return found

    def _line_up(self, attempt: _Attempt) -> Any:
        """The value of an attempt when its turn comes: at once, or as a Future."""
        with self._lock:
            self._line.append(attempt)
            serves, self._busy = not self._busy, True
            if not serves:
                return self._future(attempt)
        self._serve()
        with self._lock:
            if not attempt.ended:
                return self._future(attempt)
        if attempt.error is not None:
            raise attempt.error
        return attempt.value

    def _future(self, attempt: _Attempt) -> Future:
        attempt.future = Future(lambda _: self._cancel(attempt), self)
        return attempt.future

    def waits_for(self, _: Future) -> str:
        """A description of what a place in the line waits for."""
        with self._lock:
            queue = self._line[0].queue if self._line else None
        return f"{self.kind} '{self.name}'" + (f", which waits for {queue.name}" if queue else "")

    def _serve(self) -> None:
        """Reads for those in the line; runs on one thread at a time, which `_busy` says."""
        while True:
            with self._lock:
                if not self._line:
                    self._busy = False
                    return
                attempt = self._line[0]
            try:
                if attempt.action is not None:
                    self._end(attempt, attempt.action(), None)
                elif (found := self._some(attempt.count)) is not None:
                    self._end(attempt, found, None)
                elif not self._next_file(attempt):
                    return
            except Exception as e:
                self._end(attempt, None, e)

    def _end(self, attempt: _Attempt, value: Any, error: BaseException | None) -> None:
        with self._lock:
            # The attempt may have been cancelled meanwhile.
            if attempt in self._line:
                self._line.remove(attempt)
            attempt.value, attempt.error, attempt.ended = value, error, True
            future = attempt.future
        if future is not None:
            future.complete(value, error)

    def _some(self, count: int) -> Read | None:
        """The next records of the file; None if it has ended, or there is none."""
        source = self._source
        if source is None:
            return None
        values: list[bytes] = []
        ended = False
        try:
            while len(values) < count and not ended:
                if self._ready:
                    values.append(self._ready.popleft())
                else:
                    self._ready.extend(source.read())
                    ended = not self._ready
        except errors.OpError:
            if not values:
                raise  # the source raises it again
        keys = [self._key(source, value) for value in values]
        self.produced += len(values)
        if ended or self._serializes:
            self._source = None
            source.close()
            self.finished += 1
        return (keys, values) if values else None

    def _key(self, source: Source, value: bytes) -> bytes:
        key = source.key(value)
        return self._file + b":" + key.encode() if key else self._file

    def _next_file(self, attempt: _Attempt) -> bool:
        """Begins the next file; False if it has to wait for its name."""
        with self._lock:
            name: Any = self._work.popleft() if self._work else None
        if name is None:
            assert attempt.queue is not None
            found: Any = attempt.queue.dequeue(1)
            if type(found) is Future:
                with self._lock:
                    self._awaited = found
                if found.start(lambda future: self._pool.submit(lambda: self._arrived(future))):
                    return False
                with self._lock:
                    self._awaited = None
                found = found.result()
            name = _name(found)
        self._start(name)
        return True

    def _start(self, name: bytes) -> None:
        self._file = name
        self.started += 1
        self._source = self._open(name)

    def _arrived(self, future: Future) -> None:
        """Goes on with the name that the queue has given."""
        with self._lock:
            mine = self._awaited is future
            if mine:
                self._awaited = None
                attempt = self._line[0]
        try:
            name = _name(future.result())
        except Exception as e:
            if mine:
                self._end(attempt, None, e)
                self._serve()
            return
        with self._lock:
            self._work.append(name)
        if mine:
            self._serve()

    def _cancel(self, attempt: _Attempt) -> None:
        with self._lock:
            if attempt not in self._line:
                return
            first = self._line[0] is attempt
            self._line.remove(attempt)
            awaited = self._awaited if first else None
            if awaited is not None:
                self._awaited = None
        if awaited is not None:
            awaited.cancel()
            self._serve()

    # State

    def serialize(self) -> bytes | Future:
        """The reader's position, as a message; a Future for it while the reader is reading.

        Raises:
            UnimplementedError: the state of readers of this kind cannot be saved.
        """
        if not self._serializes:
            raise errors.UnimplementedError(None, None, "Reader SerializeState")
        state: bytes | Future = self._line_up(_Attempt(action=self._state))
        return state

    def _state(self) -> bytes:
        state = ReaderBaseState(
            work_started=self.started,
            work_finished=self.finished,
            num_records_produced=self.produced,
            current_work=self._file,
        )
        return state.SerializeToString()

    def restore(self, data: bytes) -> Future | None:
        """Goes back to a state that `serialize` gave.

        Raises:
            InvalidArgumentError: it is not a state of such a reader.
            UnimplementedError: the state of readers of this kind cannot be saved.
        """
        if not self._serializes:
            raise errors.UnimplementedError(None, None, "Reader RestoreState")
        state = ReaderBaseState()
        try:
            state.ParseFromString(data)
        except DecodeError:
            text = excerpt(data)
            message = f"Could not parse state for {self.kind} '{self.name}': {text}"
            raise errors.InvalidArgumentError(None, None, message) from None
        counts = state.work_started, state.work_finished, state.num_records_produced
        if min(counts) < 0 or state.work_started < state.work_finished:
            text = f"Inconsistent state for {self.kind} '{self.name}': {counts}"
            raise errors.InvalidArgumentError(None, None, text)

        def put_back() -> None:
            self._drop()
            self.started, self.finished, self.produced = counts
            self._file = state.current_work
            if self.started > self.finished:
                self._source = self._open(self._file)

        under_way: Future | None = self._line_up(_Attempt(action=put_back))
        return under_way

    def reset(self) -> Future | None:
        """Drops the current file, and counts from zero."""
        under_way: Future | None = self._line_up(_Attempt(action=self._drop))
        return under_way

    def _drop(self) -> None:
        source = self._source
        self._begin()
        if source is not None:
            source.close()

    def read(self) -> Any:
        """The value of a fetched reference to the reader: its container and name."""
        return np.array([b"", self.name.encode()], object)

    def close(self) -> None:
        """Closes the current file, after the reads that came before."""
        self.reset()


def _name(elements: Any) -> bytes:
    (value,) = elements[0]
    if isinstance(value, np.ndarray):
        if value.size != 1:
            text = "Expected to dequeue a one-element string tensor"
            raise errors.InvalidArgumentError(None, None, text)
        value = value.reshape(-1)[0]
    return bytes(value)
