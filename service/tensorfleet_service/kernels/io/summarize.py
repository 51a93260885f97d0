"""Tensors as text, cut short as TensorFlow cuts them; in pieces, as one string may have any length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.core.long_texts import decoded
from tensorfleet_service.kernels.values import boxed, host_array
from tensorfleet_service.kernels.variants import Variant
from tensorfleet_service.threads.running import check as check_step

# As in C, but for what is beyond ASCII.
_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)} | str.maketrans(
    {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
)


def element(value: Any, quote: bool = False) -> Iterator[str]:
    """The text of one element. Floats get the shorter of two precisions, if it reads back the same."""
    if not isinstance(value, bytes):
        yield _number(value)
        return
    if quote:
        yield '"'
    for part in decoded(value, check_step):
        yield part.translate(_ESCAPES)
    if quote:
        yield '"'


def _number(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (np.integer, int)):
        return str(value)
    if isinstance(value, (complex, np.complexfloating)):
        return "?"
    if isinstance(value, Variant):
        return f"<{value.parts()[0]}>"
    short, exact = (15, 17) if isinstance(value, np.float64) else (6, 9)
    number = value if isinstance(value, np.float64) else np.float32(value)
    text = f"{float(number):.{short}g}"
    return text if np.isnan(number) or type(number)(text) == number else f"{float(number):.{exact}g}"


def first_elements(value: Any, limit: int) -> Iterator[str]:
    """The first `limit` elements (all, if negative), each row but the outermost in brackets; in pieces."""
    array = host_array(boxed(value))
    limit = array.size if limit < 0 else limit
    yield from _rows(array, 0, [limit])
    if array.size > limit:
        yield "..."


def _rows(array: Any, depth: int, left: list[int]) -> Iterator[str]:
    if array.ndim == 0:
        if left[0] > 0:
            left[0] -= 1
            yield from element(array[()])
        return
    for i, row in enumerate(array):
        if array.ndim > 1:
            if left[0] > 0:
                yield "["
                yield from _rows(row, depth + 1, left)
                yield "]"
        elif left[0] <= 0:
            if depth:
                yield "..."
            return
        else:
            left[0] -= 1
            if not left[0] % 1024:
                check_step()
            if i:
                yield " "
            yield from element(row)


def both_ends(value: Any, limit: int) -> Iterator[str]:
    """Like `numpy.array2string`: `limit` elements at each end of a dimension (all, if negative)."""
    array = host_array(boxed(value))
    if array.ndim == 0:
        yield from element(array[()], quote=True)
    elif not array.size:
        yield "[]"
    else:
        yield from _ends(array, array.size if limit < 0 else limit, 0, array.ndim)


def _ends(array: Any, limit: int, depth: int, rank: int) -> Iterator[str]:
    if depth == rank:
        yield from element(array[()] if isinstance(array, np.ndarray) else array, quote=True)
        return
    last = depth == rank - 1
    space = " " if last else "\n" * (rank - depth - 1) + " " * (depth + 1)
    count = len(array)
    places: list[range] = [range(min(limit, count)), range(max(limit, count - limit), count)]
    between = "["
    for is_end, part in enumerate(places):
        if is_end and count > 2 * limit:
            yield between + "..."
            between = space
        for i in part:
            if not i % 1024:
                check_step()
            yield between
            between = space
            yield from _ends(array[i], limit, depth + 1, rank)
    yield "]"
