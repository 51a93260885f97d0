"""Kernels of `tensorfleet.ops.math.special`: error and gamma functions.

All compute in float64, by series that are accurate to a few units in its last place; arrays are cut into
blocks, so that the many passes over each block stay within the processor's cache. Of large float32 arrays the
compiled kernels compute erf in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import broadcast_error, in_blocks
from tensorfleet_service.kernels.math.chebyshev import ERF, ERFC, ERFINV, LGAMMA, NDTRI, STIRLING
from tensorfleet_service.kernels.math.compiled import elementwise
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.threads.running import check as check_step

Function = Callable[[ModuleType, Any], Any]

_WORTH = 64  # elements from which the compiled erf is quicker
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _erfc_tail(xp: ModuleType, x: Any) -> Any:
    """erfc of x >= 1/2."""
    x = xp.minimum(x, 30.0)  # beyond, erfc is 0 in float64
    # x² to more digits than float64 has: a part that is exact, and the rest.
    coarse = xp.rint(x * 16) / 16
    exponential = xp.exp(-coarse * coarse) * xp.exp((coarse - x) * (coarse + x))
    return exponential * ERFC((x - 3.75) / (x + 3.75)) / (1 + 2 * x)


def erf(xp: ModuleType, x: Any) -> Any:
    magnitude = abs(x)
    near = x * ERF(xp.minimum(x * x, 0.25))
    far = xp.copysign(1 - _erfc_tail(xp, xp.maximum(magnitude, 0.5)), x)
    return xp.where(magnitude < 0.5, near, far)


def erfc(xp: ModuleType, x: Any) -> Any:
    magnitude = abs(x)
    tail = _erfc_tail(xp, xp.maximum(magnitude, 0.5))
    far = xp.where(x < 0, 2 - tail, tail)
    return xp.where(magnitude < 0.5, 1 - x * ERF(xp.minimum(x * x, 0.25)), far)


def erfinv(xp: ModuleType, x: Any) -> Any:
    inside = xp.sqrt(-xp.log((1 - x) * (1 + x)))
    result = x * ERFINV(xp.minimum(inside, 6.25))
    return xp.where(abs(x) == 1, xp.copysign(xp.inf, x), result)


def ndtri(xp: ModuleType, p: Any) -> Any:
    lower = xp.minimum(p, 1 - p)
    z = xp.sqrt(-2 * xp.log(lower))
    tail = -z * NDTRI(1 / xp.clip(z, 2.7, 40.0))
    tail = xp.where(lower == 0, -xp.inf, tail)
    tail = xp.where(p > 0.5, -tail, tail)
    return xp.where(lower < 0.02, tail, math.sqrt(2) * erfinv(xp, 2 * p - 1))


def _lgamma_positive(xp: ModuleType, x: Any) -> Any:
    small = x < 1
    middle = xp.clip(x, 1.0, 3.0)
    # With x + 1 in place of small x; its rounding must not reach the zeros at 1 and 2.
    zeros = xp.where(small, x * (x - 1), (middle - 1) * (middle - 2))
    result = zeros * LGAMMA(xp.where(small, x + 1, middle))
    result = xp.where(small, result - xp.log(x), result)
    large = xp.maximum(x, 3.0)
    stirling = (large - 0.5) * (xp.log(large) - 1) + (_HALF_LOG_2PI - 0.5) + STIRLING(1 / large) / large
    return xp.where(x < 3, result, stirling)


def lgamma(xp: ModuleType, x: Any) -> Any:
    nonnegative = xp.where(x > 0, x, 1 - x)
    result = _lgamma_positive(xp, nonnegative)
    # Γ(x) Γ(1 - x) = π / sin(πx)
    reflected = math.log(math.pi) - xp.log(abs(xp.sin(math.pi * (x - xp.rint(x))))) - result
    result = xp.where(x > 0, result, reflected)
    return xp.where(xp.isinf(x), xp.inf, result)


def digamma(xp: ModuleType, x: Any) -> Any:
    positive = xp.where(x > 0, x, 1 - x)
    result = xp.zeros_like(positive)
    for _ in range(10):  # ψ(x) = ψ(x + 1) - 1 / x
        low = positive < 10
        result = xp.where(low, result - 1 / positive, result)
        positive = xp.where(low, positive + 1, positive)
    square = 1 / (positive * positive)
    series = 0.0 * square
    # B₂ₖ / 2k, of the asymptotic series
    for term in (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        series = square * (series + term)
    result = result + (xp.log(positive) - 0.5 / positive - series)
    # ψ(1 - x) - ψ(x) = π / tan(πx)
    reflected = result - math.pi / xp.tan(math.pi * (x - xp.rint(x)))
    reflected = xp.where(x == xp.floor(x), xp.nan, reflected)  # the poles
    return xp.where(x > 0, result, reflected)


# B₂ₖ / (2k)!
_EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
)


_DIRECT = 20
"""Size of a negative q from which the zeta function is computed by that of positive ones."""


def zeta(xp: ModuleType, x: Any, q: Any) -> Any:
    """The sum of (q + k)⁻ˣ."""
    x, q = xp.broadcast_arrays(x, q)
    whole = q == xp.floor(q)
    undefined = (x < 1) | ((q <= 0) & ((x != xp.floor(x)) | (whole & (x % 2 != 0))))
    low = (q < -_DIRECT) & ~undefined & xp.isfinite(q)
    total = _zeta(xp, x, xp.where(undefined | (q < -_DIRECT), 1.0, q))
    if bool(low.any()):
        # The terms of negative numbers are, but for the sign, the first ones of another such sum.
        steps = -xp.floor(q)
        rest = xp.where(low, q + steps, 0.5)
        first = _zeta(xp, x, 1 - rest) - _zeta(xp, x, xp.where(low, steps, 1.0) + 1 - rest)
        total = xp.where(low, xp.where(x % 2 == 0, first, -first) + _zeta(xp, x, rest), total)
    total = xp.where(whole & (q <= 0), xp.inf, total)
    return xp.where(x == 1, xp.inf, xp.where(undefined, xp.nan, total))


def _zeta(xp: ModuleType, x: Any, q: Any) -> Any:
    """The first terms one by one, the rest by Euler and Maclaurin's formula."""
    total = xp.zeros(q.shape)
    while True:
        low = q < 12
        if not bool(low.any()):
            break
        total = xp.where(low, total + q**-x, total)
        q = xp.where(low, q + 1, q)
    power = q**-x
    total = total + power * q / (x - 1) + 0.5 * power
    factor = x * power / q
    for k, coefficient in enumerate(_EULER_MACLAURIN):
        total = total + coefficient * factor
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q)
    return total


