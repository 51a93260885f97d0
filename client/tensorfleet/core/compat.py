"""`tf.compat`: text and bytes; and `tf.compat.v1`, which is this library itself."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from tensorfleet.core.tensor_util import as_bytes as _as_bytes

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """Text encoded; bytes as they are (`tf.compat.as_bytes`). Raises TypeError."""
    return bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else _as_bytes(bytes_or_text)


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Bytes decoded; text as it is (`tf.compat.as_text`). Raises TypeError."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """`str(value)`, where bytes are decoded (`tf.compat.as_str_any`)."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as text; anything else as it is (`tf.compat.path_to_str`)."""
    if hasattr(path, "__fspath__"):
        path = as_str_any(path.__fspath__())
    return path
