"""Queries that nobody waits for any more."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from typing import Any

import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.data.dataset import Run
from tensorfleet_service.data.sql import SqlRows
from tensorfleet_service.threads.pool import Pool

ENDLESS = b"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


def test_a_query_without_an_end_ends_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool("sql")
    run = Run(pool)
    begun = threading.Event()
    check = run.check

    def checked() -> None:
        begun.set()
        check()

    monkeypatch.setattr(run, "check", checked)
    items = SqlRows(lambda: b"", ENDLESS, [dtypes.int64]).items(run)
    found: list[Any] = []

    def ask() -> None:
        try:
            next(items)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert begun.wait(30), "the query asks whether it is to go on"
    run.close()
    thread.join(30)
    assert not thread.is_alive()
    assert [type(error) for error in found] == [errors.CancelledError]
    with pytest.raises(StopIteration):
        next(items)
    pool.close()


class Patient:
    """A run that waits as long as it takes."""

    def open(self, source: Any) -> None:
        self.source = source

    def check(self) -> None:
        pass


def rows(query: bytes, dtype: dtypes.DType = dtypes.int64, run: Any = None) -> list[Any]:
    return [value for (value,) in SqlRows(lambda: b"", query, [dtype]).items(run or Patient())]


@pytest.mark.parametrize(
    "call",
    [
        "instr(zeroblob(1 << 20), zeroblob(1 << 19) || x'01')",
        "replace(zeroblob(1 << 20), zeroblob(1 << 19), 'a')",
        "length(trim(zeroblob(1 << 20), zeroblob(1 << 19)))",
        "json_patch(zeroblob(1 << 20), zeroblob(1 << 19))",
    ],
)
def test_functions_that_take_square_time_refuse_long_arguments(call: str) -> None:
    """SQLite interrupts no single call."""
    with pytest.raises(errors.InvalidArgumentError, match="takes too long"):
        rows(f"SELECT {call}".encode())


def test_long_patterns_are_refused() -> None:
    with pytest.raises(errors.UnknownError, match="too complex"):
        rows(b"SELECT printf('%.*c', 1000, 'a') LIKE printf('%.*c', 1000, '%')")
    assert rows(b"SELECT 'abc' LIKE '%B%'") == [1]


def test_bounded_functions_are_those_of_sqlite() -> None:
    query = "SELECT {} || '.' || typeof({})"
    for call in (
        *("instr('größe', 'ß')", "instr(x'c3b6c39f', x'c39f')", "instr(NULL, 'a')", "instr(1234, 3)"),
        *(
            "replace('abcabc', 'b', 'ü')",
            "replace('a', NULL, 'b')",
            "trim('xaxx', 'x')",
            "ltrim('xaxx', 'x')",
        ),
        *("rtrim('xaxx', 'x')", "trim('  a ')", """json_patch('{"a":1}', '{"b":2}')"""),
    ):
        text = query.format(call, call)
        [(expected,)] = sqlite3.connect(":memory:").execute(text)
        assert rows(text.encode(), dtypes.string) == [b"" if expected is None else expected.encode()], call


LIMITED = """
import resource, sys
from tensorfleet.core import dtypes, errors
from tensorfleet_service.data import sql
from tests.data.test_sql_rows import rows

sql._MAX_MEMORY = 1 << 22
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # and so that nothing is written
for query in sys.argv[1:]:
    try:
        rows(query.encode())
    except errors.ResourceExhaustedError as e:
        print(e.message)
"""


def test_the_memory_of_queries_has_an_end() -> None:
    """Also where a query of a kilobyte expands before it begins, and without temporary files."""
    counted = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000)"
    in_order = f"{counted} SELECT x FROM (SELECT x, zeroblob(1 << 18) AS y FROM n ORDER BY y)"
    tables = [f"t{i + 1} AS (SELECT a.x FROM t{i} a, t{i} b)" for i in range(26)]
    nested = f"WITH t0 AS (SELECT 1 AS x), {', '.join(tables)} SELECT x FROM t26"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, in_order, nested],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.count("more than 4194304 bytes") == 2, done.stdout
