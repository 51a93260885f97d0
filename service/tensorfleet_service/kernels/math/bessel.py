"""Bessel functions, and integrals of exponentials: expint, dawsn, Fresnel's integrals, the dilogarithm.

All compute in float64. Power series are used where their terms do not cancel, elsewhere integrals of analytic
functions that decay like exp(-v²), which the trapezoidal rule computes to the last digits with a few dozen
points. An infinite x gives NaN, and a negative one an infinity, where TensorFlow does so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import in_blocks
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel

Function = Callable[[ModuleType, Any], Any]

_STEP = 0.25
_POINTS = 28
_EULER = 0.57721566490153286
_SPLIT = 2.5
"""Argument from which functions of the second kind are computed by integrals in place of series."""


def _scaled_i(xp: ModuleType, order: int, x: Any) -> Any:
    """exp(-x) I(x) of x >= 0."""
    near = xp.minimum(x, 30.0)
    square = near * near / 4
    term = xp.ones_like(near) if order == 0 else near / 2
    total = term
    for k in range(1, 80):
        term = term * square / (k * (k + order))
        total = total + term
    far = xp.maximum(x, 30.0)
    part = xp.ones_like(far)
    series = part
    for k in range(1, 25):
        part = part * ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * far)
        series = series + part
    return xp.where(x <= 30, total * xp.exp(-near), series / xp.sqrt(2 * math.pi * far))


def bessel_i(order: int, scaled: bool) -> Function:
    def compute(xp: ModuleType, x: Any) -> Any:
        size = abs(x)
        result = _scaled_i(xp, order, size)
        if not scaled:
            half = xp.exp(size / 2)  # exp(x) itself overflows before I(x) does
            result = result * half * half
        result = xp.where(xp.isinf(x), 0.0 if scaled else xp.nan, result)
        return result if order == 0 else xp.copysign(result, x)

    return compute


def _decaying(xp: ModuleType, order: int, z: Any) -> Any:
    """exp(z) K(z) of |z| >= 2.5 in the right half plane, or on its edge."""
    total = 0.5 + 0 * z if order == 0 else 0 * z
    for i in range(1, _POINTS):
        v = _STEP * i
        root = xp.sqrt(1 + v * v / (2 * z))
        total = total + math.exp(-v * v) * (1 / root if order == 0 else v * v * root)
    return xp.sqrt(math.pi / (2 * z)) * total * (2 * _STEP / math.sqrt(math.pi) * (1 if order == 0 else 2))


def _series(xp: ModuleType, order: int, square: Any, half: Any) -> tuple[Any, Any]:
    """The sums of tₖ and of tₖ (Hₖ + Hₖ₊ₙ), where tₖ = squareᵏ halfⁿ / (k! (k + n)!) for the order n."""
    term = xp.ones_like(half) if order == 0 else half
    harmonic = float(order)
    plain, weighted = term, term * harmonic
    for k in range(1, 25):
        term = term * square / (k * (k + order))
        harmonic += 1 / k + 1 / (k + order)
        plain, weighted = plain + term, weighted + term * harmonic
    return plain, weighted


def bessel_k(order: int, scaled: bool) -> Function:
    def compute(xp: ModuleType, x: Any) -> Any:
        near = xp.clip(x, 0.0, _SPLIT)
        plain, weighted = _series(xp, order, near * near / 4, near / 2)
        logarithm = xp.log(near / 2) + _EULER
        if order == 0:
            small = weighted / 2 - logarithm * plain
        else:
            small = 1 / near + logarithm * plain - weighted / 2
        far = xp.maximum(x, _SPLIT)
        large = _decaying(xp, order, far)
        if scaled:
            small = small * xp.exp(near)
        else:
            large = large * xp.exp(-far)
        result = xp.where(x < _SPLIT, small, large)
        result = xp.where(xp.isinf(x), 0.0, result)
        return xp.where(x <= 0, xp.inf, result)

    return compute


def _hankel(xp: ModuleType, order: int, x: Any) -> Any:
    """J(x) + i Y(x) of x >= 2.5."""
    z = -1j * x
    value = _decaying(xp, order, z) * xp.exp(1j * x)
    return value * (-2j / math.pi) if order == 0 else value * (-2 / math.pi)


def bessel_j(order: int) -> Function:
    def compute(xp: ModuleType, x: Any) -> Any:
        size = abs(x)
        near = xp.minimum(size, _SPLIT)
        small, _ = _series(xp, order, -near * near / 4, near / 2)
        far = xp.where(xp.isfinite(size), xp.maximum(size, _SPLIT), _SPLIT)
        result = xp.where(size < _SPLIT, small, _hankel(xp, order, far).real)
        result = xp.where(xp.isfinite(x), result, xp.nan)
        return result if order == 0 else xp.where(x < 0, -result, result)

    return compute


def bessel_y(order: int) -> Function:
    def compute(xp: ModuleType, x: Any) -> Any:
        near = xp.clip(x, 0.0, _SPLIT)
        plain, weighted = _series(xp, order, -near * near / 4, near / 2)
        small = 2 * (xp.log(near / 2) + _EULER) * plain - weighted
        if order == 1:
            small = small - 2 / near
        far = xp.where(xp.isfinite(x), xp.maximum(x, _SPLIT), _SPLIT)
        result = xp.where(x < _SPLIT, small / math.pi, _hankel(xp, order, far).imag)
        result = xp.where(xp.isfinite(x), result, xp.nan)
        return xp.where(x <= 0, -xp.inf, result)

    return compute


def dawsn(xp: ModuleType, x: Any) -> Any:
    """exp(-x²) ∫₀ˣ exp(t²) dt; away from zero by Rybicki's sum over a grid of exponentials."""
    near = xp.clip(x, -0.5, 0.5)
    term = total = near
    for k in range(1, 18):
        term = term * (-2 * near * near) / (2 * k + 1)
        total = total + term
    far = xp.where(abs(x) > 1e8, 1e8, xp.where(xp.isnan(x), 1.0, x))
    place = 2 * xp.rint(far / (2 * _STEP))
    rest = far - place * _STEP
    result = xp.zeros_like(far)
    for n in range(-27, 28, 2):
        result = result + xp.exp(-((rest - n * _STEP) ** 2)) / (n + place)
    result = xp.where(abs(x) <= 0.5, total, result / math.sqrt(math.pi))
    return xp.where(abs(x) > 1e8, 0.5 / x, xp.where(xp.isnan(x), xp.nan, result))


