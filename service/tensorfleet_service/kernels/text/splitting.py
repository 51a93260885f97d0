"""Splitting of strings, n-grams, and joins by segments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tensorfleet.core import errors, string_arrays
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import (
    STRINGS_PART,
    array_kernel,
    each_string,
    invalid,
    shape_text,
)
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

TEXT_PART = 1 << 19
"""Number of bytes of a text that are split at a time; it holds the interpreter's lock."""

MAX_TEXT = 1 << 30
"""Limit on the bytes of all n-grams of one step."""


def split_text(text: bytes, sign: bytes | None, limit: int = -1) -> Iterator[list[bytes]]:
    """`bytes.split`, which holds the interpreter's lock, by parts of a long text.

    Raises:
        OpError: the step has ended.
    """
    if len(text) <= TEXT_PART or 0 <= limit <= TEXT_PART:
        yield text.split(sign, limit)
        return
    if sign is None:
        if limit >= 0:
            raise invalid(f"maxsplit is over {TEXT_PART} for a text of {len(text)} bytes, and sep is empty")
        yield from _words(text)
        return
    begin = count = 0
    # A part is cut into fewer texts than it has bytes.
    while len(text) - begin > TEXT_PART and not 0 <= limit - count <= TEXT_PART:
        check_step()
        *whole, rest = text[begin : begin + TEXT_PART].split(sign)
        begin += TEXT_PART - len(rest)
        if not whole:
            end = text.find(sign, begin + TEXT_PART - len(sign) + 1)
            if end < 0:
                yield [text[begin:]]
                return
            whole = [text[begin:end]]
            begin = end + len(sign)
        count += len(whole)
        yield whole
    yield text[begin:].split(sign, limit - count if limit >= 0 else -1)


def _bytes(text: bytes) -> Iterator[list[bytes]]:
    for begin in range(0, len(text), STRINGS_PART):
        check_step()
        yield [text[i : i + 1] for i in range(begin, min(begin + STRINGS_PART, len(text)))]


def _words(text: bytes) -> Iterator[list[bytes]]:
    """What white space divides, of a long text."""
    begun: list[bytes] = []  # of a word
    for begin in range(0, len(text), TEXT_PART):
        check_step()
        part = text[begin : begin + TEXT_PART]
        words = part.split()
        found: list[bytes] = []
        if begun and (part[:1].isspace() or not words):
            found.append(b"".join(begun))
            begun = []
        if words:
            begun.append(words[0])
        if len(words) > 1 or (words and part[-1:].isspace()):
            found.append(b"".join(begun))
            found += words[1:-1]
            begun = words[-1:] if len(words) > 1 else []
            if begun and part[-1:].isspace():
                found += begun
                begun = []
        yield found
    if begun:
        yield [b"".join(begun)]


def _parts(texts: Any, split: Callable[[bytes], Iterable[list[bytes]]]) -> Any:
    """The parts of each text, as a SparseTensor."""
    if texts.ndim != 1:
        raise invalid(f"input must be a vector, got shape: {shape_text(texts.shape)}")
    counts = np.zeros(texts.size, np.int64)
    found = string_arrays.Gathered()
    for i, text in enumerate(each_string(texts)):
        for part in split(text):
            counts[i] += len(part)
            found.add(part)
    row = unlocked.repeat(np.arange(texts.size), counts)
    column = np.arange(len(row)) - unlocked.repeat(np.cumsum(counts) - counts, counts)
    indices = np.stack([row, column], 1).astype(np.int64)
    shape = np.array([texts.size, int(counts.max()) if texts.size else 0], np.int64)
    return indices, found.taken(), shape


@array_kernel("StringSplit")
def string_split(node: KernelNode) -> Kernel:
    skip_empty = node.attrs["skip_empty"]

    def run(texts: Any, delimiter: Any) -> Any:
        if delimiter.ndim:
            raise invalid(f"delimiter must be a scalar, got shape: {shape_text(delimiter.shape)}")
        signs = delimiter.item()
        # All delimiters are replaced by the first one.
        first = signs[:1]
        table = bytes.maketrans(signs, first * len(signs))

        def split(text: bytes) -> Iterable[list[bytes]]:
            if not signs:
                return _bytes(text)
            if not text:
                return ()
            parts = split_text(text if len(signs) == 1 else text.translate(table), first)
            return ([item for item in part if item] for part in parts) if skip_empty else parts

        return _parts(texts, split)

    return run


@array_kernel("StringSplitV2")
def string_split_v2(node: KernelNode) -> Kernel:
    limit = node.attrs["maxsplit"]

    def words(text: bytes) -> Iterable[list[bytes]]:
        """Up to `limit` words and what follows, which is kept where it is empty, too, unlike Python's."""
        if not limit:
            return [[text]]
        parts = list(split_text(text, None, limit))
        return [*parts, [b""]] if sum(map(len, parts)) == limit else parts

    def run(texts: Any, sep: Any) -> Any:
        if sep.ndim:
            raise invalid(f"sep must be a scalar, got shape: {shape_text(sep.shape)}")
        sign = sep.item()
        if sign or limit < 0:
            return _parts(texts, lambda text: split_text(text, sign or None, limit))
        return _parts(texts, words)

    return run


