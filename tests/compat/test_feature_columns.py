"""`tf.feature_column` beside TensorFlow's: what is made, the variables' names, values, errors."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow
from tensorflow.python.feature_column import feature_column_v2

import tensorfleet as tf
from tensorfleet.feature_column.base import FeatureCache
from tensorfleet_service.local_cluster import LocalCluster
from tests.compat.feature_column_cases import MADE, RUN, SEQUENCES

tensorflow.disable_v2_behavior()


def _names(t: Any, words: Path) -> dict[str, Any]:
    """What the expressions of the cases are about."""
    fc = t.feature_column

    def sparse(indices: Any, values: Any, shape: Any) -> Any:
        return t.SparseTensor(indices, values, shape)

    def anything(indices: Any, values: Any, shape: Any) -> Any:
        places, sizes = (
            t.placeholder_with_default(np.array(part, np.int64), None) for part in (indices, shape)
        )
        return t.SparseTensor(places, values, sizes)

    def layer(features: Any, columns: Any, **options: Any) -> Any:
        held: dict[Any, Any] = {}
        tensors: dict[Any, Any] = {}
        made = fc.input_layer(features, columns, cols_to_vars=held, cols_to_output_tensors=tensors, **options)
        named = {column.name: tensor for column, tensor in tensors.items()}
        return made, _held(held), [named[name] for name in sorted(named)]

    def linear(features: Any, columns: Any, **options: Any) -> Any:
        held: dict[Any, Any] = {}
        return fc.linear_model(features, columns, cols_to_vars=held, **options), _held(held)

    def within(scope: AbstractContextManager[Any], build: Any) -> Any:
        with scope:
            return build()

    return {
        "tf": t,
        "fc": fc,
        "np": np,
        "N": fc.numeric_column,
        "B": fc.bucketized_column,
        "I": fc.categorical_column_with_identity,
        "H": fc.categorical_column_with_hash_bucket,
        "L": fc.categorical_column_with_vocabulary_list,
        "F": fc.categorical_column_with_vocabulary_file,
        "C": fc.crossed_column,
        "W": fc.weighted_categorical_column,
        "IND": fc.indicator_column,
        "EMB": fc.embedding_column,
        "SHARED": fc.shared_embedding_columns,
        "words": str(words),
        "sparse": sparse,
        "anything": anything,
        "layer": layer,
        "linear": linear,
        "within": within,
    }


def _held(found: dict[Any, Any]) -> dict[str, list[str]]:
    """The names of the variables of each column."""
    return {getattr(column, "name", column): [v.name for v in held] for column, held in found.items()}


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words"
    path.write_text("a\nb\nc\n")
    return path


def _made(t: Any, expression: str, words: Path) -> str:
    """What is made, as text; of an error its class."""
    with t.Graph().as_default():
        try:
            return repr(eval(expression, _names(t, words)))
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("expression", MADE)
def test_columns_are_made_the_same(expression: str, words: Path) -> None:
    theirs = _made(tensorflow, expression, words)
    # TensorFlow says dtypes as `<dtype: 'x'>` in some places; ours has the same texts.
    assert _made(tf, expression, words) == theirs


def _set(t: Any, session: Any) -> None:
    """Gives each variable values that follow from its name."""
    for variable in t.global_variables():
        seed = sum(variable.op.name.encode())
        value = np.random.RandomState(seed).uniform(-1, 1, variable.shape.as_list()).astype(np.float32)
        session.run(variable.assign(value))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _flat(each)]
    return [value]


def _outcome(t: Any, expression: str, words: Path) -> Any:
    with t.Graph().as_default() as graph, t.Session() as session:
        try:
            made = _flat(eval(expression, _names(t, words)))
            tensors = [each for each in made if not isinstance(each, dict)]
            session.run(t.tables_initializer())
            _set(t, session)
            values = session.run(tensors)
        except Exception as error:
            return type(error).__name__
        return {
            "names": [each.name for each in tensors],
            "values": values,
            "held": [each for each in made if isinstance(each, dict)],
            "variables": [(v.name, v.shape.as_list(), v.dtype.name) for v in t.global_variables()],
            "slices": [
                v._get_save_slice_info() and v._get_save_slice_info().spec for v in t.global_variables()
            ],
            # TensorFlow adds variables that it finds again to its collection once more.
            "collections": {
                key: list(dict.fromkeys(v.name for v in graph.get_collection(key)))
                for key in ("trainable_variables", "model_variables", "mine")
            },
        }


@pytest.mark.parametrize("expression", RUN)
def test_layers_give_the_same(expression: str, words: Path) -> None:
    theirs = _outcome(tensorflow, expression, words)
    ours = _outcome(tf, expression, words)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return
    for own, other in zip(ours.pop("values"), theirs.pop("values"), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)
        assert own.dtype == other.dtype
    assert ours == theirs


@pytest.mark.parametrize(("feature", "column"), SEQUENCES)
def test_sequences_are_the_same(feature: str, column: str, words: Path) -> None:
    """TensorFlow 2 has no `sequence_input_layer`: its columns are asked themselves."""

    def sequences(t: Any, cache: Any) -> Any:
        with t.Graph().as_default(), t.Session() as session:
            names = _names(t, words)
            made = eval(column, names)
            try:
                pair = made.get_sequence_dense_tensor(cache({"x": eval(feature, names)}), None)
                session.run(t.tables_initializer())
                return [(value.dtype, value.tolist()) for value in session.run(list(pair))]
            except Exception as error:
                return type(error).__name__

    theirs = sequences(tensorflow, feature_column_v2.FeatureTransformationCache)
    assert sequences(tf, FeatureCache) == theirs


def _model(t: Any, features: Any) -> Any:
    """A network and a linear function of the same features."""
    n = _names(t, Path())
    deep = [n["EMB"](n["I"]("x", 5), 2), *n["SHARED"]([n["H"]("a", 7), n["H"]("b", 7)], 3)]
    wide = [n["N"]("n"), n["C"](["a", "b"], 9), n["I"]("x", 5)]
    with t.variable_scope("dnn", partitioner=t.fixed_size_partitioner(2)):
        first = t.reduce_sum(t.feature_column.input_layer(features, deep), axis=1, keepdims=True)
    with t.variable_scope("linear"):
        return first + t.feature_column.linear_model(features, wide)


FEATURES = {"x": [0, 4, 2], "a": ["p", "q", "r"], "b": ["s", "p", "t"], "n": [1.0, -2.0, 0.5]}


@pytest.mark.parametrize(("writer", "reader"), [(tensorflow, tf), (tf, tensorflow)])
def test_a_model_goes_on_with_the_checkpoint_of_the_other_library(
    writer: Any, reader: Any, tmp_path: Path
) -> None:
    path = str(tmp_path / "model")
    with writer.Graph().as_default(), writer.Session() as session:
        made = _model(writer, FEATURES)
        _set(writer, session)
        expected = session.run(made)
        writer.train.Saver().save(session, path)
    with reader.Graph().as_default(), reader.Session() as session:
        made = _model(reader, FEATURES)
        reader.train.Saver().restore(session, path)
        np.testing.assert_allclose(session.run(made), expected, rtol=1e-5)


def _trained(t: Any, target: str, device: Any) -> list[float]:
    """The losses of ten steps."""
    with t.Graph().as_default(), t.Session(target) as session:
        with t.device(device):
            loss = t.reduce_mean(t.square(_model(t, FEATURES) - [[1.0], [2.0], [3.0]]))
            train = t.train.FtrlOptimizer(0.1).minimize(loss)
        session.run(t.global_variables_initializer())
        _set(t, session)
        return [session.run([loss, train])[0] for _ in range(10)]


def test_training_takes_the_same_way_with_the_variables_on_a_ps() -> None:
    expected = _trained(tensorflow, "", None)
    with LocalCluster({"ps": 1, "worker": 2}) as cluster:
        for task in range(2):
            device = tf.train.replica_device_setter(
                1, worker_device=f"/job:worker/task:{task}", ps_device="/job:ps"
            )
            np.testing.assert_allclose(_trained(tf, cluster.target, device), expected, rtol=1e-4)


def test_a_table_begins_with_what_a_checkpoint_of_tensorflow_has(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tensorflow.Graph().as_default(), tensorflow.Session() as session:
        table = tensorflow.get_variable("table", [5, 2], initializer=tensorflow.random_normal_initializer())
        session.run(table.initializer)
        value = session.run(table)
        tensorflow.train.Saver().save(session, path)

    def first_rows(t: Any, parts: int) -> Any:
        with t.Graph().as_default(), t.Session() as session:
            n = _names(t, Path())
            column = n["EMB"](n["I"]("x", 5), 2, ckpt_to_load_from=path, tensor_name_in_ckpt="table")
            with t.variable_scope("net", partitioner=t.fixed_size_partitioner(parts)):
                made = t.feature_column.input_layer({"x": [0, 3, 4]}, [column])
            session.run(t.global_variables_initializer())
            return session.run(made)

    for parts in (1, 2):
        np.testing.assert_array_equal(first_rows(tensorflow, parts), value[[0, 3, 4]])
        np.testing.assert_array_equal(first_rows(tf, parts), value[[0, 3, 4]])


def test_what_is_parsed_by_the_columns_spec(words: Path) -> None:
    """Examples of either library, parsed, give the same numbers."""

    def example(t: Any) -> bytes:
        feature = {
            "n": t.train.Feature(float_list=t.train.FloatList(value=[1.5])),
            "x": t.train.Feature(int64_list=t.train.Int64List(value=[1, 1, 2])),
            "w": t.train.Feature(float_list=t.train.FloatList(value=[0.5, 2.0, 3.0])),
            "a": t.train.Feature(bytes_list=t.train.BytesList(value=[b"b", b"q"])),
        }
        message = t.train.Example(features=t.train.Features(feature=feature))
        return bytes(message.SerializeToString(deterministic=True))

    def numbers(t: Any) -> Any:
        with t.Graph().as_default(), t.Session() as session:
            n = _names(t, words)
            columns = [
                n["N"]("n"),
                n["B"](n["N"]("n"), [1.0, 2.0]),
                n["IND"](n["W"](n["I"]("x", 3), "w")),
                n["IND"](n["F"]("a", str(words))),
            ]
            spec = t.feature_column.make_parse_example_spec(columns)
            features = t.io.parse_example([example(t)] * 2, spec)
            made = t.feature_column.input_layer(features, columns)
            session.run(t.tables_initializer())
            return session.run(made)

    assert example(tf) == example(tensorflow)
    np.testing.assert_array_equal(numbers(tf), numbers(tensorflow))
