"""Kernels of `tensorfleet.ops.random.stateful`, whose streams of numbers have their state in a variable."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.random import random_rates
from tensorfleet_service.kernels.random.random_ops import (
    dims_of,
    in_order,
    shuffled,
    stateless_stream,
)
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid
from tensorfleet_service.state import philox
from tensorfleet_service.state.variables import Variable

_PHILOX = 1
_STATE = 3
"""The words of a Philox state: two of the counter, and the key."""

_MASK = 2**64 - 1


def _advance(xp: ModuleType, variable: Variable, algorithm: Any, skipped: int) -> list[int]:
    """The state of a generator, which is then advanced by `skipped` samples.

    Raises:
        InvalidArgumentError: the algorithm is unknown, or the variable is not a state of it.
    """
    if np.ndim(algorithm):
        raise invalid(f"algorithm must be of shape [], not {list(algorithm.shape)}")
    if int(algorithm) == 2:
        text = "Non-XLA devices don't support the ThreeFry algorithm."
        raise errors.UnimplementedError(None, None, text)
    if int(algorithm) != _PHILOX:
        raise invalid(f"Unsupported algorithm id: {int(algorithm)}")
    if variable.dtype is not dtypes.int64:
        raise invalid(f"dtype of RNG state variable must be int64, not {variable.dtype.name}")
    before: list[int] = []

    def skip(state: Any) -> None:
        if state.ndim != 1:
            raise invalid("RNG state must have one and only one dimension, not " + str(state.ndim))
        if len(state) < _STATE:
            raise invalid(
                f"For the Philox algorithm, the size of state must be at least {_STATE}; got {len(state)}"
            )
        before.extend(state[:_STATE].tolist())
        counter = _counter(before) + (skipped & _MASK)
        words = np.array([counter & _MASK, counter >> 64 & _MASK], np.uint64).view(np.int64)
        state[:2] = words if isinstance(state, np.ndarray) else xp.asarray(words)

    variable.modify(skip)
    return before


def _counter(state: list[int]) -> int:
    return (state[0] & _MASK) | (state[1] & _MASK) << 64


def _full(stream: philox.Stream, count: int, dtype: DType) -> Any:
    words = dtype.size // 4
    numbers = np.ascontiguousarray(stream.numbers(-(-count * words // 4))).reshape(-1)[: count * words]
    return numbers.astype("<u4").view(dtype.as_numpy_dtype)


_DISTRIBUTIONS: dict[str, Callable[[philox.Stream, int, DType], Any]] = {
    "StatefulUniform": philox.uniform,
    "StatefulStandardNormalV2": philox.normal,
    "StatefulTruncatedNormal": philox.truncated_normal,
    "StatefulUniformFullInt": _full,
}
_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_INTEGERS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)


@kernel(*_DISTRIBUTIONS, "StatefulUniformInt")
def stateful(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0]
    distribution = _DISTRIBUTIONS.get(node.op)
    if dtype not in (_INTEGERS if "Int" in node.op else _FLOATS):
        raise invalid(f"{node.op} makes no numbers of {dtype.name}")

    def run(variable: Variable, algorithm: Any, shape: Any, *bounds: Any) -> Any:
        dims = dims_of(shape)
        count = math.prod(dims)
        for name, bound in zip(("minval", "maxval"), bounds, strict=False):
            if np.ndim(bound):
                raise invalid(f"{name} must be 0-D, got shape {list(bound.shape)}")
        if bounds and count and bounds[0] >= bounds[1]:
            raise invalid(f"Need minval < maxval, got {bounds[0]} >= {bounds[1]}")
        state = _advance(node.xp, variable, algorithm, count * philox.SAMPLES_PER_OUTPUT)
        stream = philox.Stream(state[2], _counter(state))
        if distribution is not None:
            values = distribution(stream, count, dtype)
        else:
            values = philox.uniform_int(stream, count, int(bounds[0]), int(bounds[1]), dtype)
        return xp.asarray(values.reshape(dims))[()]

    return run


@kernel("RngReadAndSkip")
def read_and_skip(node: KernelNode) -> Kernel:
    def run(variable: Variable, algorithm: Any, delta: Any) -> Any:
        if np.ndim(delta):
            raise invalid(f"delta must be of shape [], not {list(delta.shape)}")
        return np.array(
            _advance(node.xp, variable, algorithm, int(delta) * philox.SAMPLES_PER_OUTPUT), np.int64
        )

    return run


@kernel("RngSkip")
def skip(node: KernelNode) -> Kernel:
    def run(variable: Variable, algorithm: Any, delta: Any) -> None:
        if np.ndim(delta):
            raise invalid(f"delta must be of shape [], not {list(delta.shape)}")
        _advance(node.xp, variable, algorithm, int(delta) * philox.SAMPLES_PER_OUTPUT)

    return run


@kernel("NonDeterministicInts")
def non_deterministic(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    if dtype not in _INTEGERS:
        raise invalid(f"{node.op} makes no numbers of {dtype.name}")

    def run(shape: Any) -> Any:
        dims = dims_of(shape)
        size = math.prod(dims) * dtype.size
        made = np.frombuffer(secrets.token_bytes(size), dtype.as_numpy_dtype).reshape(dims)
        return node.xp.asarray(made)[()]

    return run


@kernel("StatelessRandomGammaV2", "StatelessRandomGammaV3", "StatelessRandomPoisson")
def stateless_by_rate(node: KernelNode) -> Kernel:
    """The shape argument ends with the shape of the rates."""
    xp, dtype = node.xp, node.output_types[0]
    is_gamma, is_v2 = "Gamma" in node.op, node.op.endswith("V3")

    def run(shape: Any, *inputs: Any) -> Any:
        dims, rate = dims_of(shape), host_array(inputs[-1]).astype(np.float64, copy=False)
        if dims[len(dims) - rate.ndim :] != rate.shape or len(dims) < rate.ndim:
            raise invalid(
                f"Shape passed in must end with broadcasted shape: {list(dims)} and {list(rate.shape)}"
            )
        count = math.prod(dims)
        if not count:
            return xp.zeros(dims, dtype.as_numpy_dtype)
        stream, samples = stateless_stream(inputs, is_v2), count // rate.size
        if is_gamma:
            values = random_rates.gamma(stream, samples, rate)
        else:
            values = random_rates.poisson(stream, samples, rate, float(dtype.max))
        return xp.asarray(np.asarray(values.reshape(dims)).astype(dtype.as_numpy_dtype))[()]

    return run


@kernel("StatelessShuffle")
def stateless_shuffle(node: KernelNode) -> Kernel:
    def run(value: Any, *inputs: Any) -> Any:
        count = len(value) if np.ndim(value) else 1
        if count <= 1 or not value.size:
            return value
        order = shuffled(stateless_stream(inputs, True), count)
        return in_order(value, order, node.xp)

    return run
