"""Tensors as text, cut short as TensorFlow cuts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet_service.kernels.values import boxed, host_array
from tensorfleet_service.kernels.variants import Variant
from tensorfleet_service.threads.running import check as check_step

# As in C, but for what is beyond ASCII.
_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)} | str.maketrans(
    {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
)


def element(value: Any, quote: bool = False) -> str:
    """The text of one element. Floats get the shorter of two precisions, if it reads back the same."""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "backslashreplace").translate(_ESCAPES)
        return f'"{text}"' if quote else text
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


def first_elements(value: Any, limit: int) -> str:
    """The first `limit` elements (all, if negative), each row but the outermost in brackets."""
    array = host_array(boxed(value))
    limit = array.size if limit < 0 else limit
    left = [limit]
    text = "".join(_rows(array, 0, left))
    return text + "..." if array.size > limit else text


def _rows(array: Any, depth: int, left: list[int]) -> Iterator[str]:
    if array.ndim == 0:
        if left[0] > 0:
            left[0] -= 1
            yield element(array[()])
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
            yield (" " if i else "") + element(row)


def both_ends(value: Any, limit: int) -> str:
    """Like `numpy.array2string`: `limit` elements at each end of a dimension (all, if negative)."""
    array = host_array(boxed(value))
    if array.ndim == 0:
        return element(array[()], quote=True)
    if not array.size:
        return "[]"
    return _ends(array, array.size if limit < 0 else limit, 0, array.ndim)


def _ends(array: Any, limit: int, depth: int, rank: int) -> str:
    if depth == rank:
        return element(array[()] if isinstance(array, np.ndarray) else array, quote=True)
    last = depth == rank - 1
    space = " " if last else "\n" * (rank - depth - 1) + " " * (depth + 1)
    count = len(array)

    def texts(places: range) -> Iterator[str]:
        for i in places:
            if not i % 1024:
                check_step()
            yield _ends(array[i], limit, depth + 1, rank)

    shown = [*texts(range(min(limit, count)))]
    if count > 2 * limit:
        shown.append("...")
    shown += texts(range(max(limit, count - limit), count))
    return "[" + space.join(shown) + "]"
