"""Binomial numbers, and normal ones between bounds, as TensorFlow draws them from a Philox stream.

Each output takes numbers from a part of the stream of its own until one is accepted.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.random.random_ops import dims_of, stateless_stream
from tensorfleet_service.kernels.random.random_rates import _Draws, _without
from tensorfleet_service.kernels.random.stateful import _advance, _counter
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid
from tensorfleet_service.state import philox
from tensorfleet_service.state.philox import Array
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

_FEW = 10.0
"""Below this mean successes are counted, one after the other; from here on numbers are drawn by rejection."""

_APART = 42
"""How far apart in the stream the outputs are that are counted."""

_TAILS = np.array(
    [
        math.lgamma(k + 1) - (math.log(2 * math.pi) / 2 + (k + 0.5) * math.log(k + 1) - (k + 1))
        for k in range(10)
    ]
)


def binomial(stream: philox.Stream, counts: Array, probabilities: Array) -> Array:
    """Numbers of successes, float64: one for each count of trials and probability.

    Counts that are not positive give 0; infinite ones, and what is no number, NaN.
    """
    count, p = (x.astype(np.float64).reshape(-1) for x in (counts, probabilities))
    rare = np.where(p <= 0.5, p, 1 - p)
    result = np.full(count.size, np.nan)
    fit = np.isfinite(count) & np.isfinite(p)
    none = fit & ((count <= 0) | (rare <= 0))
    result[none] = 0
    rows = np.flatnonzero(fit & ~none)
    mean = count[rows] * rare[rows]
    _count(_Draws(stream, np.arange(count.size), _APART), count, rare, result, rows[mean < _FEW])
    _reject(_Draws(stream, np.arange(count.size)), count, rare, result, rows[mean >= _FEW])
    return np.where(fit & (count > 0) & (p > 0.5), count - result, result)


def _count(draws: _Draws, count: Array, p: Array, result: Array, rows: Array) -> None:
    """How many waits for a success fit into the trials."""
    trials = np.zeros(count.size)
    result[rows] = 0
    while len(rows):
        check_step()
        with np.errstate(divide="ignore"):
            trials[rows] += np.ceil(np.log(draws.uniform(rows)) / np.log1p(-p[rows]))
        rows = rows[trials[rows] <= count[rows]]
        result[rows] += 1


def _reject(draws: _Draws, counts: Array, ps: Array, result: Array, rows: Array) -> None:
    """Hörmann's transformed rejection, with the letters of his paper."""
    while len(rows):
        check_step()
        count, p = counts[rows], ps[rows]
        deviation = np.sqrt(count * p * (1 - p))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * p
        r = p / (1 - p)
        u = draws.uniform(rows)
        v = draws.uniform(rows)
        u = u - 0.5
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * a / us + b) * u + (count * p + 0.5))
            inside = (us >= 0.07) & (v <= 0.92 - 4.2 / b)
            possible = (k >= 0) & (k <= count)
            m = np.floor((count + 1) * p)
            v = np.log(v * ((2.83 + 5.1 / b) * deviation) / (a / (us * us) + b))
            bound = (
                (m + 0.5) * np.log((m + 1) / (r * (count - m + 1)))
                + (count + 1) * np.log((count - m + 1) / (count - k + 1))
                + (k + 0.5) * np.log(r * (count - k + 1) / (k + 1))
                + _tail(m)
                + _tail(count - m)
                - _tail(k)
                - _tail(count - k)
            )
            taken = inside | (possible & (v <= bound))
        result[rows[taken]] = k[taken]
        rows = _without(rows, rows[taken])


def _tail(k: Array) -> Array:
    """What Stirling's approximation of log(k!) lacks."""
    squared = (k + 1) * (k + 1)
    far = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / squared) / squared) / (k + 1)
    near: Array = np.where(k <= 9, _TAILS[np.clip(np.nan_to_num(k), 0, 9).astype(np.int64)], far)
    return near


