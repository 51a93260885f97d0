"""The standard normal distribution's cumulative probability and its logarithm, in float32 and float64.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.12 (the series for large negative x).
"""

from __future__ import annotations

import math

from tensorfleet.core import dtypes
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.elementwise import log, square
from tensorfleet.ops.math.special import erf, erfc

# Between these bounds log(ndtr(x)) is precise; below ndtr(x) is nearly 0, above log1p is better.
_LOWER = {"float32": -10.0, "float64": -20.0}
_UPPER = {"float32": 5.0, "float64": 8.0}
_TERMS = 3


def ndtr(x: Tensor) -> Tensor:
    """The probability that a standard normal variable is at most x."""
    scaled = x * math.sqrt(0.5)
    magnitude = maximum(scaled, -scaled)
    tail = erfc(magnitude)
    far = where_v2(scaled > 0, 2 - tail, tail)
    return 0.5 * where_v2(magnitude < math.sqrt(0.5), 1 + erf(scaled), far)


def log_ndtr(x: Tensor) -> Tensor:
    """The logarithm of `ndtr(x)`, precise for large negative x.

    Raises:
        TypeError: x is neither float32 nor float64.
    """
    if x.dtype.base_dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported.")
    lower, upper = _LOWER[x.dtype.base_dtype.name], _UPPER[x.dtype.base_dtype.name]
    # Each way gets arguments that are fine for it also where it is not taken: gradients flow through all.
    middle = log(ndtr(minimum(maximum(x, lower), upper)))
    return where_v2(
        x > upper, -ndtr(-maximum(x, upper)), where_v2(x > lower, middle, _far_below(minimum(x, lower)))
    )


def _far_below(x: Tensor) -> Tensor:
    """The asymptotic series for x much below 0."""
    squared = square(x)
    total, term = 1.0 + 0 * x, 1.0
    power = squared * 0 + 1
    for k in range(1, _TERMS + 1):
        term *= -(2 * k - 1)
        power = power * squared
        total = total + term / power
    return -0.5 * squared - log(-x) - 0.5 * math.log(2 * math.pi) + log(total)
