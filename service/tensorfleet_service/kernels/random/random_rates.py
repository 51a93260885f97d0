"""Gamma and Poisson numbers as TensorFlow draws them from a Philox stream.

Each output takes numbers from a part of the stream of its own until one is accepted. So all outputs are
computed at the same time, each at its own position, and those that are done drop out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tensorfleet_service.state.philox import SAMPLES_PER_OUTPUT, Array, Stream, _box_muller, _unit_double
from tensorfleet_service.threads.running import check as check_step

_KNUTH = 10.0
"""Below this rate the numbers of a Poisson process are counted; from here on they are drawn by rejection."""

_LOG_GAMMA_MAX = 2.5e305
"""The argument from which the logarithm of the gamma function is infinite, where Python's raises an error."""


class _Draws:
    """Pairs of float64 numbers, each output's from its own part of the stream, the second of a pair first."""

    def __init__(self, stream: Stream, outputs: Array, apart: int = SAMPLES_PER_OUTPUT) -> None:
        self._stream = stream
        self._place = outputs.astype(np.uint64) * np.uint64(apart)
        self._kept = {kind: np.empty(len(outputs)) for kind in ("uniform", "normal")}
        self._has = {kind: np.zeros(len(outputs), bool) for kind in ("uniform", "normal")}

    def uniform(self, rows: Array) -> Array:
        """The next number in [0, 1) of each of these outputs."""
        return self._next("uniform", rows)

    def normal(self, rows: Array) -> Array:
        """The next normally distributed number of each of these outputs."""
        return self._next("normal", rows)

    def _next(self, kind: str, rows: Array) -> Array:
        kept, has = self._kept[kind], self._has[kind]
        result = kept[rows]
        empty = ~has[rows]
        fresh = rows[empty]
        if len(fresh):
            bits = self._stream.at(self._place[fresh])
            self._place[fresh] += np.uint64(1)
            pairs = _unit_double(bits) if kind == "uniform" else _box_muller(bits, double=True)
            result[empty] = pairs[:, 1]
            kept[fresh] = pairs[:, 0]
        has[rows] = empty
        return result


_PART = 1 << 16
"""Number of outputs that are drawn together."""


def _in_parts(
    draw: Callable[[_Draws, Array], Array], stream: Stream, samples: int, parameters: Array
) -> Array:
    """[samples, *parameters.shape]: `draw` is called with some outputs' parts of the stream and parameters.

    Raises:
        OpError: the step has ended.
    """
    each = parameters.astype(np.float64).reshape(-1)
    result = np.empty(each.size * samples)  # outputs are counted by parameter first
    for begin in range(0, result.size, _PART):
        check_step()
        outputs = np.arange(begin, min(begin + _PART, result.size))
        result[begin : begin + _PART] = draw(_Draws(stream, outputs), each[outputs // samples])
    return result.reshape(each.size, samples).T.reshape(samples, *parameters.shape)


def gamma(stream: Stream, samples: int, alphas: Array) -> Array:
    """Numbers of gamma distributions: [samples, *alphas.shape] of float64; NaN where alpha allows none."""
    return _in_parts(_gamma, stream, samples, alphas)


def _gamma(draws: _Draws, alpha: Array) -> Array:
    result = np.full(alpha.size, np.nan)
    rows = np.flatnonzero(alpha == 1)
    result[rows] = -np.log1p(-draws.uniform(rows))
    d = alpha + np.where(alpha < 1, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / np.sqrt(d)
    rows = np.flatnonzero((alpha != 1) & (d > 0) & np.isfinite(d))
    while len(rows):
        x = draws.normal(rows)
        v = 1 + c[rows] * x
        positive = v > 0
        tried, x, v = rows[positive], x[positive], v[positive] ** 3
        u = draws.uniform(tried)
        squeezed = u < 1 - 0.0331 * (x * x) * (x * x)
        taken = squeezed | (np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v)))
        accepted = tried[taken]
        values = d[accepted] * v[taken]
        small = alpha[accepted] < 1
        lifted = accepted[small]
        values[small] *= draws.uniform(lifted) ** (1 / alpha[lifted])
        result[accepted] = values
        rows = _without(rows, accepted)
    return result


def poisson(stream: Stream, samples: int, rates: Array, highest: float) -> Array:
    """Numbers of Poisson distributions, up to `highest`: [samples, *rates.shape] of float64.

    A finite rate beyond `highest` gives `highest`, as smaller numbers have hardly any probability.
    """

    def draw(draws: _Draws, rate: Array) -> Array:
        result = np.where(np.isfinite(rate), highest, np.abs(rate))
        _count(draws, rate, result, np.flatnonzero(rate < _KNUTH))
        _reject(draws, rate, result, np.flatnonzero((rate >= _KNUTH) & (rate <= highest)), highest)
        return result

    return _in_parts(draw, stream, samples, rates)


def _count(draws: _Draws, rate: Array, result: Array, rows: Array) -> None:
    """Knuth's algorithm: how many uniform numbers can be multiplied until the product is below exp(-rate)."""
    product, least, count = np.ones(rate.size), np.exp(-rate), 0
    while len(rows):
        product[rows] *= draws.uniform(rows)
        over = product[rows] <= least[rows]
        result[rows[over]] = count
        rows = rows[~over]
        count += 1


def _reject(draws: _Draws, rate: Array, result: Array, rows: Array, highest: float) -> None:
    """Hörmann's transformed rejection with the letters of his paper."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while len(rows):
        u = draws.uniform(rows) - 0.5
        v = draws.uniform(rows)
        shifted = 0.5 - np.abs(u)
        a_, b_, mean = a[rows], b[rows], rate[rows]
        k = np.floor((2 * a_ / shifted + b_) * u + mean + 0.43)
        possible = k <= highest
        inside = possible & (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b_ - 2))
        open_ = possible & ~inside & ~((k < 0) | ((shifted < 0.013) & (v > shifted)))
        s = np.log(v[open_] * inverse_alpha[rows][open_] / (a_[open_] / shifted[open_] ** 2 + b_[open_]))
        t = -mean[open_] + k[open_] * np.log(mean[open_]) - _log_gamma(k[open_] + 1)
        taken = inside
        taken[open_] = s <= t
        result[rows[taken]] = k[taken]
        rows = rows[~taken]


def _log_gamma(x: Array) -> Array:
    # C's own function, as in TensorFlow: the last digit decides whether a number is accepted.
    return np.array([math.lgamma(value) if value < _LOG_GAMMA_MAX else math.inf for value in x.tolist()])


def _without(rows: Array, done: Array) -> Array:
    """The sorted `rows` that are not among the sorted `done`."""
    left = np.ones(len(rows), bool)
    left[np.searchsorted(rows, done)] = False
    return rows[left]
