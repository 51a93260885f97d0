"""Splitting of strings, n-grams, and joins by segments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, invalid, shape_text, string_vector

MAX_TEXT = 1 << 30
"""Limit on the bytes of all n-grams of one step."""


def _parts(texts: Any, split: Callable[[bytes], list[bytes]]) -> Any:
    """The parts of each text, as a SparseTensor."""
    if texts.ndim != 1:
        raise invalid(f"input must be a vector, got shape: {shape_text(texts.shape)}")
    rows = [split(text) for text in texts.tolist()]
    counts = np.array([len(row) for row in rows], np.int64)
    row = np.repeat(np.arange(len(rows)), counts)
    column = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    indices = np.stack([row, column], 1).astype(np.int64)
    shape = np.array([len(rows), int(counts.max()) if len(rows) else 0], np.int64)
    return indices, string_vector([part for row in rows for part in row]), shape


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

        def split(text: bytes) -> list[bytes]:
            if not signs:
                return [text[i : i + 1] for i in range(len(text))]
            if not text:
                return []
            parts = text.translate(table).split(first)
            return [part for part in parts if part] if skip_empty else parts

        return _parts(texts, split)

    return run


@array_kernel("StringSplitV2")
def string_split_v2(node: KernelNode) -> Kernel:
    limit = node.attrs["maxsplit"]

    def run(texts: Any, sep: Any) -> Any:
        if sep.ndim:
            raise invalid(f"sep must be a scalar, got shape: {shape_text(sep.shape)}")
        sign = sep.item() or None
        return _parts(texts, lambda text: text.split(sign, limit))

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
        return [separator.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]

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
        for before, end in itertools.pairwise(ends):
            if not before <= end <= len(data):
                raise invalid(f"Invalid split value {end}, must be in [{before}, {len(data)}]")
        if ends and ends[-1] != len(data):
            raise invalid(f"Last split value must be data size. Expected {len(data)}, got {ends[-1]}")
        text = sum(map(len, data.tolist())) + len(data) * len(separator)
        if text * sum(widths) > MAX_TEXT:
            raise errors.ResourceExhaustedError(
                None, None, f"The n-grams of {text} bytes, {widths} wide, are larger than {MAX_TEXT} bytes"
            )
        items = data.tolist()
        rows = [of_row(items[begin:end]) for begin, end in itertools.pairwise(ends)]
        counts = np.cumsum([0, *map(len, rows)]) if ends else np.zeros(0)
        return string_vector([ngram for row in rows for ngram in row]), counts.astype(splits.dtype)

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
        columns = inputs.reshape(ids.size, -1) if inputs.size else np.empty((ids.size, 0), object)
        parts: list[list[list[bytes]]] = [[[] for _ in range(columns.shape[1])] for _ in range(count)]
        for at, row in zip(ids.reshape(-1).tolist(), columns.tolist(), strict=True):
            for i, text in enumerate(row):
                parts[at][i].append(text)
        joined = [separator.join(texts) for row in parts for texts in row]
        return string_vector(joined).reshape((count, *rest))

    return run
