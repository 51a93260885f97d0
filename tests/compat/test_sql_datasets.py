"""Datasets of queries beside TensorFlow's own, and what a query may not do."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

ROWS = [(1, "x", 1.5, b"\0\1"), (2**40, None, None, None), (-3, "7", "zz", 5), (2, "3.7", 1e30, "é")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("sql") / "rows.db"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE t(a INTEGER, b TEXT, c REAL, d BLOB)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
        database.commit()
    return str(file)


def rows(tf: Any, path: str, query: str, types: Any, driver: str = "sqlite") -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        found = []
        try:
            dataset = tf.data.experimental.SqlDataset(driver, path, query, types(tf))
            element = tf.data.make_one_shot_iterator(dataset).get_next()
            while True:
                found.append(session.run(element))
        except tf.errors.OutOfRangeError:
            return found
        except tf.errors.OpError as error:
            return type(error).__name__


KINDS = ("string", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "float64")


@pytest.mark.parametrize("column", "abcd")
def test_values_are_converted_alike(column: str, path: str) -> None:
    query = f"SELECT {', '.join([column] * len(KINDS))} FROM t WHERE abs(ifnull({column}, 0)) < 1e18"
    ours, theirs = (
        rows(tf, path, query, lambda tf: tuple(getattr(tf, kind) for kind in KINDS)) for tf in (fleet, real)
    )
    assert len(theirs) >= 3
    np.testing.assert_equal(ours, theirs)
    assert [[x.dtype for x in row[1:]] for row in ours] == [[x.dtype for x in row[1:]] for row in theirs]


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("SELECT a, b FROM t", ["int64"]),
        ("SELECT a FROM t", ["int64", "int64"]),
        ("SELECT a FROM t", ["float32"]),
        ("SELECT zz FROM t", ["string"]),
        ("SELECT a FROM t WHERE a = 77", ["int32"]),
        ("DELETE FROM t", ["string"]),
        ("", ["string"]),
    ],
)
def test_queries(query: str, kinds: list[str], path: str) -> None:
    ours, theirs = (
        rows(tf, path, query, lambda tf: tuple(getattr(tf, kind) for kind in kinds)) for tf in (fleet, real)
    )
    assert ours == theirs


def test_one_column_alone(path: str) -> None:
    ours, theirs = (rows(tf, path, "SELECT a FROM t", lambda tf: tf.int64) for tf in (fleet, real))
    assert ours == theirs == [row[0] for row in ROWS]


def test_other_databases(path: str) -> None:
    for tf in (fleet, real):
        assert rows(tf, path, "SELECT 1", lambda tf: (tf.int32,), "mysql") == "InvalidArgumentError"
        assert rows(tf, __file__, "SELECT 1 FROM t", lambda tf: (tf.int32,)) in (
            "InvalidArgumentError",
            "UnknownError",
        )


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH DATABASE '{other}' AS other",
        "VACUUM INTO '{other}'",
        "CREATE TABLE u(x)",
        "UPDATE t SET a = 1",
        "PRAGMA journal_mode = WAL",
        "SELECT load_extension('{other}')",
        "SELECT writefile('{other}', 'x')",
        "SELECT zeroblob(1 << 40)",
    ],
)
def test_a_query_only_reads(query: str, path: str, tmp_path: Path) -> None:
    before = Path(path).read_bytes()
    found = rows(fleet, path, query.format(other=tmp_path / "other"), lambda tf: (tf.string,))
    assert found in ("InvalidArgumentError", "UnknownError")
    assert list(tmp_path.iterdir()) == []
    assert Path(path).read_bytes() == before