def polygamma(xp: ModuleType, n: Any, x: Any) -> Any:
    factorial = xp.exp(lgamma(xp, n + 1.0))
    derivative = xp.where(n % 2 == 0, -factorial, factorial) * zeta(xp, xp.maximum(n + 1.0, 1.5), x)
    derivative = xp.where((n > 0) & (n == xp.floor(n)), derivative, xp.nan)
    return xp.where(n == 0, digamma(xp, x), derivative)


_MOST_BY_SERIES = 1e5
"""The parameter of a gamma distribution up to which the derivatives of its samples are sums of a series."""


def random_gamma_grad(xp: ModuleType, alpha: Any, sample: Any) -> Any:
    """The derivative of a sample of the gamma distribution by its parameter, at a fixed probability.

    Raises:
        OpError: the step has ended.
    """
    a, x = xp.broadcast_arrays(alpha, sample)
    large = a > _MOST_BY_SERIES
    far = ~large & (x > 2 * a + 100)
    near = ~(large | far)
    result = _gamma_grad_series(xp, xp.where(near, a, 1.0), xp.where(near, x, 1.0))
    if bool(far.any()):
        result = xp.where(far, _gamma_grad_far(xp, xp.where(far, a, 1.0), xp.where(far, x, 200.0)), result)
    if bool(large.any()):
        result = xp.where(large, _gamma_grad_large(xp, a, x), result)
    return result


