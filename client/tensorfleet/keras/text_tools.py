"""Functions of `tf.keras.preprocessing.text`: texts as numbers of words."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from typing import Any

import numpy as np

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    text: str, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text, without the characters of `filters`."""
    if lower:
        text = text.lower()
    return [word for word in text.translate({ord(c): split for c in filters}).split(split) if word]


def hashing_trick(
    text: str,
    n: int,
    hash_function: Any = None,
    filters: str = _FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """A number from 1 to n - 1 for each word, by a hash: Python's by default, or "md5"."""
    if hash_function is None:
        hash_function = hash
    elif hash_function == "md5":

        def hash_function(word: str) -> int:
            return int(hashlib.md5(word.encode()).hexdigest(), 16)

    words = text_to_word_sequence(text, filters, lower, split)
    return [hash_function(word) % (n - 1) + 1 for word in words]


def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """A number for each word, by Python's hash."""
    return hashing_trick(text, n, None, filters, lower, split)


class Tokenizer:
    """Numbers for words, the most frequent first (`tf.keras.preprocessing.text.Tokenizer`).

    Args:
        num_words: how many numbers are used, the others are left out.
        filters: characters that are no part of words.
        char_level: whether each character is a word.
        oov_token: the word that stands for those that are not known.

    Example:
        >>> tokenizer = tf.keras.preprocessing.text.Tokenizer()
        >>> tokenizer.fit_on_texts(["a b b", "b c"])
        >>> tokenizer.texts_to_sequences(["b a"])
        [[1, 2]]
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: Any = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.word_counts: Counter[Any] = Counter()
        self.word_docs: dict[Any, int] = defaultdict(int)
        self.index_docs: dict[int, int] = defaultdict(int)
        self.word_index: dict[Any, int] = {}
        self.index_word: dict[int, Any] = {}
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count

    def _words(self, text: Any) -> Any:
        if isinstance(text, list):
            return [word.lower() for word in text] if self.lower else text
        if self.char_level:
            return list(text.lower() if self.lower else text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Any) -> None:
        """Counts the words of texts, and numbers them."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            self.word_counts.update(words)
            for word in set(words):
                self.word_docs[word] += 1
        # Words of equal counts keep the order in which they were met.
        ordered = [word for word, _ in sorted(self.word_counts.items(), key=lambda item: -item[1])]
        if self.oov_token is not None:
            ordered.insert(0, self.oov_token)
        self.word_index = {word: i for i, word in enumerate(ordered, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Counts the numbers of sequences."""
        for sequence in sequences:
            self.document_count += 1
            for number in set(sequence):
                self.index_docs[number] += 1

    def texts_to_sequences(self, texts: Any) -> list[list[int]]:
        """The numbers of the words of texts."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Any) -> Any:
        """The numbers of the words of texts, text by text."""
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            found = []
            for word in self._words(text):
                number = self.word_index.get(word)
                if number is not None and (not self.num_words or number < self.num_words):
                    found.append(number)
                elif unknown is not None:
                    found.append(unknown)
            yield found

    def sequences_to_texts(self, sequences: Any) -> list[str]:
        """The words of numbers, joined by spaces."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Any) -> Any:
        """The words of numbers, sequence by sequence."""
        unknown = self.word_index.get(self.oov_token)
        for sequence in sequences:
            words = []
            for number in sequence:
                word = self.index_word.get(number)
                if word is not None and (not self.num_words or number < self.num_words):
                    words.append(word)
                elif unknown is not None:
                    words.append(self.index_word[unknown])
            yield " ".join(words)

    def texts_to_matrix(self, texts: Any, mode: str = "binary") -> Any:
        """A row for each text, a column for each word: see `sequences_to_matrix`."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Any:
        """A row for each sequence, a column for each number.

        Args:
            mode: "binary", "count", "freq" (relative counts) or "tfidf".
        """
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError("Unknown vectorization mode:", mode)
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        width = self.num_words or len(self.word_index) + 1
        rows = np.zeros((len(sequences), width))
        for row, sequence in zip(rows, sequences, strict=True):
            counts = Counter(number for number in sequence if number < width)
            for number, count in counts.items():
                if mode == "binary":
                    row[number] = 1
                elif mode == "count":
                    row[number] = count
                elif mode == "freq":
                    row[number] = count / len(sequence)
                else:
                    inverse = np.log(1 + self.document_count / (1 + self.index_docs.get(number, 0)))
                    row[number] = (1 + np.log(count)) * inverse
        return rows

    def get_config(self) -> dict[str, Any]:
        """The settings, and what was counted, in JSON."""
        return {
            "num_words": self.num_words,
            "filters": self.filters,
            "lower": self.lower,
            "split": self.split,
            "char_level": self.char_level,
            "oov_token": self.oov_token,
            "document_count": self.document_count,
            "word_counts": json.dumps(self.word_counts),
            "word_docs": json.dumps(self.word_docs),
            "index_docs": json.dumps(self.index_docs),
            "index_word": json.dumps(self.index_word),
            "word_index": json.dumps(self.word_index),
        }

    def to_json(self, **kwargs: Any) -> str:
        """The settings, and what was counted, as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer of `Tokenizer.to_json`."""
    config = json.loads(json_string)["config"]
    held = {
        name: json.loads(config.pop(name))
        for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    made = Tokenizer(**config)
    made.word_counts, made.word_docs = Counter(held["word_counts"]), held["word_docs"]
    made.index_docs = {int(k): v for k, v in held["index_docs"].items()}
    made.index_word = {int(k): v for k, v in held["index_word"].items()}
    made.word_index = held["word_index"]
    return made
