"""Initializers that restore variables, beside TensorFlow's: from its checkpoint, whole or by vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf
from tensorfleet.graph.apply import apply_op
from tensorfleet_service.local_cluster import LocalCluster

tensorflow.disable_v2_behavior()

MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3) + 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of TensorFlow's, and vocabularies."""
    path = tmp_path_factory.mktemp("warm")
    with tensorflow.Graph().as_default(), tensorflow.Session() as session:
        tensorflow.get_variable("net/table", initializer=MATRIX)
        tensorflow.get_variable("net/bias", initializer=np.float32([7, 8]))
        tensorflow.get_variable("old", initializer=np.float32(5))
        tensorflow.get_variable("counts", initializer=np.arange(4))
        partitioner = tensorflow.fixed_size_partitioner(3)
        with tensorflow.variable_scope("", partitioner=partitioner):
            parts = list(tensorflow.get_variable("parts", [4, 3]))
        session.run(tensorflow.global_variables_initializer())
        for part, value in zip(parts, np.split(2 * MATRIX, [2, 3]), strict=True):
            session.run(part.assign(value))
        tensorflow.train.Saver().save(session, str(path / "model"))
    (path / "old").write_text("c\na\nx\ny\n")
    (path / "old3").write_text("c\na\nx\n")
    (path / "new").write_text("a\nb\nc\nd\ne\n")
    (path / "twice").write_text("a\na\n")
    return path


VARIABLES = """
with t.variable_scope("net"):
    table = t.get_variable("table", [4, 3])
    bias = t.get_variable("bias", [2], trainable=False)
"""
NEW = 't.get_variable("net/new", [6, 3], initializer=t.ones_initializer())'
WIDE = 't.get_variable("net/wide", [4, 5], initializer=t.ones_initializer())'
SPLIT = "partitioner=t.fixed_size_partitioner({})"

INIT = (
    't.train.init_from_checkpoint(path, {"net/table": "net/table"})',
    't.train.init_from_checkpoint(folder, {"net/table": table})',
    't.train.init_from_checkpoint(path, {"net/": "net/"})',
    't.train.init_from_checkpoint(path, {"/": "/"})',
    't.train.init_from_checkpoint(path, {"net": "net"})',
    't.train.init_from_checkpoint(path, {"net/": "net"})',
    't.train.init_from_checkpoint(path, {"not": table})',
    't.train.init_from_checkpoint(path, {"net/bias": table})',
    't.train.init_from_checkpoint(path, {"net/table": "not"})',
    't.train.init_from_checkpoint(path, {"old/": "net/"})',
    't.train.init_from_checkpoint(path + "not", {"old": "net/table"})',
    't.train.init_from_checkpoint(path, {"parts": "net/table"})',
    't.get_variable("p", [4, 3], partitioner=t.fixed_size_partitioner(2));'
    't.train.init_from_checkpoint(path, {"parts": "p"})',
    'p = t.get_variable("p", [4, 3], partitioner=t.fixed_size_partitioner(2));'
    't.train.init_from_checkpoint(path, {"parts": list(p)})',
    'p = t.get_variable("x/parts", [4, 3], partitioner=t.fixed_size_partitioner(2));'
    't.train.init_from_checkpoint(path, {"/": "x/"})',
    't.get_variable("r", [4, 3], use_resource=True); t.train.init_from_checkpoint(path, {"parts": "r"})',
    "t.train.warm_start(path)",
    "t.train.warm_start(folder)",
    't.train.warm_start(path, "net/t.*")',
    't.train.warm_start(path, ["net/b.*"])',
    "t.train.warm_start(path, [bias])",
    "t.train.warm_start(path, [bias, 'net/table'])",
    "t.train.warm_start(path, 3)",
    't.get_variable("p", [4, 3], partitioner=t.fixed_size_partitioner(2));'
    't.train.warm_start(path, var_name_to_prev_var_name={"p": "parts"})',
    't.train.warm_start(path, var_name_to_prev_var_name={"net/table": "parts"})',
    't.train.warm_start(path, var_name_to_prev_var_name={"net/tabel": "parts"})',
    't.train.warm_start(path, var_name_to_prev_var_name={"net/table": "not"})',
    f'{NEW}; t.train.warm_start(path, "net/new", {{"net/new": t.train.VocabInfo(new, 5, 1, old)}},'
    '{"net/new": "net/table"})',
    f'{NEW}; t.train.warm_start(path, None, {{"net/new": t.train.VocabInfo(new, 5, 1, old, 1)}},'
    '{"net/new": "net/table"})',
    f'{NEW}; t.train.warm_start(path, None, {{"net/new": t.train.VocabInfo(new, 4, 2, old, 3,'
    't.random_uniform_initializer(9.0, 9.0))}, {"net/new": "net/table"})',
    f'{NEW}; t.train.warm_start(path, None, {{"net/new": t.train.VocabInfo(new, 4, 1, old)}},'
    '{"net/new": "net/table"})',
    f'{NEW}; t.train.warm_start(path, None, {{"net/other": t.train.VocabInfo(new, 5, 1, old)}})',
    't.get_variable("net/new", [6, 3], partitioner=t.fixed_size_partitioner(3));'
    't.train.warm_start(path, None, {"net/new": t.train.VocabInfo(new, 5, 1, old)}, {"net/new": "parts"})',
    't.get_variable("net/new", [6, 3], use_resource=True);'
    't.train.warm_start(path, None, {"net/new": t.train.VocabInfo(new, 5, 1, old)}, {"net/new": "parts"})',
    f'{WIDE}; t.train.warm_start(path, None, {{"net/wide": t.train.VocabInfo(new, 4, 1, old3, axis=1)}},'
    '{"net/wide": "net/table"})',
    "t.train.VocabInfo(new, 5, 1, old, axis=2)",
)


