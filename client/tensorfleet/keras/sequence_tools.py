"""Functions of `tf.keras.preprocessing.sequence`: sequences as arrays, and windows of series."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tensorfleet.keras.sequences import Sequence


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Sequences of one length, an array (n, maxlen, …).

    Args:
        maxlen: by default the length of the longest.
        padding, truncating: whether values are added, or dropped, at the beginning ("pre") or the end
        ("post").
        value: what is added.

    Example:
        >>> tf.keras.preprocessing.sequence.pad_sequences([[1, 2, 3], [4]], maxlen=2).tolist()
        [[2, 3], [0, 4]]
    """
    for name, given in (("padding", padding), ("truncating", truncating)):
        if given not in ("pre", "post"):
            raise ValueError(f'{name.capitalize()} type "{given}" not understood')
    for one in sequences:
        if not hasattr(one, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {one}")
    longest = max((len(one) for one in sequences), default=0) if maxlen is None else maxlen
    inner = next((np.asarray(one).shape[1:] for one in sequences if len(one)), ())
    result = np.full((len(sequences), longest, *inner), value, dtype=dtype)
    for row, one in zip(result, sequences, strict=True):
        if not len(one) or not longest:
            continue
        part = np.asarray(one[-longest:] if truncating == "pre" else one[:longest], dtype=dtype)
        if part.shape[1:] != inner:
            raise ValueError(
                f"Shape of sample {part.shape[1:]} of sequence is different from expected shape {inner}"
            )
        if padding == "post":
            row[: len(part)] = part
        else:
            row[-len(part) :] = part
    return result


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Any:
    """The probability to keep the i-th most frequent word, if words follow Zipf's law."""
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    frequency = 1.0 / (rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank))
    f = sampling_factor / frequency
    return np.minimum(1.0, f + np.sqrt(f))


def skipgrams(
    sequence: Any,
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[Any], list[Any]]:
    """Pairs of words that stand near each other, labelled 1, and pairs with random words, labelled 0.

    Args:
        sequence: numbers of words; 0 stands for no word.
        negative_samples: the number of random pairs for each true one.
        sampling_table: probabilities to keep words.
    """
    couples: list[list[int]] = []
    labels: list[Any] = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                couples.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [couple[0] for couple in couples]
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        chosen = random.randint(0, 10**6) if seed is None else seed
        random.Random(chosen).shuffle(couples)
        random.Random(chosen).shuffle(labels)
    return couples, labels


class TimeseriesGenerator(Sequence):
    """Batches of windows of a series, each with the target behind it
    (`tf.keras.preprocessing.sequence.TimeseriesGenerator`).

    Args:
        length: the number of steps of a window.
        sampling_rate: the distance of two steps within a window.
        stride: the distance of two windows.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while "
                f"target length is "
                f"{len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride = sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is "
                f"disallowed, as no part of "
                "the sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        count = self.end_index - self.start_index + 1
        return -(-count // (self.batch_size * self.stride))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            begin = self.start_index + self.batch_size * self.stride * index
            end = min(begin + self.batch_size * self.stride, self.end_index + 1)
            rows = np.arange(begin, end, self.stride)
        windows = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (windows[:, ::-1, ...] if self.reverse else windows), targets
