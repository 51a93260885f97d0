"""Kernels of `tensorfleet.ops.nn.candidate_sampling`, which draw TensorFlow's own classes for a seed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from tensorfleet.checkpoint.files import reported
from tensorfleet.core.files import Files
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid
from tensorfleet_service.state import philox
from tensorfleet_service.threads.running import check

_WORDS_PER_CLASS = 2048
"""Number of samples by which TensorFlow advances a stream for each class drawn, however many it took."""
_LEAST = float(np.finfo(np.float32).min)
_MAX_TRIES = 1 << 22
"""Limit on the draws for one batch: a sampler that hardly gives but a few classes would draw for ever."""


class _Words:
    """The 32-bit numbers of a stream in their order, and what TensorFlow's SimplePhilox makes of them."""

    def __init__(self, stream: philox.Stream) -> None:
        self._stream = stream
        self._size = 64
        self._next = self._words().__next__

    def _words(self) -> Iterator[int]:
        stream, size = self._stream, self._size
        while True:
            yield from stream.numbers(size).reshape(-1).tolist()
            stream = stream.skip(size)
            size = min(2 * size, 1 << 14)

    def float32(self) -> np.float32:
        """A number in [0, 1)."""
        bits = np.uint32((self._next() & 0x7FFFFF) | 127 << 23)
        return np.float32(bits.view(np.float32) - np.float32(1))

    def float64(self) -> float:
        """A number in [0, 1)."""
        high, low = self._next(), self._next()
        bits = np.uint64((high & 0xFFFFF) << 32 | low | 1023 << 52)
        return float(bits.view(np.float64)) - 1.0

    def below(self, limit: int, bits: int) -> int:
        """An integer in [0, limit), drawn with `bits` bits, 32 or 64, and without bias."""
        words = range(0, bits, 32)
        if limit & (limit - 1) == 0:
            return sum(self._next() << shift for shift in words) & (limit - 1)
        rejected = ((1 << bits) - 1) % limit + 1
        while (number := sum(self._next() << shift for shift in words)) < rejected:
            pass
        return number % limit


class _Sampler(Protocol):
    """A distribution over the classes [0, range), of which it gives `possible`."""

    range: int
    possible: int

    def draw(self, words: _Words) -> int: ...

    def probability(self, classes: Any) -> Any:
        """The probability of each class of an array, float32."""

    def update(self, classes: Any) -> None:
        """Learns from true classes."""


class _Uniform:
    def __init__(self, size: int) -> None:
        self.range = self.possible = size

    def draw(self, words: _Words) -> int:
        return words.below(self.range, 64)

    def probability(self, classes: Any) -> Any:
        return np.full(classes.shape, 1 / self.range, np.float32)

    def update(self, classes: Any) -> None:
        pass


class _LogUniform(_Uniform):
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._log_range = float(np.log1p(size))

    def draw(self, words: _Words) -> int:
        return (int(np.exp(words.float64() * self._log_range)) - 1) % self.range

    def probability(self, classes: Any) -> Any:
        values = classes.astype(np.float64)
        return (np.log((values + 2) / (values + 1)) / self._log_range).astype(np.float32)