def _initialized(t: Any, program: str, folder: Path, target: str = "", device: Any = None) -> Any:
    names = {"t": t, "np": np, "path": str(folder / "model"), "folder": str(folder)}
    names |= {name: str(folder / name) for name in ("old", "old3", "new")}
    with t.Graph().as_default(), t.device(device), t.Session(target) as session:
        t.set_random_seed(3)
        try:
            exec(VARIABLES + program, names)
            session.run(t.global_variables_initializer())
            return {v.name: session.run(v) for v in t.global_variables()}
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("program", INIT)
def test_the_same_initial_values(program: str, folder: Path) -> None:
    theirs, ours = _initialized(tensorflow, program, folder), _initialized(tf, program, folder)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    assert ours.keys() == theirs.keys()
    restored = 0
    for name, value in theirs.items():
        if name == "net/bias:0" and set(value) != {7, 8}:
            continue  # random numbers of other streams
        if np.abs(value).max() < 1 and np.abs(value).min() > 0:
            assert 0 < np.abs(ours[name]).max() < 1
            continue
        np.testing.assert_array_equal(ours[name], value)
        restored += 1
    assert restored


def test_variables_on_a_ps_are_warm_started_there(folder: Path) -> None:
    program = next(p for p in INIT if "fixed_size_partitioner(3)" in p)
    expected = _initialized(tensorflow, program, folder)
    with LocalCluster({"ps": 2, "worker": 1}) as cluster:
        device = tf.train.replica_device_setter(2)
        found = _initialized(tf, program, folder, cluster.target, device)
    parts = [name for name in expected if "part_" in name]
    assert len(parts) == 3
    for name in parts:
        np.testing.assert_array_equal(found[name], expected[name])


def _made(t: Any, op_type: str, *inputs: Any, **attrs: Any) -> Any:
    """The values and static shapes of an op's outputs, or the error's class."""
    with t.Graph().as_default(), t.Session() as session:
        try:
            if t is tf:
                outputs = apply_op(op_type, *map(tf.convert_to_tensor, inputs), **attrs)
            else:
                raw = getattr(tensorflow.raw_ops, op_type)
                parameters = [name for name in raw.__signature__.parameters if name not in attrs]
                outputs = raw(**dict(zip(parameters, inputs, strict=False)), **attrs)
            outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            return [
                (str(o.shape), v.dtype, v.tolist())
                for o, v in zip(outputs, session.run(outputs), strict=True)
            ]
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize(
    ("new", "old", "attrs"),
    [
        ("new", "old", {}),
        ("new", "old", {"num_new_vocab": 2}),
        ("new", "old", {"new_vocab_offset": 2, "num_new_vocab": 2}),
        ("new", "old", {"new_vocab_offset": 2, "num_new_vocab": 4}),
        ("new", "old", {"old_vocab_size": 1}),
        ("new", "old", {"old_vocab_size": 9}),
        ("new", "old", {"num_new_vocab": 0}),
        ("new", "twice", {}),
        ("twice", "new", {"num_new_vocab": 2}),
        ("not", "old", {}),
    ],
)
def test_the_places_of_words(new: str, old: str, attrs: dict[str, int], folder: Path) -> None:
    given = {"new_vocab_offset": 0, "num_new_vocab": 5, "old_vocab_size": -1, **attrs}
    inputs = str(folder / new), str(folder / old)
    theirs = _made(tensorflow, "GenerateVocabRemapping", *inputs, **given)
    # Of a word that is there twice TensorFlow says it is a failed precondition.
    expected = "InvalidArgumentError" if old == "twice" else theirs
    assert _made(tf, "GenerateVocabRemapping", *inputs, **given) == expected


@pytest.mark.parametrize(
    ("rows", "columns", "values", "attrs"),
    [
        ([0, 2], [], [], {}),
        ([1, -1], [], [], {}),
        ([1, -1], [], [7, 8, 9], {}),
        ([1, -1], [], [7, 8, 9, 10], {}),
        ([0, 2], [2, 0], [], {"num_cols": 2}),
        ([0, 2], [2, -1], [7, 8], {"num_cols": 2}),
        ([3, -1], [2, -1, 0], [1, 2, 3, 4], {}),
        ([3, -1], [2, -1, 0], [1, 2, 3, 4], {"max_rows_in_memory": 1}),
        ([0, 3], [], [], {"max_rows_in_memory": 2}),
        ([0, 2], [], [], {"num_rows": 3}),
        ([0, 2], [], [], {"num_cols": 2}),
        ([], [], [], {"num_rows": 0}),
        ([-2, 0], [], [7, 8, 9], {}),
        ([0, 2], [], [], {"name": "not"}),
        ([0, 2], [], [], {"name": "counts"}),
        ([0, 2], [], [], {"name": "net/bias"}),
        ([0, 2], [], [], {"path": "not"}),
        ([0, 3], [], [], {"name": "parts"}),
    ],
)
def test_rows_and_columns_of_a_checkpoint(
    rows: list[int], columns: list[int], values: list[float], attrs: dict[str, Any], folder: Path
) -> None:
    given = {"num_rows": 2, "num_cols": 3, "max_rows_in_memory": -1, **attrs}
    inputs = (
        str(folder / given.pop("path", "model")),
        given.pop("name", "net/table"),
        np.array(rows, np.int64),
        np.array(columns, np.int64),
        np.array(values, np.float32),
    )
    expected = _made(tensorflow, "LoadAndRemapMatrix", *inputs, **given)
    found = _made(tf, "LoadAndRemapMatrix", *inputs, **given)
    # Static shapes that do not fit are found while the graph is built here.
    assert found == ("ValueError" if given["num_rows"] != len(rows) else expected)
