"""Texts as rows of word numbers: `tf.contrib.learn.preprocessing.VocabularyProcessor`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tensorfleet.core.file_io import GFile

# A word: an abbreviation, a capitalized part of a compound, or a run of letters, digits, ' and -.
_WORDS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|['\w\-]+", re.UNICODE)
_FORMAT = "tensorfleet.VocabularyProcessor"


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text (`tf.contrib.learn.preprocessing.tokenizer`)."""
    for text in iterator:
        yield _WORDS.findall(text)


class CategoricalVocabulary:
    """Numbers of words, or of other categories, in the order in which they came
    (`tf.contrib.learn.preprocessing.CategoricalVocabulary`). 0 is the number of unknown ones.

    Args:
        unknown_token: what `reverse` gives for 0.
        support_reverse: whether `reverse` is used.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token, self._support_reverse = unknown_token, support_reverse
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._counts: Counter[Any] = Counter()
        self._frozen = False

    def __len__(self) -> int:
        """The number of words, with the unknown one."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Makes all further words unknown, or ends that."""
        self._frozen = freeze

    def get(self, category: Any) -> int:
        """The number of a word, a new one if it has none yet."""
        if category not in self._mapping and not self._frozen:
            self._mapping[category] = len(self._mapping)
        return self._mapping.get(category, 0)

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a word."""
        if self.get(category) > 0:
            self._counts[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps words that were counted more often than `min_frequency` and, if that is positive, less often
        than `max_frequency`. The most frequent gets the number 1."""
        ordered = sorted(self._counts.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        ordered.sort(key=lambda item: item[1], reverse=True)
        kept = [
            (word, count)
            for word, count in ordered
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._counts = Counter(dict(kept))
        self._mapping = {self._unknown_token: 0}
        self._mapping.update((word, number) for number, (word, _) in enumerate(kept, 1))

    def reverse(self, class_id: int) -> Any:
        """The word of a number.

        Raises:
            ValueError: the vocabulary was made without `support_reverse`.
        """
        if not self._support_reverse:
            raise ValueError("This vocabulary was made with support_reverse=False.")
        return list(self._mapping)[class_id]


class VocabularyProcessor:
    """Maps texts to rows of word numbers (`tf.contrib.learn.preprocessing.VocabularyProcessor`).

    Args:
        max_document_length: the length of rows; longer texts are cut, shorter ones filled with 0.
        min_frequency: words that occur more often than this have numbers.
        vocabulary: a vocabulary to use.
        tokenizer_fn: makes lists of words of an iterable of texts.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of texts, and freezes the vocabulary."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """`fit`, then `transform`."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """A row of word numbers for each text, int64 `[max_document_length]`."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in zip(range(self.max_document_length), words, strict=False):
                row[place] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """The words of rows, with blanks between them."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str) -> None:
        """Writes the vocabulary into a file, as JSON.

        TensorFlow pickles the object; a pickle from elsewhere can run any code, so there are none here.
        """
        vocabulary = self.vocabulary_
        content = {
            "format": _FORMAT,
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "words": list(vocabulary._mapping),
            "counts": list(vocabulary._counts.items()),
            "support_reverse": vocabulary._support_reverse,
            "frozen": vocabulary._frozen,
            "own_tokenizer": self._tokenizer is not tokenizer,
        }
        with GFile(filename, "w") as file:
            file.write(json.dumps(content))

    @classmethod
    def restore(cls, filename: str, tokenizer_fn: Callable[..., Any] | None = None) -> VocabularyProcessor:
        """A processor from a file that `save` wrote.

        Args:
            tokenizer_fn: needed if the processor had one, as functions are not saved.

        Raises:
            ValueError: the file is another, or `tokenizer_fn` is missing.
        """
        with GFile(filename, "rb") as file:
            data = file.read()
        try:
            content = json.loads(data)
            known = content["format"] == _FORMAT
        except (ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise ValueError(
                f"{filename} was not written by this VocabularyProcessor.save. Files of TensorFlow are "
                "pickles, which are not loaded: fit the processor on its texts again."
            )
        if content["own_tokenizer"] and tokenizer_fn is None:
            raise ValueError(f"{filename} was saved with a tokenizer of its own: give it as tokenizer_fn.")
        unknown, *words = content["words"]
        vocabulary = CategoricalVocabulary(unknown, content["support_reverse"])
        vocabulary._mapping.update((word, number) for number, word in enumerate(words, 1))
        vocabulary._counts = Counter(dict(content["counts"]))
        vocabulary.freeze(content["frozen"])
        return cls(content["max_document_length"], content["min_frequency"], vocabulary, tokenizer_fn)


class ByteProcessor:
    """Maps texts to rows of UTF-8, filled with 0 (`tf.contrib.learn.preprocessing.ByteProcessor`)."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> None:
        """Does nothing: there is nothing to learn."""

    def fit_transform(self, x: Iterable[Any]) -> Iterator[Any]:
        """`transform`."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[Any]:
        """A row of bytes for each text or bytes, uint8 `[max_document_length]`."""
        for text in x:
            data = (text.encode() if isinstance(text, str) else bytes(text))[: self.max_document_length]
            yield np.frombuffer(data.ljust(self.max_document_length, b"\0"), np.uint8)

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """The texts of rows; an empty one where the bytes are no UTF-8."""
        for row in x:
            try:
                yield np.asarray(row).astype(np.uint8).tobytes().rstrip(b"\0").decode()
            except UnicodeDecodeError:
                yield ""
