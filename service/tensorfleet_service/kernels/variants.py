"""Base class of values on variant edges that are not tensors.

A single value is the object itself, or in an array of rank 0; several are an array of objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.values import invalid


class Variant:
    """A value that may define zeros and sums; those of most kinds do not."""

    __slots__ = ()

    def zeros_like(self, xp: Any) -> Variant:
        raise self._lacks("zeros")

    def plus(self, other: Any) -> Variant:
        raise self._lacks("a sum")

    def parts(self) -> tuple[str, bytes, list[Any]]:
        """What a message has: the kind's name in TensorFlow, bytes, and tensors."""
        raise self._lacks("form in which it could be sent")

    def _lacks(self, what: str) -> errors.OpError:
        text = f"A variant with a {type(self).__name__} has no {what}"
        return errors.InternalError(None, None, text)


def unboxed(value: Any) -> Any:
    """The object itself, also from an array of rank 0."""
    if isinstance(value, np.ndarray) and value.dtype == object and not value.shape:
        return value[()]
    return value


def zeros_like(value: Any, xp: Any) -> Any:
    """Zeros in the form of a value: of a variant, of strings, or of a tensor."""
    value = unboxed(value)
    if isinstance(value, Variant):
        return value.zeros_like(xp)
    if isinstance(value, bytes):
        return b""
    if isinstance(value, np.ndarray) and value.dtype == object:
        made = np.empty(value.shape, object)
        for index in np.ndindex(value.shape):
            made[index] = zeros_like(value[index], xp)
        return made
    if not hasattr(value, "dtype"):
        raise invalid(f"A variant with a {type(value).__name__} has no zeros")
    return xp.zeros_like(value)[()]


def plus(a: Any, b: Any) -> Any:
    """The sum of two values of one form."""
    a, b = unboxed(a), unboxed(b)
    if isinstance(a, Variant):
        return a.plus(b)
    if getattr(a, "shape", None) is None or getattr(b, "shape", None) is None:
        raise invalid(f"A variant with a {type(a).__name__} has no sum")
    if a.shape != b.shape:
        raise invalid(f"Elements of shapes {list(a.shape)} and {list(b.shape)} cannot be added")
    if a.dtype == object:
        made = np.empty(a.shape, object)
        for index in np.ndindex(a.shape):
            made[index] = plus(a[index], b[index])
        return made
    return a + b