def expint(xp: ModuleType, x: Any) -> Any:
    """The exponential integral Ei."""
    positive = xp.clip(x, 0.0, 40.0)
    term = xp.ones_like(positive)
    total = xp.zeros_like(positive)
    for k in range(1, 150):
        term = term * positive / k
        total = total + term / k
    near = _EULER + xp.log(positive) + total
    far = xp.clip(x, 40.0, 1e300)
    part = xp.ones_like(far)
    series = part
    for k in range(1, 38):
        part = part * k / far
        series = series + part
    half = xp.exp(far / 2)
    result = xp.where(x <= 40, near, half / far * series * half)
    return xp.where(x == 0, -xp.inf, xp.where((x > 0) & xp.isfinite(x), result, xp.nan))


def fresnel(sine: bool) -> Function:
    """∫₀ˣ sin(πt²/2) dt, or of the cosine."""

    def compute(xp: ModuleType, x: Any) -> Any:
        size = abs(x)
        near = xp.minimum(size, 1.7)
        # exp(iπt²/2), integrated term by term
        angle = 0.5j * math.pi * near * near
        term = near + 0j
        total = term
        for k in range(1, 45):
            term = term * angle / k
            total = total + term / (2 * k + 1)
        far = xp.clip(xp.where(xp.isnan(size), 1.7, size), 1.7, 1e9)
        # The rest up to infinity is an erfc of a complex number, z = √π/2 (1 - i) x.
        z = math.sqrt(math.pi) / 2 * (1 - 1j) * far
        square = z * z
        integral = 0.5 / square
        for i in range(1, _POINTS):
            t = _STEP * i
            integral = integral + math.exp(-t * t) / (square + t * t)
        # The angle πx²/2, without whole turns.
        turn = (far * far) % 4.0
        tail = z / math.pi * 2 * _STEP * integral * xp.exp(0.5j * math.pi * turn)
        large = (1 + 1j) / 2 * (1 - tail)
        result = xp.where(size < 1.7, total, large)
        result = xp.where(xp.isinf(size), 0.5 + 0.5j, result)
        value = result.imag if sine else result.real
        return xp.where(xp.isnan(x), xp.nan, xp.where(x < 0, -value, value))

    return compute


def _near_one(xp: ModuleType, x: Any) -> Any:
    """spence of x in [1/2, 3/2]: the sum of (1 - x)ᵏ / k²."""
    rest = 1 - x
    power = rest
    total = xp.zeros_like(x)
    for k in range(1, 56):
        total = total + power / (k * k)
        power = power * rest
    return total


def spence(xp: ModuleType, x: Any) -> Any:
    """The dilogarithm of 1 - x: -∫₁ˣ log(t) / (t - 1) dt."""
    inverted = x > 1.5
    y = xp.where(inverted, 1 / xp.maximum(x, 1.5), xp.clip(x, 0.0, 1.5))
    reflected = y < 0.5
    inner = _near_one(xp, xp.where(reflected, 1 - y, y))
    safe = xp.where(y > 0, y, 1.0)
    products = xp.log(safe) * xp.log1p(-xp.where(reflected, y, 0.0))
    result = xp.where(reflected, math.pi**2 / 6 - products - inner, inner)
    logarithm = xp.log(xp.maximum(x, 1.5))
    result = xp.where(inverted, -result - 0.5 * logarithm * logarithm, result)
    return xp.where((x >= 0) & xp.isfinite(x), result, xp.nan)


_FUNCTIONS: dict[str, Function] = {
    "BesselI0": bessel_i(0, False),
    "BesselI0e": bessel_i(0, True),
    "BesselI1": bessel_i(1, False),
    "BesselI1e": bessel_i(1, True),
    "BesselK0": bessel_k(0, False),
    "BesselK0e": bessel_k(0, True),
    "BesselK1": bessel_k(1, False),
    "BesselK1e": bessel_k(1, True),
    "BesselJ0": bessel_j(0),
    "BesselJ1": bessel_j(1),
    "BesselY0": bessel_y(0),
    "BesselY1": bessel_y(1),
    "Dawsn": dawsn,
    "Expint": expint,
    "FresnelCos": fresnel(sine=False),
    "FresnelSin": fresnel(sine=True),
    "Spence": spence,
}


@kernel(*_FUNCTIONS)
def _bessel(node: KernelNode) -> Kernel:
    xp, function, target = node.xp, _FUNCTIONS[node.op], node.output_types[0].np

    def run(x: Any) -> Any:
        if xp is not np:
            return function(xp, xp.asarray(x, np.float64)).astype(target)
        return in_blocks(partial(function, xp), target, x)

    return run
