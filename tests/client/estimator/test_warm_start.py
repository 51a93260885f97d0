"""Warm starts: of estimators, and tf.train.warm_start with vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.client.estimator import models

OLD = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """Rows for the words a, b, c and one bucket; a bias."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("words", initializer=OLD)
        tf.get_variable("bias", initializer=np.float32([5, 6]))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "old"))
    (tmp_path / "old.txt").write_text("a\nb\nc\n")
    (tmp_path / "new.txt").write_text("c\nz\na\n")
    return str(path)


def initialized(*variables: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(variable) for variable in variables]


def test_variables_by_expression_name_and_object(checkpoint: str) -> None:
    words = tf.get_variable("words", [4, 2])
    bias = tf.get_variable("bias", [2])
    other = tf.get_variable("other", [2], initializer=tf.ones_initializer(), trainable=False)
    tf.train.warm_start(checkpoint)
    values = initialized(words, bias, other)
    np.testing.assert_array_equal(values[0], OLD)
    assert [value.tolist() for value in values[1:]] == [[5, 6], [1, 1]]


@pytest.mark.parametrize("by", ["name", "variable"])
def test_other_names(by: str, checkpoint: str) -> None:
    other = tf.get_variable("other", [2], trainable=False)
    left = tf.get_variable("bias", [2], initializer=tf.zeros_initializer())
    chosen = ["other"] if by == "name" else [other]
    tf.train.warm_start(checkpoint, chosen, var_name_to_prev_var_name={"other": "bias"})
    assert [value.tolist() for value in initialized(other, left)] == [[5, 6], [0, 0]]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_move_with_their_words(parts: int, axis: int, checkpoint: str, tmp_path: Path) -> None:
    info = tf.train.VocabInfo(
        new_vocab=str(tmp_path / "new.txt"),
        new_vocab_size=3,
        num_oov_buckets=1,
        old_vocab=str(tmp_path / "old.txt"),
        backup_initializer=tf.constant_initializer(9.0),
        axis=axis,
    )
    expected = np.stack([OLD[2], [9, 9], OLD[0], [9, 9]])
    shape = [4, 2]
    if axis:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable("words", initializer=OLD.T)
            session.run(tf.global_variables_initializer())
            checkpoint = tf.train.Saver().save(session, str(tmp_path / "turned"))
        expected, shape = expected.T, [2, 4]
    partitioner = tf.fixed_size_partitioner(parts) if parts > 1 else None
    words = tf.get_variable("words", shape, partitioner=partitioner)
    tf.train.warm_start(checkpoint, None, var_name_to_vocab_info={"words": info})
    (value,) = initialized(tf.convert_to_tensor(words))
    np.testing.assert_array_equal(value, expected)


def test_what_does_not_fit(checkpoint: str, tmp_path: Path) -> None:
    tf.get_variable("bias", [3])
    with pytest.raises(ValueError, match="Shape of variable bias:0"):
        tf.train.warm_start(checkpoint)
    with tf.Graph().as_default():
        tf.get_variable("unknown", [3])
        with pytest.raises(ValueError, match="Tensor unknown is not found"):
            tf.train.warm_start(checkpoint)
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="var_name_to_prev_var_name"):
            tf.train.warm_start(checkpoint, var_name_to_prev_var_name={"nope": "bias"})
        tf.get_variable("words", [7, 2])
        info = tf.train.VocabInfo(str(tmp_path / "new.txt"), 3, 1, str(tmp_path / "old.txt"))
        with pytest.raises(ValueError, match="has 7 entries along dimension 0, but its vocabulary"):
            tf.train.warm_start(checkpoint, None, var_name_to_vocab_info={"words": info})


def make(folder: Path, **options: Any) -> Any:
    return tf.estimator.Estimator(models.linear, str(folder), params={"rate": 0.0}, **options)


@pytest.mark.parametrize("source", ["directory", "checkpoint", "settings", "saved model"])
def test_estimators_begin_with_what_others_have_learned(source: str, tmp_path: Path) -> None:
    old = tf.estimator.Estimator(models.linear, str(tmp_path / "old")).train(models.train_fn, steps=5)
    given: Any = {
        "directory": lambda: old.model_dir,
        "checkpoint": old.latest_checkpoint,
        "settings": lambda: tf.estimator.WarmStartSettings(old.model_dir, vars_to_warm_start=".*w"),
        "saved model": lambda: old.export_saved_model(str(tmp_path / "e"), models.serving_fn),
    }[source]()
    new = make(tmp_path / "new", warm_start_from=given).train(models.train_fn, steps=2)
    assert new.get_variable_value("line/w") == old.get_variable_value("line/w")
    learned = 0.0 if source == "settings" else old.get_variable_value("line/b")
    assert new.get_variable_value("line/b") == learned
    assert new.get_variable_value("global_step") == 2


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="MUST be set"):
        tf.estimator.WarmStartSettings("")
    with pytest.raises(ValueError, match="must be a string or a WarmStartSettings"):
        make(tmp_path, warm_start_from=3)
