"""Lookup tables and hashes of strings beside TensorFlow's: values, graphs, checkpoints, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow
from tensorflow.python.ops import lookup_ops

import tensorfleet as tf
from tensorfleet.contrib import lookup
from tensorfleet_service.local_cluster import LocalCluster

THEIRS = lookup_ops
THEIRS.MutableDenseHashTable = lookup_ops.DenseHashTable
Build = Callable[[Any, Any, Path], Any]


def _static(keys: Any, values: Any, default: Any, asked: Any) -> Build:
    def build(t: Any, _: Any, __: Path) -> Any:
        init = t.lookup.KeyValueTensorInitializer(keys, values)
        table = t.lookup.StaticHashTable(init, default)
        return [table.lookup(t.constant(asked)), table.size()]

    return build


def _file(name: str, key: int, value: int, asked: Any, **options: Any) -> Build:
    def build(t: Any, _: Any, folder: Path) -> Any:
        init = t.lookup.TextFileInitializer(str(folder / name), t.string, key, t.int64, value, **options)
        return t.lookup.StaticHashTable(init, -1).lookup(t.constant(asked))

    return build


def _changed(make: Callable[[Any, Any], Any], keys: Any, values: Any, asked: Any) -> Build:
    def build(t: Any, module: Any, _: Path) -> Any:
        table = make(t, module)
        with t.control_dependencies([table.insert(t.constant(keys), t.constant(values))]):
            size = table.size()
        with t.control_dependencies([size]):
            found = table.lookup(t.constant(asked))
        with t.control_dependencies([found]):
            removed = table.remove(t.constant(keys[:1]))
        with t.control_dependencies([removed]):
            return [found, size, table.size()]

    return build


I64 = np.int64
LENGTHS = (8, 16, 17, 33, 64, 65, 128, 1000)
WORDS = ["", "a", "Hello", "emerson", "lake", "and palmer", *("x" * n for n in LENGTHS)]
CASES: dict[str, Build] = {
    "string to int32": _static(["a", "b"], [1, 2], -1, ["b", "q"]),
    "int64 to float": _static(np.array([1, 2], I64), [1.5, 2.5], -1.0, np.array([[1], [5]], I64)),
    "string to string": _static(["a"], ["x"], "none", ["a", "b"]),
    "string to bool": _static(["a"], [True], False, "a"),
    "two values": _static(["a", "a"], [1, 2], -1, ["a"]),
    "lines": _file("words", -2, -1, ["x", "y", "z"]),
    "columns": _file("columns", 0, 1, ["a", "b", "z"]),
    "some lines": _file("columns", 0, 1, ["a", "c"], vocab_size=2),
    "too few lines": _file("columns", 0, 1, ["a", "c"], vocab_size=9),
    "a line twice": _file("twice", -2, -1, ["a"]),
    "no file": _file("nowhere", -2, -1, ["a"]),
    "no such column": _file("columns", 0, 3, ["a"]),
    "no number": _file("columns", 1, 0, ["a"]),
    "an offset": _file("words", -2, -1, ["x", "y"], value_index_offset=10),
    "numbers to words": lambda t, m, folder: m.index_to_string_table_from_file(str(folder / "words")).lookup(
        t.constant([0, 1, 5], t.int64)
    ),
    "places of words": lambda t, m, _: m.index_table_from_tensor(["a", "b"]).lookup(t.constant(["b", "c"])),
    "buckets": lambda t, m, _: m.index_table_from_tensor(["a", "b"], num_oov_buckets=50).lookup(
        t.constant(WORDS)
    ),
    "buckets of numbers": lambda t, m, _: m.index_table_from_tensor(
        np.array([5, 6], I64), num_oov_buckets=50, dtype=t.int64
    ).lookup(t.constant([5, 77, 8], t.int64)),
    "buckets with a key": lambda t, m, _: m.index_table_from_tensor(
        ["a"], num_oov_buckets=50, hasher_spec=m.StrongHashSpec((1, 2))
    ).lookup(t.constant(WORDS)),
    "words at places": lambda t, m, _: m.index_to_string_table_from_tensor(["a", "b"]).lookup(
        t.constant([1, 7], t.int64)
    ),
    "rows of a vocabulary": lambda t, m, folder: (
        t.lookup.StaticVocabularyTable(
            t.lookup.KeyValueTensorInitializer(["a", "b"], t.constant([0, 1], t.int64)), 3
        )
        .lookup(t.ragged.constant([["b", "x"], [], ["a"]]))
        .to_tensor(-1)
    ),
    "rows of a table": lambda t, m, folder: (
        t.lookup.StaticHashTable(t.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        .lookup(t.ragged.constant([["b"], ["x", "a"], []]))
        .to_tensor(-2)
    ),
    "a vocabulary": lambda t, m, folder: t.lookup.StaticVocabularyTable(
        t.lookup.TextFileInitializer(str(folder / "words"), t.string, -2, t.int64, -1), 3
    ).lookup(t.constant(WORDS)),
    "changed": _changed(
        lambda t, m: m.MutableHashTable(t.string, t.int64, -1), ["a", "b"], np.array([1, 2], I64), ["b", "c"]
    ),
    "changed rows": _changed(
        lambda t, m: m.MutableHashTable(t.string, t.float32, [-1.0, -1.0]),
        ["a", "b"],
        np.ones((2, 2), np.float32),
        ["b", "c"],
    ),
    "wrong values": _changed(
        lambda t, m: m.MutableHashTable(t.string, t.int64, -1), ["a"], np.array([1, 2], I64), ["b"]
    ),
    "dense": _changed(
        lambda t, m: m.MutableDenseHashTable(t.int64, t.int64, -1, 0, -2),
        np.array([1, 3], I64),
        np.array([5, 6], I64),
        np.array([3, 4], I64),
    ),
    "dense, with the empty key": _changed(
        lambda t, m: m.MutableDenseHashTable(t.int64, t.int64, -1, 0, -2),
        np.array([0], I64),
        np.array([5], I64),
        np.array([3], I64),
    ),
    "dense, with equal keys": _changed(
        lambda t, m: m.MutableDenseHashTable(t.int64, t.int64, -1, 0, 0),
        np.array([1], I64),
        np.array([5], I64),
        np.array([3], I64),
    ),
    "dense, of three buckets": _changed(
        lambda t, m: m.MutableDenseHashTable(t.int64, t.int64, -1, 0, -2, initial_num_buckets=3),
        np.array([1], I64),
        np.array([5], I64),
        np.array([3], I64),
    ),
    "hashes": lambda t, _, __: [
        t.string_to_hash_bucket_fast(WORDS, (1 << 62) + 1),
        t.string_to_hash_bucket(WORDS, (1 << 62) + 1),
        t.string_to_hash_bucket_strong(WORDS, (1 << 62) + 1, [3, -4]),
        t.fingerprint(WORDS),
        t.fingerprint(np.arange(12, dtype=np.int32).reshape(3, 4)),
        t.fingerprint(np.array([["a", "b"], ["", "c"]])),
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words").write_text("x\ny\n")
    (tmp_path / "columns").write_text("a\t5\nb\t6\nc\t7\n")
    (tmp_path / "twice").write_text("a\na\n")
    return tmp_path


def _outcome(t: Any, module: Any, build: Build, folder: Path) -> Any:
    """The values of three steps, or the class of the error and its first line."""
    graph = t.Graph()
    with graph.as_default(), t.Session(graph=graph) as session:
        try:
            made = build(t, module, folder)
            session.run(t.tables_initializer())
            session.run(t.tables_initializer())
            return [session.run(made) for _ in range(3)]
        except t.errors.OpError as error:
            text = str(error).split("\nNode: ")[-1].removeprefix("\n")
            return type(error).__name__, re.sub(r"^'.*'\n", "", text).split("\n")[0]


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_tensorflow(case: str, folder: Path) -> None:
    ours = _outcome(tf, lookup, CASES[case], folder)
    theirs = _outcome(tensorflow, THEIRS, CASES[case], folder)
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    for own, other in zip(ours, theirs, strict=True):
        own, other = (x if isinstance(x, list) else [x] for x in (own, other))
        for a, b in zip(own, other, strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize(
    "case", ["string to int32", "buckets", "numbers to words", "a vocabulary", "changed", "dense", "lines"]
)
def test_the_same_graph(case: str, folder: Path) -> None:
    def nodes(t: Any, module: Any) -> Any:
        with t.Graph().as_default() as graph:
            CASES[case](t, module, folder)
            made = []
            for node in graph.as_graph_def().node:
                shared = re.sub("[0-9a-f-]{36}", "", str(node.attr["shared_name"]))  # a random name
                made.append((node.name, node.op, list(node.input), shared))
            return made

    assert nodes(tf, lookup) == nodes(tensorflow, THEIRS)


def test_a_table_on_a_ps_is_shared_saved_and_restored(tmp_path: Path) -> None:
    def build() -> Any:
        with tf.device("/job:ps/task:0"):
            table = lookup.MutableHashTable(tf.string, tf.int64, -1, shared_name="counts", name="counts")
        with tf.device("/job:worker/task:0"):
            found = table.lookup(tf.constant(["a", "b"]))
        insert = table.insert(tf.constant(["a"]), tf.constant([7], tf.int64))
        return insert, found + 0, tf.train.Saver()

    path = str(tmp_path / "model")
    with LocalCluster({"ps": 1, "worker": 1}) as cluster:
        with tf.Graph().as_default():
            insert, _, saver = build()
            with tf.Session(cluster.target) as session:
                session.run(insert)
                saver.save(session, path)
        with tf.Graph().as_default(), tf.Session(cluster.target) as session:
            assert session.run(build()[1]).tolist() == [7, -1]
        with tf.Graph().as_default():
            _, found, saver = build()
            with tf.Session(cluster.target) as session:
                tf.Session.reset(cluster.target)
            with tf.Session(cluster.target) as session:
                assert session.run(found).tolist() == [-1, -1]
                saver.restore(session, path)
                assert session.run(found).tolist() == [7, -1]
    assert dict(tensorflow.train.list_variables(path)) == {"counts-keys": [1], "counts-values": [1]}


def test_another_content_is_refused(tmp_path: Path) -> None:
    """A table of a name that has another content already."""
    with LocalCluster({"worker": 1}) as cluster:
        _check_contents(cluster, tmp_path)


def _check_contents(cluster: LocalCluster, tmp_path: Path) -> None:
    for content, fits in (("a\nb\n", True), ("a\nb\n", True), ("b\na\n", False)):
        (tmp_path / "words").write_text(content)
        with tf.Graph().as_default(), tf.Session(cluster.target) as session:
            table = lookup.index_table_from_file(str(tmp_path / "words"))
            if fits:
                session.run(table.init)
                assert session.run(table.lookup(tf.constant(["b"]))) == [1]
            else:
                with pytest.raises(tf.errors.FailedPreconditionError, match="with different data"):
                    session.run(table.init)
