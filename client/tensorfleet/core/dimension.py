"""`tf.Dimension`: a size of a shape, or an unknown size."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, floordiv, ge, gt, le, lt, mod, mul, sub
from typing import Any

import numpy as np


class Dimension:
    """One size of a shape, perhaps unknown (`tf.Dimension`).

    Arithmetic with an unknown size gives an unknown size, a comparison with one gives None.
    """

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]  # equality can be None, so no hash agrees with it

    _value: int | None

    def __init__(self, value: Any) -> None:
        self._value = as_size(value)

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both could be the same size."""
        size = as_size(other)
        return self._value is None or size is None or self._value == size

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless both could be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """The size that is known of either. Raises ValueError where they differ."""
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    def _combine(self, operator: Callable[[int, int], int], other: Any) -> Dimension:
        size = as_size(other)
        return Dimension(None if self._value is None or size is None else operator(self._value, size))

    def _try_combine(self, operator: Callable[[int, int], int], other: Any) -> Dimension:
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented  # type: ignore[no-any-return]  # the operator's protocol
        return self._combine(operator, other)

    def _compare(self, operator: Callable[[int, int], bool], other: Any) -> bool | None:
        size = as_size(other)
        return None if self._value is None or size is None else operator(self._value, size)

    def __add__(self, other: Any) -> Dimension:
        return self._try_combine(add, other)

    def __radd__(self, other: Any) -> Dimension:
        total: Dimension = self + other
        return total

    def __sub__(self, other: Any) -> Dimension:
        return self._try_combine(sub, other)

    def __rsub__(self, other: Any) -> Dimension:
        return as_dimension(other)._combine(sub, self)

    def __mul__(self, other: Any) -> Dimension:
        return self._try_combine(mul, other)

    def __rmul__(self, other: Any) -> Dimension:
        product: Dimension = self * other
        return product

    def __floordiv__(self, other: Any) -> Dimension:
        return self._try_combine(floordiv, other)

    def __rfloordiv__(self, other: Any) -> Dimension:
        return as_dimension(other)._combine(floordiv, self)

    def __mod__(self, other: Any) -> Dimension:
        return self._combine(mod, other)

    def __rmod__(self, other: Any) -> Dimension:
        return as_dimension(other)._combine(mod, self)

    def __truediv__(self, other: Any) -> Dimension:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', "
            "please use // instead"
        )

    def __rtruediv__(self, other: Any) -> Dimension:
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', "
            "please use // instead"
        )

    def __lt__(self, other: Any) -> bool | None:
        return self._compare(lt, other)

    def __le__(self, other: Any) -> bool | None:
        return self._compare(le, other)

    def __gt__(self, other: Any) -> bool | None:
        return self._compare(gt, other)

    def __ge__(self, other: Any) -> bool | None:
        return self._compare(ge, other)

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        try:
            size = as_size(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or size is None else self._value == size

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        equal = self.__eq__(other)
        return equal if equal is None or equal is NotImplemented else not equal

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]  # an unknown size: Python's own TypeError

    __index__ = __int__

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)


def as_size(value: Any) -> int | None:
    """The plain size that `value` (an integer, a whole float, None or a Dimension) stands for.

    Version 2 of TensorFlow refuses floats; programs of version 1 divide sizes by `/`.
    """
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value._value
    if isinstance(value, (float, np.floating)):
        if not value.is_integer():
            raise ValueError(f"Ambiguous dimension: {value}")
        value = int(value)
    try:
        size = value if isinstance(value, int) else int(value.__index__())
    except AttributeError:
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, "
            f"got value '{value!r}' with type '{type(value)!r}'"
        ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def as_dimension(value: Any) -> Dimension:
    """`value` itself if it is a Dimension, else the Dimension of that size."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Dimension | int | None) -> int | None:
    """The plain size of a Dimension; anything else is returned as it is (`tf.dimension_value`)."""
    return dimension.value if isinstance(dimension, Dimension) else dimension