def _gamma_grad_series(xp: ModuleType, a: Any, x: Any) -> Any:
    """-∂P/∂α by the density. P = xᵅ e⁻ˣ S / Γ(α + 1), where S = Σ xⁿ / ((α + 1) … (α + n))."""
    term = xp.ones(x.shape)
    total, slope, harmonic = term, xp.zeros(x.shape), xp.zeros(x.shape)
    n = 0
    while True:
        check_step()
        n += 1
        term = term * x / (a + n)
        harmonic = harmonic + 1 / (a + n)
        total = total + term
        slope = slope - term * harmonic
        # Not before the terms shrink.
        if not bool(((term > 1e-17 * total) | (a + n < x)).any()):
            break
    return -(x / a) * ((xp.log(x) - digamma(xp, a + 1.0)) * total + slope)


def _gamma_grad_far(xp: ModuleType, a: Any, x: Any) -> Any:
    """By the asymptotic series of 1 - P for x well above the parameter."""
    term, slope = xp.ones(x.shape), xp.zeros(x.shape)
    total, total_slope = term, slope
    for n in range(1, 60):
        slope = (slope * (a - n) + term) / x
        term = term * (a - n) / x
        total, total_slope = total + term, total_slope + slope
    return total * (xp.log(x) - digamma(xp, a)) + total_slope


def _gamma_grad_large(xp: ModuleType, a: Any, x: Any) -> Any:
    """By Wilson and Hilferty: the cube root of a sample is nearly normal."""
    root = xp.cbrt(x / a)
    z = (root - 1 + 1 / (9 * a)) * 3 * xp.sqrt(a)
    return root**3 + 3 * a * root**2 * (1 / (9 * a * a) - z / (6 * a**1.5))


_FUNCTIONS: dict[str, Function] = {
    "Erf": erf,
    "Erfc": erfc,
    "Erfinv": erfinv,
    "Ndtri": ndtri,
    "Lgamma": lgamma,
    "Digamma": digamma,
}


_STEPS = {"Erf": "erf", "Lgamma": "lgamma"}
"""Functions that compiled kernels have."""


@kernel(*_FUNCTIONS)
def _special(node: KernelNode) -> Kernel:
    xp = node.xp
    function = partial(_FUNCTIONS[node.op], xp)
    target = node.output_types[0].np
    assert target is not None

    def whole(x: Any) -> Any:
        return function(x.astype(np.float64)).astype(target)

    def blocks(x: Any) -> Any:
        return in_blocks(function, target, x)

    step = _STEPS.get(node.op)
    compiled = None if step is None else elementwise([(step, "out", ("x0",))], 1, 0)

    def in_float32(x: Any) -> Any:
        if type(x) is np.ndarray and x.size >= _WORTH and x.dtype == np.float32 and x.flags.c_contiguous:
            return compiled(x)  # type: ignore[misc]
        return blocks(x)

    return (blocks if compiled is None else in_float32) if xp is np else whole


_OF_TWO: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "Zeta": zeta,
    "Polygamma": polygamma,
    "RandomGammaGrad": random_gamma_grad,
}


@kernel(*_OF_TWO)
def _special_of_two(node: KernelNode) -> Kernel:
    xp = node.xp
    function = _OF_TWO[node.op]
    target = node.output_types[0].np
    assert target is not None

    def special(x: Any, y: Any) -> Any:
        error = broadcast_error(ValueError(), x, y)
        if error is not None:
            raise error
        if xp is np:
            return in_blocks(partial(function, xp), target, x, y)
        return xp.asarray(function(xp, x.astype(np.float64), y.astype(np.float64))).astype(target)

    return special
