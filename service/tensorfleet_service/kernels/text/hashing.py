"""Hashes of strings: FarmHash, MurmurHash and SipHash, as TensorFlow has chosen them for its ops.

Strings of one length are hashed together, as rows of a matrix of bytes. FarmHash is Pike's (`farmhashna`),
MurmurHash64A Appleby's; SipHash-2-4 is by Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import STRINGS_PART, array_kernel, invalid
from tensorfleet_service.threads.running import check as check_step

Words = np.ndarray[Any, np.dtype[np.uint64]]
"""A 64-bit number for each string."""
HashRows = Callable[[Any], Words]
"""A function from a matrix of bytes, [strings, length], to the hash of each row."""


def _u64(number: int) -> np.uint64:
    return np.uint64(number & (1 << 64) - 1)


def _fetch(rows: Any, at: int) -> Words:
    """Eight bytes from `at` on, as a little-endian number."""
    words: Words = np.ascontiguousarray(rows[:, at : at + 8]).view("<u8")[:, 0]
    return words


def _fetch32(rows: Any, at: int) -> Words:
    words: Words = np.ascontiguousarray(rows[:, at : at + 4]).view("<u4")[:, 0].astype(np.uint64)
    return words


def _rotate(x: Words, right: int) -> Words:
    return (x >> np.uint64(right)) | (x << np.uint64(64 - right))


# FarmHash

_K0, _K1, _K2 = _u64(0xC3A5C85C97CB3127), _u64(0xB492B66FBE98F273), _u64(0x9AE16A3B2F90404F)
_47 = np.uint64(47)


def _shift_mix(x: Words) -> Words:
    return x ^ (x >> _47)


def _of_two(u: Words, v: Words, multiplier: Any) -> Words:
    a = _shift_mix((u ^ v) * multiplier)
    mixed: Words = _shift_mix((v ^ a) * multiplier) * multiplier
    return mixed


def _farm_to_16(rows: Any, size: int) -> Words:
    multiplier = _K2 + _u64(2 * size)
    if size >= 8:
        a, b = _fetch(rows, 0) + _K2, _fetch(rows, size - 8)
        return _of_two(_rotate(b, 37) * multiplier + a, (_rotate(a, 25) + b) * multiplier, multiplier)
    if size >= 4:
        first, last = _fetch32(rows, 0), _fetch32(rows, size - 4)
        return _of_two(_u64(size) + (first << np.uint64(3)), last, multiplier)
    if size > 0:
        a, b, c = (rows[:, i].astype(np.uint64) for i in (0, size >> 1, size - 1))
        y = a + (b << np.uint64(8))
        z = _u64(size) + (c << np.uint64(2))
        return _shift_mix(y * _K2 ^ z * _K0) * _K2
    return np.full(len(rows), _K2)


def _farm_to_64(rows: Any, size: int) -> Words:
    multiplier = _K2 + _u64(2 * size)
    if size <= 32:
        a, b = _fetch(rows, 0) * _K1, _fetch(rows, 8)
        c, d = _fetch(rows, size - 8) * multiplier, _fetch(rows, size - 16) * _K2
        return _of_two(_rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c, multiplier)
    a, b = _fetch(rows, 0) * _K2, _fetch(rows, 8)
    c, d = _fetch(rows, size - 8) * multiplier, _fetch(rows, size - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d
    z = _of_two(y, a + _rotate(b + _K2, 18) + c, multiplier)
    e, f = _fetch(rows, 16) * multiplier, _fetch(rows, 24)
    g = (y + _fetch(rows, size - 32)) * multiplier
    h = (z + _fetch(rows, size - 24)) * multiplier
    return _of_two(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, multiplier)


def _weak(rows: Any, at: int, a: Words, b: Words) -> tuple[Words, Words]:
    """Hashes 32 bytes with two seeds."""
    w, x, y, z = (_fetch(rows, at + 8 * i) for i in range(4))
    a = a + w
    b = _rotate(b + a + z, 21)
    c = a
    a = a + x + y
    b = b + _rotate(a, 44)
    return a + z, b + c


def farmhash(rows: Any) -> Words:
    """FarmHash's Fingerprint64."""
    size = rows.shape[1]
    if size <= 16:
        return _farm_to_16(rows, size)
    if size <= 64:
        return _farm_to_64(rows, size)
    seed = 81
    x = np.full(len(rows), _u64(seed)) * _K2 + _fetch(rows, 0)
    y = np.full(len(rows), _u64(seed * int(_K1) + 113))
    z = _shift_mix(y * _K2 + _u64(113)) * _K2
    v = w = (np.zeros_like(x), np.zeros_like(x))
    for at in range(0, (size - 1) // 64 * 64, 64):
        check_step()
        x, y, z, v, w = _farm_block(rows, at, x, y, z, v, w, _K1, (_u64(1), _u64(1)))
    multiplier = _K1 + ((z & _u64(0xFF)) << np.uint64(1))
    first = w[0] + _u64((size - 1) & 63)
    v0 = v[0] + first
    first = first + v0
    last = _farm_block(rows, size - 64, x, y, z, (v0, v[1]), (first, w[1]), multiplier, (_u64(9), _u64(9)))
    x, y, z, v, w = last
    return _of_two(
        _of_two(v[0], w[0], multiplier) + _shift_mix(y) * _K0 + z,
        _of_two(v[1], w[1], multiplier) + x,
        multiplier,
    )


_State = tuple[Words, Words, Words, tuple[Words, Words], tuple[Words, Words]]


def _farm_block(
    rows: Any,
    at: int,
    x: Words,
    y: Words,
    z: Words,
    v: tuple[Words, Words],
    w: tuple[Words, Words],
    multiplier: Any,
    weights: tuple[np.uint64, np.uint64],
) -> _State:
    """Takes 64 bytes in; x and z change places."""
    x = _rotate(x + y + v[0] + _fetch(rows, at + 8), 37) * multiplier
    y = _rotate(y + v[1] + _fetch(rows, at + 48), 42) * multiplier
    x = x ^ (w[1] * weights[0])
    y = y + v[0] * weights[1] + _fetch(rows, at + 40)
    z = _rotate(z + w[0], 33) * multiplier
    v = _weak(rows, at, v[1] * multiplier, x + w[0])
    w = _weak(rows, at + 32, z + w[1], y + _fetch(rows, at + 16))
    return z, y, x, v, w


# MurmurHash64A

_MURMUR = _u64(0xC6A4A7935BD1E995)
_MURMUR_SEED = 0xDECAFCAFFE


def murmurhash(rows: Any) -> Words:
    size = rows.shape[1]
    state = np.full(len(rows), _u64(_MURMUR_SEED ^ (size * int(_MURMUR) & (1 << 64) - 1)))
    for at in range(0, size - 7, 8):
        check_step()
        word = _shift_mix(_fetch(rows, at) * _MURMUR) * _MURMUR
        state = (state ^ word) * _MURMUR
    rest = size % 8
    if rest:
        for i in range(rest):
            state = state ^ (rows[:, size - rest + i].astype(np.uint64) << np.uint64(8 * i))
        state = state * _MURMUR
    return _shift_mix(_shift_mix(state) * _MURMUR)


# SipHash-2-4

_SIP_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _left(x: Words, bits: int) -> Words:
    return _rotate(x, 64 - bits)


def _sip_rounds(v: list[Words], count: int) -> None:
    for _ in range(count):
        v[0] = v[0] + v[1]
        v[2] = v[2] + v[3]
        v[1] = _left(v[1], 13) ^ v[0]
        v[3] = _left(v[3], 16) ^ v[2]
        v[0] = _left(v[0], 32)
        v[2] = v[2] + v[1]
        v[0] = v[0] + v[3]
        v[1] = _left(v[1], 17) ^ v[2]
        v[3] = _left(v[3], 21) ^ v[0]
        v[2] = _left(v[2], 32)


def siphash(rows: Any, key: tuple[int, int]) -> Words:
    """The hash with a secret key of two 64-bit numbers."""
    size = rows.shape[1]
    v = [np.full(len(rows), _u64(start ^ key[i % 2])) for i, start in enumerate(_SIP_START)]
    padded = np.zeros((len(rows), size // 8 * 8 + 8), np.uint8)
    padded[:, :size] = rows
    padded[:, -1] = size & 0xFF
    for at in range(0, padded.shape[1], 8):
        check_step()
        word = _fetch(padded, at)
        v[3] = v[3] ^ word
        _sip_rounds(v, 2)
        v[0] = v[0] ^ word
    v[2] = v[2] ^ _u64(0xFF)
    _sip_rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def hash_strings(strings: Any, function: HashRows) -> Words:
    """The hash of each string of an array, in its shape.

    Raises:
        OpError: the step has ended.
    """
    flat = strings.reshape(-1)
    result = np.empty(flat.size, np.uint64)
    for begin in range(0, flat.size, STRINGS_PART):
        part = flat[begin : begin + STRINGS_PART].tolist()
        by_size: dict[int, list[int]] = {}
        for i, text in enumerate(part):
            by_size.setdefault(len(text), []).append(i)
        for size, places in by_size.items():
            # Together they are copied by one call.
            count = max(_TEXT_PART // max(size, 1), 1)
            for first in range(0, len(places), count):
                check_step()
                chosen = places[first : first + count]
                data = np.frombuffer(b"".join([part[i] for i in chosen]), np.uint8)
                result[begin + np.array(chosen)] = function(data.reshape(len(chosen), size))
    return result.reshape(strings.shape)


_TEXT_PART = 1 << 20
"""Number of bytes of strings that are hashed together."""


def _buckets(node: KernelNode, function: HashRows) -> Kernel:
    count = np.uint64(node.attrs["num_buckets"])
    return lambda x: (hash_strings(x, function) % count).astype(np.int64)[()]


@array_kernel("StringToHashBucketFast")
def _fast(node: KernelNode) -> Kernel:
    return _buckets(node, farmhash)


@array_kernel("StringToHashBucket")
def _murmur(node: KernelNode) -> Kernel:
    return _buckets(node, murmurhash)


@array_kernel("StringToHashBucketStrong")
def _strong(node: KernelNode) -> Kernel:
    key = node.attrs["key"]
    if len(key) != 2:
        raise invalid(f"Key must have 2 elements, got {len(key)}")
    return _buckets(node, lambda rows: siphash(rows, (key[0], key[1])))


@array_kernel("Fingerprint")
def _fingerprint(node: KernelNode) -> Kernel:
    is_string = node.input_types[0].name == "string"

    def run(data: Any, method: Any) -> Any:
        if np.ndim(method) or bytes(np.asarray(method, object)[()]) != b"farmhash64":
            raise invalid(f"Unsupported fingerprint method: {np.asarray(method, object).tolist()!r}")
        if data.ndim < 1:
            raise invalid(f"`data` must be at least 1D, got {data.ndim}D")
        if is_string:
            hashes = hash_strings(data, farmhash).reshape(len(data), -1)
            if data.ndim > 1:
                hashes = farmhash(hashes.astype("<u8").view(np.uint8)).reshape(-1, 1)
        else:
            rows = np.ascontiguousarray(data).reshape(len(data), -1).view(np.uint8)
            hashes = farmhash(rows.reshape(len(data), -1)).reshape(-1, 1)
        return hashes.astype("<u8").view(np.uint8).reshape(len(data), 8)

    return run
