"""tf.contrib.learn.datasets and tf.contrib.learn.preprocessing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.records.idx import sample_dir

datasets, preprocessing = tf.contrib.learn.datasets, tf.contrib.learn.preprocessing
TEXTS = ["I'm a cat, a cat of NASA", "a dog-like CamelCase dog", "one cat"]


def test_words_have_numbers(tmp_path: Path) -> None:
    processor = preprocessing.VocabularyProcessor(4)
    rows = np.array(list(processor.fit_transform(TEXTS)))
    assert rows.tolist() == [[1, 2, 3, 2], [2, 6, 7, 8], [10, 3, 0, 0]]
    assert len(processor.vocabulary_) == 11
    assert next(processor.reverse(rows[:1])) == "I'm a cat a"
    assert next(processor.transform(["a bird"])).tolist() == [2, 0, 0, 0]
    processor.save(str(tmp_path / "vocabulary"))
    again = preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocabulary"))
    assert [row.tolist() for row in again.transform(TEXTS)] == rows.tolist()
    assert list(preprocessing.tokenizer(TEXTS[1:2])) == [["a", "dog-like", "Camel", "Case", "dog"]]


def test_frequent_words_come_first() -> None:
    processor = preprocessing.VocabularyProcessor(3, min_frequency=1)
    assert [row.tolist() for row in processor.fit_transform(TEXTS)] == [[0, 1, 2], [1, 0, 0], [0, 2, 0]]
    assert list(processor.reverse([[1, 2, 0]])) == ["a cat <UNK>"]


def test_a_tokenizer_is_given_again(tmp_path: Path) -> None:
    def letters(texts: list[str]) -> list[list[str]]:
        return [list(text) for text in texts]

    processor = preprocessing.VocabularyProcessor(2, tokenizer_fn=letters).fit(["ab"])
    processor.save(str(tmp_path / "letters"))
    with pytest.raises(ValueError, match="give it as tokenizer_fn"):
        preprocessing.VocabularyProcessor.restore(str(tmp_path / "letters"))
    again = preprocessing.VocabularyProcessor.restore(str(tmp_path / "letters"), letters)
    assert [row.tolist() for row in again.transform(["ba"])] == [[2, 1]]


@pytest.mark.parametrize("content", [b"\x80\x04\x95", b"[]", b'{"format": "x"}'])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match="pickles, which are not loaded"):
        preprocessing.VocabularyProcessor.restore(str(tmp_path / "other"))


def test_bytes() -> None:
    processor = preprocessing.ByteProcessor(4)
    rows = list(processor.fit_transform(["añ", "abcdef"]))
    assert [row.tolist() for row in rows] == [[97, 195, 177, 0], [97, 98, 99, 100]]
    assert list(processor.reverse(rows)) == ["añ", "abcd"]


def test_csv_files(tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text("2,3,a,b\n1,2,3,0\n4,5,6.5,2\n")
    found = datasets.load_iris(tmp_path / "iris.csv")
    np.testing.assert_array_equal(found.data, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])
    assert found.target.tolist() == [0, 2]
    assert found.target.dtype == np.int64
    (tmp_path / "plain.csv").write_text("1,2\n3,4\n")
    plain = datasets.base.load_csv_without_header(tmp_path / "plain.csv", np.int32, np.float32, 0)
    assert [plain.data.tolist(), plain.target.tolist()] == [[[2.0], [4.0]], [1, 3]]
    datasets.base.shrink_csv(str(tmp_path / "plain.csv"), 2)
    assert (tmp_path / "plain_small.csv").read_text() == "1,2\n"
    (tmp_path / "short.csv").write_text("3,1\n1,2\n")
    with pytest.raises(ValueError, match="the header says 3 rows of 1 features"):
        datasets.load_boston(tmp_path / "short.csv")
    with pytest.raises(ValueError, match=r"has no iris\.csv"):
        datasets.load_dataset("iris")
    with pytest.raises(ValueError, match="is not found: cars"):
        datasets.load_dataset("cars")


def test_mnist_from_its_files() -> None:
    found = datasets.mnist.read_data_sets(str(sample_dir()), one_hot=True, validation_size=100)
    assert found.train.images.shape == (900, 784)
    with pytest.raises(FileNotFoundError, match="Nothing is downloaded"):
        datasets.load_dataset("mnist")