@kernel("StatelessRandomBinomial", "StatefulRandomBinomial", lasting=True)
def random_binomial(node: KernelNode) -> Kernel:
    xp, dtype, stateful = node.xp, node.output_types[0], node.op.startswith("Stateful")

    def run(*inputs: Any) -> Any:
        shape, counts, ps = inputs[2 if stateful else 0], *map(host_array, inputs[-2:])
        if np.ndim(shape) > 1:
            raise invalid(f"Input shape should be a vector, got shape: {list(shape.shape)}")
        dims = dims_of(shape)
        try:
            both = np.broadcast_shapes(counts.shape, ps.shape)
        except ValueError:
            text = f"{list(counts.shape)} and {list(ps.shape)}"
            raise invalid(f"counts and probs must have compatible batch dimensions: {text}") from None
        if len(dims) < len(both) or dims[len(dims) - len(both) :] != both:
            raise invalid("Shape passed in must end with broadcasted shape.")
        size = math.prod(dims)
        if stateful:
            variable, algorithm = inputs[:2]
            state = _advance(xp, variable, algorithm, size * philox.SAMPLES_PER_OUTPUT)
            stream = philox.Stream(state[2], _counter(state))
        else:
            stream = stateless_stream(inputs[1:], False)
        batches = math.prod(both)
        samples = size // batches if batches else 0
        # Outputs are counted by batch first.
        each = [unlocked.repeat(np.broadcast_to(x, both).reshape(-1), samples) for x in (counts, ps)]
        values = binomial(stream, *each).reshape(batches, samples).T.reshape(dims)
        with np.errstate(invalid="ignore"):
            return xp.asarray(values.astype(dtype.as_numpy_dtype))[()]

    return run


_MAX_TRIES = 1000
"""The number of candidates after which a number is given up."""

_PIECE = 1 << 14
"""The number of calls whose candidates are made at a time."""

_WIDE = 1.3
"""The bound, in standard deviations, from which on normal numbers are tried."""


class _Calls:
    """Numbers of a stream, as calls of a distribution give them: four at a time, two of float64."""

    def __init__(self, stream: philox.Stream, dtype: Any) -> None:
        self._stream, self._dtype = stream, dtype
        self.per_call = 2 if dtype.size == 8 else 4

    def give(self, distribution: Callable[..., Any], calls: int) -> Array:
        """The numbers of the next calls, which stay the next ones: [calls, per_call]."""
        found: Array = distribution(self._stream, calls * self.per_call, self._dtype)
        return found.reshape(calls, self.per_call)

    def skip(self, calls: int) -> None:
        self._stream = self._stream.skip(calls)


def truncated(stream: philox.Stream, dtype: Any, batches: Array, samples: int) -> Array:
    """Normal numbers between bounds, one batch after the other: [batches, samples] of the dtype.

    Args:
        batches: means, standard deviations, lower and upper bounds of the dtype: [batches, 4].

    Raises:
        InvalidArgumentError: a deviation that is not positive, or bounds that bound nothing.
        InternalError: no number is found between the bounds.
    """
    calls = _Calls(stream, dtype)
    result = np.empty((len(batches), samples), dtype.as_numpy_dtype)
    for row, (mean, deviation, low, high) in zip(result, batches, strict=True):
        if not samples:
            break
        if deviation <= 0 or low >= high or (np.isinf(low) and np.isinf(high)):
            raise invalid("Invalid parameters: stddevs > 0, minvals < maxvals, one of them finite, are asked")
        if (np.isinf(low) and low < 0) or high < mean:
            low, high, deviation = high, low, -deviation
        with np.errstate(all="ignore"):
            _fill(calls, row, (low - mean) / deviation, (high - mean) / deviation)
            row[:] = row * deviation + mean
    return result


