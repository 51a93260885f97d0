"""Philox4x32-10, the counter-based generator of TensorFlow's random ops, and distributions based on it.

A stream is a key (64 bits) and a counter (128 bits); each counter value gives four 32-bit numbers, so any
part of a stream can be computed by itself. NumPy computes many counter values at a time.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tensorfleet.core.dtypes import DType

Array = np.ndarray[Any, Any]

_MULTIPLY_0 = np.uint64(0xD2511F53)
_MULTIPLY_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = 0x9E3779B9
_WEYL_1 = 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_ROUNDS = 10

_CHUNK = 1 << 13
"""Number of counter values computed at a time, so that the arrays of a round stay in the cache."""

SAMPLES_PER_OUTPUT = 256
"""Number of samples by which TensorFlow advances a stream for one output, however many it took."""


class Stream:
    """A position in a Philox stream, which `reserve` moves. Safe to use from several threads."""

    def __init__(self, key: int, counter: int) -> None:
        self.key = key & (2**64 - 1)
        self.counter = counter & (2**128 - 1)
        self._lock = threading.Lock()

    def reserve(self, count: int) -> Stream:
        """A stream at the current position, which moves on by `count` counter values."""
        with self._lock:
            here = self.skip(0)
            self.counter = (self.counter + count) % 2**128
        return here

    def skip(self, count: int) -> Stream:
        """The stream from `count` counter values further on."""
        return Stream(self.key, self.counter + count)

    def numbers(self, count: int, step: int = 1) -> Array:
        """The uint32 numbers of `count` counter values, `step` apart: shape [count, 4]."""
        result = np.empty((count, 4), np.uint32)
        for start in range(0, count, _CHUNK):
            stop = min(start + _CHUNK, count)
            self._fill(result[start:stop], start, step)
        return result

    def at(self, offsets: Array) -> Array:
        """The uint32 numbers at counter values that are `offsets` further on: shape [len(offsets), 4]."""
        result = np.empty((len(offsets), 4), np.uint32)
        self._rounds(result, offsets.astype(np.uint64))
        return result

    def _fill(self, result: Array, start: int, step: int) -> None:
        offsets = np.arange(start, start + len(result), dtype=np.uint64)
        self._rounds(result, offsets * np.uint64(step))

    def _rounds(self, result: Array, offsets: Array) -> None:
        low = offsets + np.uint64(self.counter & (2**64 - 1))
        high = np.uint64(self.counter >> 64) + (low < offsets).astype(np.uint64)
        x0, x1, x2, x3 = low & _LOW, low >> _SHIFT, high & _LOW, high >> _SHIFT
        key0, key1 = self.key & 0xFFFFFFFF, self.key >> 32
        for _ in range(_ROUNDS):
            product0 = x0 * _MULTIPLY_0
            product1 = x2 * _MULTIPLY_1
            x0 = (product1 >> _SHIFT) ^ x1 ^ np.uint64(key0)
            x2 = (product0 >> _SHIFT) ^ x3 ^ np.uint64(key1)
            x1 = product1 & _LOW
            x3 = product0 & _LOW
            key0 = (key0 + _WEYL_0) & 0xFFFFFFFF
            key1 = (key1 + _WEYL_1) & 0xFFFFFFFF
        for column, x in enumerate((x0, x1, x2, x3)):
            result[:, column] = x


def seeded_stream(seed: int, seed2: int) -> Stream:
    """The stream of a random op with these seeds."""
    return Stream(seed, (seed2 & (2**64 - 1)) << 64)


def stateless_key_counter(seed: Array) -> tuple[int, int]:
    """The key and the counter for the two seeds of a stateless random op, derived by Philox from them."""
    seed0, seed1 = (int(s) & (2**64 - 1) for s in seed)
    mixed = Stream(0x02461E293EC8F720, seed0 | seed1 << 64).numbers(1)[0]
    a, b, c, d = (int(m) for m in mixed)
    return a | b << 32, (c | d << 32) << 64


def _groups(size: int, group: int) -> int:
    return -(-size // group)


def uniform(stream: Stream, size: int, dtype: DType) -> Array:
    """`size` numbers in [0, 1), of the dtype."""
    numpy_dtype = np.dtype(dtype.as_numpy_dtype)
    group = 2 if dtype.size == 8 else 4
    bits = stream.numbers(_groups(size, group))
    return _unit(bits, dtype).reshape(-1)[:size].astype(numpy_dtype, copy=False)


def _unit(bits: Array, dtype: DType) -> Array:
    """Random bits [n, 4] as numbers in [0, 1): [n, 4], or [n, 2] of float64."""
    if dtype.name == "float64":
        return _unit_double(bits)
    if dtype.name == "float32":
        mantissa = (bits & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)
        return mantissa.view(np.float32) - np.float32(1)
    if dtype.name == "float16":
        half = (bits.astype(np.uint16) & np.uint16(0x3FF)) | np.uint16(15 << 10)
        return half.view(np.float16) - np.float16(1)
    brain = (bits.astype(np.uint16) & np.uint16(0x7F)) | np.uint16(127 << 7)
    made: Array = brain.view(dtype.as_numpy_dtype) - dtype.as_numpy_dtype(1)
    return made


def _unit_double(bits: Array) -> Array:
    pairs = bits.astype(np.uint64)
    mantissa = ((pairs[:, 0::2] & np.uint64(0xFFFFF)) << _SHIFT) | pairs[:, 1::2]
    return (mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0


def _box_muller(bits: Array, double: bool) -> Array:
    """Random bits [n, 4] as normally distributed numbers: [n, 4] of float32, or [n, 2] of float64."""
    if double:
        unit = _unit_double(bits)
        radius = np.sqrt(-2.0 * np.log(np.maximum(unit[:, :1], 1e-7)))
        angle = 2 * np.pi * unit[:, 1:]
        return np.concatenate((np.sin(angle) * radius, np.cos(angle) * radius), axis=1)
    unit = ((bits & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
    # log, sin and cos of a float32 are computed in float64 and rounded, which is as exact as C's libraries.
    u = np.maximum(unit[:, 0::2], np.float32(1e-7)).astype(np.float64)
    radius = np.sqrt(np.float32(-2) * np.log(u).astype(np.float32))
    angle = (2 * np.pi * unit[:, 1::2].astype(np.float64)).astype(np.float32).astype(np.float64)
    result = np.empty(bits.shape, np.float32)
    result[:, 0::2] = np.sin(angle).astype(np.float32) * radius
    result[:, 1::2] = np.cos(angle).astype(np.float32) * radius
    return result


def normal(stream: Stream, size: int, dtype: DType) -> Array:
    """`size` normally distributed numbers, of the dtype."""
    double = dtype.size == 8
    count = _groups(size, 2 if double else 4)
    result = np.empty((count, 2 if double else 4), np.float64 if double else np.float32)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        result[start:stop] = _box_muller(stream.skip(start).numbers(stop - start), double)
    return result.reshape(-1)[:size].astype(dtype.as_numpy_dtype, copy=False)


def truncated_normal(stream: Stream, size: int, dtype: DType) -> Array:
    """`size` normally distributed numbers within two standard deviations, of the dtype.

    Each group of outputs draws from its own part of the stream until it has enough numbers.
    """
    double = dtype.size == 8
    group = 2 if double else 4
    count = _groups(size, group)
    result = np.empty((count, group), np.float64 if double else np.float32)
    found = np.zeros(count, np.int64)
    open_groups = np.arange(count)
    drawn = 0
    while len(open_groups):
        offsets = open_groups.astype(np.uint64) * np.uint64(group * SAMPLES_PER_OUTPUT // 4)
        candidates = _box_muller(stream.at(offsets + np.uint64(drawn)), double)
        for column in range(candidates.shape[1]):
            candidate = candidates[:, column]
            taken = (np.abs(candidate) < 2) & (found[open_groups] < group)
            rows = open_groups[taken]
            result[rows, found[rows]] = candidate[taken]
            found[rows] += 1
        open_groups = open_groups[found[open_groups] < group]
        drawn += 1
    return result.reshape(-1)[:size].astype(dtype.as_numpy_dtype, copy=False)


def uniform_int(stream: Stream, size: int, low: int, high: int, dtype: DType) -> Array:
    """`size` integers in [low, high), of the dtype."""
    numpy_dtype = np.dtype(dtype.as_numpy_dtype)
    if dtype.size == 8:
        pairs = stream.numbers(_groups(size, 2)).astype(np.uint64)
        numbers: Array = (pairs[:, 0::2] | pairs[:, 1::2] << _SHIFT) % np.uint64(high - low)
    else:
        numbers = stream.numbers(_groups(size, 4)) % np.uint32(high - low)
    offset = numbers.reshape(-1)[:size]
    shifted: Array = (offset + np.asarray(low, numpy_dtype).view(offset.dtype)).view(numpy_dtype)
    return shifted
