"""Kernels of the incomplete gamma and beta functions, in float64: series and continued fractions, each where
it converges.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.kernels.common import broadcast_error, in_blocks
from tensorfleet_service.kernels.math.special import lgamma, random_gamma_grad
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

_TINY = 1e-300
_PRECISION = 1e-16
_MOST_TERMS = 20_000


def _gamma_weight(xp: ModuleType, a: Any, x: Any) -> Any:
    """xᵃ e⁻ˣ / Γ(a)."""
    return xp.exp(a * xp.log(x) - x - lgamma(xp, a))


def _gamma_series(xp: ModuleType, a: Any, x: Any) -> Any:
    """P(a, x) of x < a + 1."""
    term = 1 / a
    total = term
    for n in range(1, _MOST_TERMS):
        check_step()
        term = term * x / (a + n)
        total = total + term
        if not bool((term > _PRECISION * total).any()):
            break
    return total * _gamma_weight(xp, a, x)


def _gamma_fraction(xp: ModuleType, a: Any, x: Any) -> Any:
    """Q(a, x) of x >= a + 1, by Lentz's evaluation of the continued fraction."""
    b = x + 1 - a
    c = xp.full_like(b, 1 / _TINY)
    d = 1 / b
    result = d
    for n in range(1, _MOST_TERMS):
        check_step()
        factor = -n * (n - a)
        b = b + 2
        d = factor * d + b
        d = 1 / xp.where(abs(d) < _TINY, _TINY, d)
        c = b + factor / c
        c = xp.where(abs(c) < _TINY, _TINY, c)
        result = result * c * d
        if not bool((abs(c * d - 1) > _PRECISION).any()):
            break
    return result * _gamma_weight(xp, a, x)


def _gamma(xp: ModuleType, a: Any, x: Any, upper: bool) -> Any:
    a, x = xp.broadcast_arrays(a, x)
    inside = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    lower_side = inside & (x < a + 1)
    upper_side = inside & ~lower_side
    result = xp.full(x.shape, xp.nan)
    for side, function, is_upper in (
        (lower_side, _gamma_series, False),
        (upper_side, _gamma_fraction, True),
    ):
        if bool(side.any()):
            values = function(xp, a[side], x[side])
            result[side] = values if is_upper == upper else 1 - values
    ends = (a > 0) & ((x == 0) | (x == xp.inf)) & xp.isfinite(a)
    result = xp.where(ends, xp.where((x == 0) == upper, 1.0, 0.0), result)
    return xp.where((a == xp.inf) & (x >= 0) & xp.isfinite(x), 1.0 if upper else 0.0, result)


def igamma(xp: ModuleType, a: Any, x: Any) -> Any:
    return _gamma(xp, a, x, upper=False)


def igammac(xp: ModuleType, a: Any, x: Any) -> Any:
    return _gamma(xp, a, x, upper=True)


def igamma_grad_a(xp: ModuleType, a: Any, x: Any) -> Any:
    """∂P/∂a, which gives the derivative of samples of the gamma distribution by `a`."""
    a, x = xp.broadcast_arrays(a, x)
    valid = (a > 0) & (x > 0)
    safe_a, safe_x = xp.where(valid, a, 1.0), xp.where(valid, x, 1.0)
    slope = random_gamma_grad(xp, safe_a, safe_x)
    result = -slope * _gamma_weight(xp, safe_a, safe_x) / safe_x
    result = xp.where((x == 0) & (a > 0), 0.0, result)
    return xp.where((a <= 0) | (x < 0) | xp.isnan(a) | xp.isnan(x), xp.nan, result)


def _beta_fraction(xp: ModuleType, a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of I(a, b; x), which converges fast where x < (a + 1) / (a + b + 2)."""

    def nonzero(value: Any) -> Any:
        return xp.where(abs(value) < _TINY, _TINY, value)

    c = xp.ones_like(x)
    d = 1 / nonzero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _MOST_TERMS):
        check_step()
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / nonzero(1 + even * d)
        c = nonzero(1 + even / c)
        result = result * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / nonzero(1 + odd * d)
        c = nonzero(1 + odd / c)
        result = result * d * c
        if not bool((abs(d * c - 1) > _PRECISION).any()):
            break
    return result


def betainc(xp: ModuleType, a: Any, b: Any, x: Any) -> Any:
    a, b, x = xp.broadcast_arrays(a, b, x)
    result = xp.full(x.shape, xp.nan)
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    if bool(inside.any()):
        p, q, at = a[inside], b[inside], x[inside]
        turned = at > (p + 1) / (p + q + 2)
        first, second = xp.where(turned, q, p), xp.where(turned, p, q)
        near = xp.where(turned, 1 - at, at)
        logarithm = lgamma(xp, p + q) - lgamma(xp, p) - lgamma(xp, q)
        weight = xp.exp(first * xp.log(near) + second * xp.log1p(-near) + logarithm)
        part = weight * _beta_fraction(xp, first, second, near) / first
        result[inside] = xp.where(turned, 1 - part, part)
    ends = (a > 0) & (b > 0) & ((x == 0) | (x == 1))
    return xp.where(ends, x, result)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Igamma": igamma,
    "Igammac": igammac,
    "IgammaGradA": igamma_grad_a,
    "Betainc": betainc,
}


def _flat(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of vectors for arrays of any rank, which are broadcast."""
    broadcast = np.broadcast_arrays(*arrays)
    return function(np, *(x.reshape(-1) for x in broadcast)).reshape(broadcast[0].shape)


@kernel(*_FUNCTIONS)
def _incomplete(node: KernelNode) -> Kernel:
    xp, function, target = node.xp, _FUNCTIONS[node.op], node.output_types[0].np

    def run(*inputs: Any) -> Any:
        # Betainc broadcasts scalars only; its messages presume that all other shapes are equal.
        first = inputs[0]
        name = "a"
        for other_name, other in zip("bx", inputs[1:], strict=False):
            error = broadcast_error(ValueError(), first, other)
            if error is not None and node.op == "Betainc":
                raise invalid(
                    f"Shapes of {name} and {other_name} are inconsistent: {shape_text(first.shape)} vs. "
                    f"{shape_text(other.shape)}"
                )
            if error is not None:
                raise error
            if first.ndim < other.ndim:
                first, name = other, other_name
        if xp is np:
            return in_blocks(partial(_flat, function), target, *inputs)
        arrays = [xp.asarray(value, np.float64) for value in inputs]
        shape = np.broadcast_shapes(*(value.shape for value in arrays))
        flat = [xp.broadcast_to(value, shape).reshape(-1) for value in arrays]
        return function(xp, *flat).reshape(shape).astype(target)

    return run