def _fill(calls: _Calls, row: Array, low: Any, high: Any) -> None:
    one = row.dtype.type
    root = np.sqrt(low * low + one(4))
    cutoff = one(2) * np.exp(one(0.5) + (low * (low - root)) / one(4)) / (low + root)
    if (low < -_WIDE and high >= 0) or (high > _WIDE and low <= 0):
        used = 1

        def candidates(count: int) -> tuple[Array, Array]:
            z = calls.give(philox.normal, count)
            return z.reshape(-1), ((z >= low) & (z <= high)).reshape(-1)

    elif high - low < cutoff:
        used = 2

        def candidates(count: int) -> tuple[Array, Array]:
            drawn = calls.give(philox.uniform, 2 * count)
            z = drawn[::2] * (high - low) + low
            g = ((one(0) if low < 0 else low * low) - z * z) / one(2)
            return z.reshape(-1), (drawn[1::2] <= np.exp(g)).reshape(-1)

    else:
        used = 1
        alpha = (low + root) / one(2)

        def candidates(count: int) -> tuple[Array, Array]:
            drawn = calls.give(philox.uniform, count)
            z = -np.log(drawn[:, ::2]) / alpha + low
            x = alpha - z if low < alpha else low - alpha
            return z.reshape(-1), ((drawn[:, 1::2] <= np.exp(-x * x / one(2))) & (z < high)).reshape(-1)

    done = missed = 0
    while done < len(row):
        check_step()
        wanted = len(row) - done
        count = max(-(-wanted // calls.per_call) * 2, missed)
        values, taken = candidates(min(count, _PIECE))
        places = np.flatnonzero(taken)[:wanted]
        missed = 0 if len(places) else missed + len(values)
        if missed > _MAX_TRIES:
            text = "TruncatedNormal randn rejection sampler exceeded maximum iterations"
            raise errors.InternalError(None, None, text)
        row[done : done + len(places)] = values[places]
        done += len(places)
        count = min(count, _PIECE)
        per_round = len(values) // count
        rounds = count if len(places) < wanted else int(places[-1]) // per_round + 1
        calls.skip(rounds * used)


@kernel("StatelessParameterizedTruncatedNormal", "ParameterizedTruncatedNormal", lasting=True)
def parameterized_truncated_normal(node: KernelNode) -> Kernel:
    xp, dtype, stateless = node.xp, node.output_types[0], node.op.startswith("Stateless")
    own = None
    if not stateless:
        seeds = node.attrs["seed"], node.attrs["seed2"]
        own = philox.seeded_stream(*(seeds if any(seeds) else (secrets.randbits(63), secrets.randbits(63))))

    def run(shape: Any, *inputs: Any) -> Any:
        if np.ndim(shape) != 1:
            raise invalid(f"Input shape should be a vector, got shape: {list(np.shape(shape))}")
        dims = dims_of(shape)
        parameters = [host_array(value) for value in inputs[-4:]]
        size = math.prod(dims)
        if stateless:
            stream = stateless_stream(inputs, False)
            try:
                common = np.broadcast_shapes(*(value.shape for value in parameters))
            except ValueError:
                text = ", ".join(str(list(value.shape)) for value in parameters)
                raise invalid(f"The parameters must broadcast to each other, got {text}") from None
            if len(dims) < len(common) or dims[len(dims) - len(common) :] != common:
                raise invalid("Shape passed in must end with broadcasted shape.")
        else:
            common = dims[:1]
            for value in parameters:
                if value.ndim > 1 or value.size not in (1, *common):
                    raise invalid(
                        f"Parameters must be scalars or vectors of {common}, got {list(value.shape)}"
                    )
            if all(value.size == 1 for value in parameters):
                common = ()
            assert own is not None
            stream = own.reserve(size * 2 * _MAX_TRIES)
        each = np.stack([np.broadcast_to(value, common).reshape(-1) for value in parameters], 1)
        samples = size // len(each) if len(each) else 0
        values = truncated(stream, dtype, each, samples)
        made = values.T if stateless else values
        return xp.asarray(np.ascontiguousarray(made).reshape(dims))[()]

    return run
