"""The rows that a query finds in a file of SQLite (`SqlDataset`).

The file is read by the task's `Files`, and SQLite gets its content, no name: a query can neither open nor
write any file, change anything, nor go on when nobody waits for its rows.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet_service.data.dataset import Abandoned, Dataset, Element, Run

_ALLOWED = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)
_MAX_VALUE = 1 << 26
"""Limit on the bytes of a text or a blob, also inside of a query."""
_MAX_MEMORY = 1 << 31
"""Limit on what SQLite has allocated in this process, for all queries together."""
_MAX_PATTERN = 128
"""Limit on the characters of a LIKE or GLOB, which may take as many times the length of the text."""
_CHECKED_AFTER = 1000
"""Steps of SQLite's machine after which it is asked whether somebody still waits."""
_MAX_COMPARED = 1 << 30
"""Limit on the product of two arguments' bytes in one call of the functions below."""
_SQUARE = {"instr": 2, "replace": 3, "trim": 2, "ltrim": 2, "rtrim": 2, "json_patch": 2}
"""SQLite's functions that may take time by the product of their first two arguments' sizes, which nothing
interrupts, with their numbers of arguments."""

TYPES = (
    *(dtypes.string, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
    *(dtypes.bool, dtypes.float64),
)


class SqlRows(Dataset):
    """The rows of a query.

    Args:
        read: gives the content of the file.
        query: in SQL.
        types: of the columns, among `TYPES`.
    """

    def __init__(self, read: Callable[[], bytes], query: bytes, types: Sequence[dtypes.DType]) -> None:
        super().__init__()
        self._read, self._query, self._wanted = read, query, list(types)

    def items(self, run: Run) -> Iterator[Element]:
        return _Query(run, self._read, self._query, self._wanted)


class _Query:
    """The rows one after the other; begun by the first."""

    def __init__(
        self, run: Run, read: Callable[[], bytes], query: bytes, types: Sequence[dtypes.DType]
    ) -> None:
        self._run, self._read, self._query, self._types = run, read, query, types
        self._connection: sqlite3.Connection | None = None
        self._rows: sqlite3.Cursor | None = None
        self._converter: sqlite3.Connection | None = None
        self._stopped: BaseException | None = None
        self._busy = threading.Lock()
        self._closed = False
        run.open(self)

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        try:
            with self._busy:
                return self._next()
        finally:
            if self._closed:
                self.close()

    def _next(self) -> Element:
        if self._closed:
            raise StopIteration
        if self._rows is None:
            self._rows = self._begin()
        rows = self._rows
        row = self._guarded(lambda: next(rows, None))
        if row is None:
            self._closed = True
            raise StopIteration
        if len(row) != len(self._types):
            text = f"The number of columns in query ({len(row)}) must match the number of elements in "
            raise errors.InvalidArgumentError(None, None, f"{text}output_types ({len(self._types)}).")
        return tuple(self._value(value, dtype) for value, dtype in zip(row, self._types, strict=True))

    def _begin(self) -> sqlite3.Cursor:
        content = self._read()
        connection = self._connection = _connected()
        text = self._query.decode("utf-8", "replace")

        def begin() -> sqlite3.Cursor:
            if content:
                connection.deserialize(content)
            self._bound_functions(connection)
            # After this, no more is allowed than to read.
            connection.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
            )
            connection.set_progress_handler(self._goes_on, _CHECKED_AFTER)
            return connection.execute(text)

        rows: sqlite3.Cursor = self._guarded(begin)
        if rows.description is None:
            raise errors.InvalidArgumentError(None, None, f"The query gives no rows: {text!r}")
        return rows

    def _bound_functions(self, connection: sqlite3.Connection) -> None:
        """Has functions refuse arguments for which they compute for much longer than these are large."""

        def bounded(name: str, count: int) -> Callable[..., Any]:
            call = f"SELECT {name}({', '.join('?' * count)})"

            def run(*values: Any) -> Any:
                first, second = (len(v) if isinstance(v, (str, bytes)) else 1 for v in values[:2])
                if first * second > _MAX_COMPARED:
                    text = f"{name} of {first} and {second} characters takes too long in a query"
                    self._stopped = errors.InvalidArgumentError(None, None, text)
                    raise self._stopped
                [(found,)] = self._plain().execute(call, values)
                # Text comes as bytes, which would be a blob.
                return found.decode() if isinstance(found, bytes) and isinstance(values[0], str) else found

            return run

        for name, count in _SQUARE.items():
            connection.create_function(name, count, bounded(name, count), deterministic=True)

    def _goes_on(self) -> int:
        try:
            self._run.check()
        except (errors.OpError, Abandoned) as e:
            self._stopped = e
            return 1
        return 0

    def _guarded(self, act: Callable[[], Any]) -> Any:
        self._stopped = None
        try:
            return act()
        except (sqlite3.Error, sqlite3.Warning) as e:
            self._closed = True
            if str(e) == "interrupted":
                self._goes_on()
            if self._stopped is not None:
                raise self._stopped from None
            if isinstance(e, sqlite3.DatabaseError) and "not authorized" in str(e):
                text = "A query may only read, and only the tables of its own file"
                raise errors.InvalidArgumentError(None, None, f"{text}: {e}") from None
            if isinstance(e, sqlite3.ProgrammingError) or "not a database" in str(e):
                raise errors.InvalidArgumentError(None, None, f"SQLite: {e}") from None
            raise errors.UnknownError(None, None, f"SQLite: {e}") from None
        except MemoryError:
            self._closed = True
            text = f"SQLite: the queries of this task take more than {_MAX_MEMORY} bytes"
            raise errors.ResourceExhaustedError(None, None, text) from None
        except OverflowError as e:
            raise errors.InvalidArgumentError(None, None, f"SQLite: {e}") from None

    def _value(self, value: Any, dtype: dtypes.DType) -> Any:
        """A value as one of the column's dtype, by SQLite's own rules."""
        if dtype is dtypes.string:
            made = np.empty((), object)
            made[()] = (
                b"" if value is None else value if isinstance(value, bytes) else self._cast(value, "TEXT")
            )
            return made
        if dtype is dtypes.float64:
            if not isinstance(value, float):
                value = 0.0 if value is None else self._cast(value, "REAL")
            return np.float64(value)
        if not isinstance(value, int):
            value = 0 if value is None else self._cast(value, "INTEGER")
        if dtype is dtypes.bool:
            return np.bool_(value)
        return np.int64(value).astype(dtype.as_numpy_dtype)

    def _cast(self, value: Any, kind: str) -> Any:
        [(made,)] = self._plain().execute(f"SELECT CAST(? AS {kind})", (value,))
        return made

    def _plain(self) -> sqlite3.Connection:
        """A connection whose functions are SQLite's own."""
        if self._converter is None:
            self._converter = _connected()
        return self._converter

    def close(self) -> None:
        """Ends the query: now, or when the thread that is in it comes back, which it does soon."""
        self._closed = True
        # A connection that another thread is in would wait for it, and keep the interpreter from it.
        if self._busy.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._busy.release()
        elif (connection := self._connection) is not None:
            with suppress(sqlite3.ProgrammingError):  # it has come back, and was closed
                connection.interrupt()

    def _end(self) -> None:
        connections = self._connection, self._converter
        self._connection = self._converter = None
        for connection in connections:
            if connection is not None:
                connection.close()


def _connected() -> sqlite3.Connection:
    """An empty database in memory; one thread at a time uses it, though not always the same."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.text_factory = bytes
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _MAX_PATTERN)
    # What is sorted stays in memory, not in temporary files; what a short query expands to before it
    # begins, where nothing interrupts it, has an end; and a file cannot hide calls in its schema.
    for setting in (f"hard_heap_limit = {_MAX_MEMORY}", "temp_store = MEMORY", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {setting}").close()
    return connection
