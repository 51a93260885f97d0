"""Sequences, texts and arrays for models of tf.keras; data sets from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf

keras = tf.keras


def test_sequences_are_cut_and_padded() -> None:
    pad = keras.preprocessing.sequence.pad_sequences
    given = [[1], [1, 2, 3], []]
    assert pad(given).tolist() == [[0, 0, 1], [1, 2, 3], [0, 0, 0]]
    assert pad(given, 2, padding="post", truncating="post", value=9).tolist() == [[1, 9], [1, 2], [9, 9]]


def test_a_tokenizer_numbers_words_by_their_counts() -> None:
    tokenizer = keras.preprocessing.text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["The cat, the dog.", "the cat!", "a bird"])
    assert tokenizer.word_index == {"?": 1, "the": 2, "cat": 3, "dog": 4, "a": 5, "bird": 6}
    assert tokenizer.texts_to_sequences(["the dog saw the cat"]) == [[2, 1, 1, 2, 3]]
    assert tokenizer.texts_to_matrix(["the the cat"], mode="count").tolist() == [[0, 0, 2, 1]]
    again = keras.preprocessing.text.tokenizer_from_json(tokenizer.to_json())
    assert again.texts_to_sequences(["the bird"]) == [[2, 1]]


def test_windows_of_a_series() -> None:
    series = np.arange(10)
    windows = keras.preprocessing.sequence.TimeseriesGenerator(series, series, length=3, batch_size=4)
    x, y = windows[0]
    assert x.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert y.tolist() == [3, 4, 5, 6]
    assert len(windows) == 2


def test_arrays_of_classes_and_norms() -> None:
    assert keras.utils.to_categorical([[1], [0]], 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    np.testing.assert_allclose(
        keras.utils.normalize(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0, 0]]
    )


def test_data_sets_are_files_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="downloads nothing"):
        keras.datasets.mnist.load_data()
    (tmp_path / "datasets").mkdir()
    parts = {name: np.arange(3) for name in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(tmp_path / "datasets" / "mnist.npz", **parts)
    (x, _), _ = keras.datasets.mnist.load_data()
    assert x.tolist() == [0, 1, 2]