class _Unigram(_Uniform):
    """Counts of true classes, plus one. Steps that run at the same time take turns."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._counts = np.ones(size, np.int64)
        self._sums: Any = None

    def draw(self, words: _Words) -> int:
        if self._sums is None:
            self._sums = np.cumsum(self._counts)
        return int(np.searchsorted(self._sums, words.below(int(self._sums[-1]), 32), "right"))

    def probability(self, classes: Any) -> Any:
        return self._counts[classes].astype(np.float32) / np.float32(self._counts.sum())

    def update(self, classes: Any) -> None:
        room = (1 << 31) - 2 - int(self._counts.sum())
        np.add.at(self._counts, classes[: max(room, 0)], 1)
        self._sums = None


class _Fixed(_Uniform):
    """Given weights, by Walker's alias method: one number chooses a cell, another one of its two classes."""

    def __init__(self, weights: Any) -> None:
        super().__init__(len(weights))
        self._weights = weights
        self._total = np.float32(0)
        for weight in weights:
            self._total += weight
        total = float(np.sum(weights, dtype=np.float64))
        if not total > 0:
            raise invalid("The weights of the classes must have a sum above zero.")
        shares = (weights * np.float32(self.range)).astype(np.float64) / total
        self._other = np.arange(self.range)
        low = [i for i in range(self.range) if shares[i] < 1]
        high = [i for i in range(self.range) if not shares[i] < 1]
        while high and low:
            small, large = low.pop(), high.pop()
            self._other[small] = large
            shares[large] -= 1 - shares[small]
            (low if shares[large] < 1 else high).append(large)
        shares[low + high] = 1  # they differ from 1 by rounding only
        self._share = shares.astype(np.float32)
        own, others = np.flatnonzero(self._share > 0), self._other[self._share < 1]
        self.possible = len(np.union1d(own, others))

    def draw(self, words: _Words) -> int:
        number, cell = words.float32(), words.below(self.range, 32)
        return cell if number < self._share[cell] else int(self._other[cell])

    def probability(self, classes: Any) -> Any:
        return self._weights[classes] / self._total


_CHECK = 1 << 10
"""The number of draws after which a sampler asks whether its step is still wanted."""


def _expected(probability: Any, batch: int, tries: int) -> Any:
    """The expected count of a class of this probability in a batch that took so many tries to fill."""
    if batch == tries:
        return probability * np.float32(batch)
    return -np.expm1(np.float32(tries) * np.log1p(-probability))


def _draw(sampler: _Sampler, words: _Words, count: int, unique: bool) -> tuple[list[int], int]:
    """The classes drawn, and the number of tries."""
    if not unique:
        drawn = []
        for first in range(0, count, _CHECK):
            check()
            drawn += [sampler.draw(words) for _ in range(min(_CHECK, count - first))]
        return drawn, count
    found: dict[int, None] = {}
    tries = 0
    while len(found) < count:
        if tries == _MAX_TRIES:
            raise invalid(f"{tries} draws have given {len(found)} different classes of the {count} wanted.")
        if tries % _CHECK == 0:
            check()
        tries += 1
        found[sampler.draw(words)] = None
    return list(found), tries


