"""Permutations of which single elements can be computed, by a small block cipher (`RandomIndexShuffle`).

The cipher is Simon's, with words of half the block. An index is encrypted again and again until the result
is one of the indices, so different indices have different results.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid
from tensorfleet_service.threads.running import check as check_step

_LEAST_BLOCK = 16
_MAX_ROUNDS = 1 << 12
_CONSTANT = 0xFFFFFFFC
_SEQUENCE = 0x7369F885192C0EF5
_WORDS = 3
"""The number of integers of a key."""

Array = np.ndarray[Any, Any]


def _round_keys(key: tuple[int, ...], rounds: int, width: int) -> list[int]:
    mask = (1 << width) - 1
    keys = [word & mask for word in key]
    sequence = _SEQUENCE & mask
    check_step()
    for i in range(_WORDS, rounds):
        last = keys[-1]
        turned = (last >> 3 | last << (width - 3)) ^ (last >> 4 | last << (width - 4))
        keys.append((_CONSTANT ^ (sequence & 1) ^ keys[i - _WORDS] ^ turned) & mask)
        sequence >>= 1
    return keys


def _encrypted(values: Array, keys: list[int], width: int) -> Array:
    """The blocks of uint64 values, each encrypted."""
    half, mask = np.uint64(width), np.uint64((1 << width) - 1)
    one, two, eight = np.uint64(1), np.uint64(2), np.uint64(8)

    def turned(x: Array, count: np.uint64) -> Array:
        found: Array = (x << count | x >> (half - count)) & mask
        return found

    right, left = values >> half & mask, values & mask
    for key in keys:
        check_step()
        mixed = (turned(left, one) & turned(left, eight)) ^ turned(left, two) ^ np.uint64(key)
        left, right = right ^ mixed, left
    return right << half | left


@lru_cache(maxsize=16)
def _small_permutation(key: tuple[int, ...], rounds: int) -> list[int]:
    """All blocks of 16 bits, encrypted."""
    blocks = np.arange(1 << _LEAST_BLOCK, dtype=np.uint64)
    width = _LEAST_BLOCK // 2
    found: list[int] = _encrypted(blocks, _round_keys(key, rounds, width), width).tolist()
    return found


def shuffled_indices(indices: list[int], key: tuple[int, ...], highest: int, rounds: int) -> list[int]:
    """Where indices in [0, highest] are in the permutation of a key.

    Args:
        indices, highest: of 64 bits.
        key: three integers of 32 bits.
        rounds: of the cipher; even.
    """
    block = math.ceil(math.log2(highest)) if highest else 0
    block = max(block + block % 2, _LEAST_BLOCK)
    if block == _LEAST_BLOCK:
        table = _small_permutation(key, rounds)
        result = []
        for value in indices:
            check_step()
            value = table[value % len(table)]
            while value > highest:
                value = table[value]
            result.append(value)
        return result
    keys = _round_keys(key, rounds, block // 2)
    values = np.array(indices, np.uint64)
    left = np.arange(len(values))
    while len(left):
        check_step()
        values[left] = _encrypted(values[left], keys, block // 2)
        left = left[values[left] > np.uint64(highest)]
    found: list[int] = values.tolist()
    return found


@host_kernel("RandomIndexShuffle", lasting=True)
def random_index_shuffle(node: KernelNode) -> Kernel:
    rounds = node.attrs["rounds"]

    def run(index: Any, seed: Any, highest: Any) -> Any:
        for name, value, rank in (("index", index, 0), ("max_index", highest, 0), ("seed", seed, 1)):
            if value.ndim not in (rank, rank + 1):
                raise invalid(
                    f"Input {name} must be a {'scalar or vector' if not rank else 'vector or matrix'}, not a "
                    f"{value.ndim}-D tensor."
                )
        if seed.shape[-1] != _WORDS:
            raise invalid(f"Input seed must have shape [n, {_WORDS}], not {list(seed.shape)}")
        if not _WORDS < rounds <= _MAX_ROUNDS or rounds % 2:
            raise invalid(f"rounds must be even, from 4 to {_MAX_ROUNDS}, got {rounds}")
        if (np.asarray(highest) < 0).any():
            raise invalid("max_index must not be negative")
        counts = {
            len(value) for value, rank in ((index, 0), (highest, 0), (seed, 1)) if value.ndim > rank
        } - {1}
        if len(counts) > 1:
            raise invalid("Index, seed and max_index must have the same number of elements, or one")
        size = counts.pop() if counts else 1
        if (np.asarray(index) < 0).any() or (np.broadcast_to(index, size) > highest).any():
            raise invalid("index must be in [0, max_index]")
        indices = np.broadcast_to(index, size).astype(np.uint64)
        limits = np.broadcast_to(highest, size).astype(np.uint64)
        keys = np.broadcast_to(seed.reshape(-1, _WORDS), (size, _WORDS)).astype(np.uint64)
        result = np.empty(size, index.dtype)
        groups: dict[tuple[Any, ...], list[int]] = {}
        for place, group in enumerate(zip(limits.tolist(), *keys.T.tolist(), strict=True)):
            groups.setdefault(group, []).append(place)
        for (limit, *words), places in groups.items():
            key = tuple(word & 0xFFFFFFFF for word in words)
            found = shuffled_indices(indices[places].tolist(), key, limit, rounds)
            result[places] = np.array(found, np.uint64).astype(index.dtype)
        scalar = not index.ndim and not highest.ndim and seed.ndim == 1
        return result[0] if scalar else result

    return run
