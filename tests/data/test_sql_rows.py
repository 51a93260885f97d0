"""Queries that nobody waits for any more."""

from __future__ import annotations

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