@array_kernel("StringNGrams")
def string_ngrams(node: KernelNode) -> Kernel:
    attrs = node.attrs
    widths, pad_width = attrs["ngram_widths"], attrs["pad_width"]
    separator, left, right = attrs["separator"], attrs["left_pad"], attrs["right_pad"]

    def padding(width: int) -> int:
        return width - 1 if pad_width < 0 else min(pad_width, width - 1)

    def of_width(row: list[bytes], width: int, pad: int) -> list[bytes]:
        padded = [left] * pad + row + [right] * pad
        found: list[bytes] = []
        for begin in range(0, len(padded) - width + 1, STRINGS_PART):
            check_step()
            end = min(begin + STRINGS_PART, len(padded) - width + 1)
            found += [separator.join(padded[i : i + width]) for i in range(begin, end)]
        return found

    def of_row(row: list[bytes]) -> list[bytes]:
        found = [ngram for width in widths for ngram in of_width(row, width, padding(width))]
        if found or not row or not attrs["preserve_short_sequences"]:
            return found
        if pad_width < 0:
            raise invalid(
                "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not "
                f"provided, got {pad_width}"
            )
        return of_width(row, len(row) + 2 * pad_width, pad_width)

    def run(data: Any, splits: Any) -> Any:
        if splits.ndim != 1 or data.ndim != 1:
            raise invalid("data and data_splits must be vectors")
        ends = splits.tolist()
        if ends and ends[0] != 0:
            raise invalid(f"First split value must be 0, got {ends[0]}")
        wrong = np.flatnonzero((splits[1:] < splits[:-1]) | (splits[1:] > len(data)))
        if wrong.size:
            before, end = splits[wrong[0] : wrong[0] + 2].tolist()
            raise invalid(f"Invalid split value {end}, must be in [{before}, {len(data)}]")
        if ends and ends[-1] != len(data):
            raise invalid(f"Last split value must be data size. Expected {len(data)}, got {ends[-1]}")
        items = list(each_string(data))
        text = sum(len(item) for item in items) + len(data) * len(separator)
        if text * sum(widths) > MAX_TEXT:
            raise errors.ResourceExhaustedError(
                None, None, f"The n-grams of {text} bytes, {widths} wide, are larger than {MAX_TEXT} bytes"
            )
        found, counts = string_arrays.Gathered(), [0] if ends else []
        for begin, end in itertools.pairwise(ends):
            found.add(of_row(items[begin:end]))
            counts.append(len(found))
        return found.taken(), np.array(counts, splits.dtype)

    return run


@array_kernel("UnsortedSegmentJoin")
def unsorted_segment_join(node: KernelNode) -> Kernel:
    separator = node.attrs["separator"]

    def run(inputs: Any, ids: Any, number: Any) -> Any:
        if np.ndim(number):
            raise invalid("Number of segments must be a scalar")
        count = int(number)
        if count < 0:
            raise invalid(f"Number of segments must be non-negative but got {count}")
        if inputs.shape[: ids.ndim] != ids.shape:
            raise invalid(
                f"inputs.shape = {shape_text(inputs.shape)} does not start with segment_ids.shape = "
                f"{shape_text(ids.shape)}"
            )
        if ((ids < 0) | (ids >= count)).any():
            raise invalid("segment_ids are not allowed to exceed num_segments or to have negative values.")
        rest = inputs.shape[ids.ndim :]
        width = math.prod(rest)
        result = string_arrays.filled(count * width, b"", check_step)
        # The strings of each element of the result come together, and stay in their order.
        places = (ids.reshape(-1).astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
        order = np.argsort(places, kind="stable")
        sizes = unlocked.bincount(places, 0)
        used = np.flatnonzero(sizes)
        texts = each_string(string_arrays.moved(lambda x: x[order], [inputs.reshape(-1)]))
        for begin in range(0, used.size, STRINGS_PART):
            part = used[begin : begin + STRINGS_PART]
            joined = [separator.join(_joined(texts, size, separator)) for size in sizes[part].tolist()]
            result[part] = joined
        return result.reshape((count, *rest))

    return run


def _joined(texts: Iterator[bytes], count: int, separator: bytes) -> Iterator[bytes]:
    """What has to be joined for the join of the next strings: many of them are already, part by part."""
    if count <= STRINGS_PART:
        return itertools.islice(texts, count)
    sizes = [min(STRINGS_PART, count - begin) for begin in range(0, count, STRINGS_PART)]
    return (separator.join(itertools.islice(texts, size)) for size in sizes)