def _run(node: KernelNode, sampler: _Sampler) -> Kernel:
    xp, attrs = node.xp, node.attrs
    num_true, num_sampled, unique = attrs["num_true"], attrs["num_sampled"], attrs["unique"]
    lock = threading.Lock()
    if attrs["seed"] or attrs["seed2"]:
        stream = philox.seeded_stream(attrs["seed"], attrs["seed2"])
    else:
        stream = philox.seeded_stream(secrets.randbits(64), secrets.randbits(64))

    def run(true_classes: Any) -> tuple[Any, Any, Any]:
        true_classes = host_array(true_classes)
        _check_true(true_classes, num_true)
        if unique and num_sampled > sampler.range:
            raise invalid("Sampler's range is too small.")
        if unique and num_sampled > sampler.possible:
            raise invalid(
                f"{num_sampled} different classes are wanted, and only {sampler.possible} of the "
                f"{sampler.range} have a probability above zero; sample fewer, or with unique=False."
            )
        outside = true_classes[(true_classes < 0) | (true_classes >= sampler.range)]
        if outside.size:
            raise invalid(f"`true_candidate` out of range [0, {sampler.range}), received {outside[0]}")
        words = _Words(stream.reserve(num_sampled * _WORDS_PER_CLASS // 4))
        with lock:
            classes, tries = _draw(sampler, words, num_sampled, unique)
            drawn = np.array(classes, np.int64)
            counts = [
                _expected(sampler.probability(values), num_sampled, tries) for values in (true_classes, drawn)
            ]
            sampler.update(true_classes.reshape(-1))
        return xp.asarray(drawn), xp.asarray(counts[0]), xp.asarray(counts[1])

    return run


def _check_true(true_classes: Any, num_true: int) -> None:
    if true_classes.ndim != 2:
        raise invalid("true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise invalid(
            f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}"
        )


_SAMPLERS: dict[str, Callable[[int], _Sampler]] = {
    "UniformCandidateSampler": _Uniform,
    "LogUniformCandidateSampler": _LogUniform,
    "LearnedUnigramCandidateSampler": _Unigram,
    "ThreadUnsafeUnigramCandidateSampler": _Unigram,
}


@kernel(*_SAMPLERS, lasting=True)
def _candidate_sampler(node: KernelNode) -> Kernel:
    return _run(node, _SAMPLERS[node.op](node.attrs["range_max"]))


@kernel("FixedUnigramCandidateSampler", lasting=True)
def _fixed_unigram(node: KernelNode) -> Kernel:
    attrs = node.attrs
    path, given = attrs["vocab_file"].decode(), attrs["unigrams"]
    if bool(path) == bool(given):
        raise invalid(
            "Must only provide one of vocab_file and unigrams."
            if path
            else "Must provide either vocab_file or unigrams."
        )
    frequencies = _frequencies(node.resources.files, path) if path else np.array(given, np.float32)
    reserved, shards, shard = attrs["num_reserved_ids"], attrs["num_shards"], attrs["shard"]
    weights = np.power(frequencies, np.float32(attrs["distortion"]))
    zeros, own = len(range(shard, reserved, shards)), weights[(shard - reserved) % shards :: shards]
    if zeros + len(own) != attrs["range_max"]:
        raise invalid(f"range is {attrs['range_max']} must be equal to weights size  {zeros + len(own)}")
    return _run(node, _Fixed(np.concatenate([np.zeros(zeros, np.float32), own.astype(np.float32)])))


def _frequencies(files: Files, path: str) -> Any:
    found = []
    with reported(path), files.open_for_read(path) as file:
        for line in file:
            if line.strip():
                try:
                    found.append(float(line.rsplit(b",", 1)[-1]))
                except ValueError:
                    shown = line.decode(errors="backslashreplace").rstrip()
                    raise invalid(f"Wrong vocabulary format at line: {shown}") from None
    return np.array(found, np.float32)


@kernel("AllCandidateSampler")
def _all_candidates(node: KernelNode) -> Kernel:
    xp, num_true, count = node.xp, node.attrs["num_true"], node.attrs["num_sampled"]

    def run(true_classes: Any) -> tuple[Any, Any, Any]:
        _check_true(true_classes, num_true)
        ones = xp.ones(true_classes.shape, np.float32)
        return xp.arange(count, dtype=np.int64), ones, xp.ones(count, np.float32)

    return run


@kernel("ComputeAccidentalHits")
def _accidental_hits(node: KernelNode) -> Kernel:
    xp, num_true = node.xp, node.attrs["num_true"]

    def run(true_classes: Any, sampled: Any) -> tuple[Any, Any, Any]:
        true_classes, sampled = host_array(true_classes), host_array(sampled)
        if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
            raise invalid("true_candidates must be a batch_size * num_true matrix")
        if sampled.ndim != 1:
            raise invalid(
                "sampled_candidates must be a vector, which is typically an output from CandidateSampler"
            )
        places = {value: i for i, value in enumerate(sampled.tolist())}
        found = [
            (row, places[value])
            for row, values in enumerate(true_classes.tolist())
            for value in values
            if value in places
        ]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        weights = xp.full(len(pairs), _LEAST, np.float32)
        return xp.asarray(pairs[:, 0].astype(np.int32)), xp.asarray(pairs[:, 1]), weights

    return run
