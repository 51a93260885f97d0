"""Random ops. With a seed they give TensorFlow's own numbers; without one, NumPy's fast generators do."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.string_arrays import LARGE, moved
from tensorfleet_service.kernels.random import random_rates
from tensorfleet_service.kernels.random.cuda_philox import CudaSampler
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    host_array,
    ints,
)
from tensorfleet_service.state import philox
from tensorfleet_service.threads.running import check as check_step

Sample = Callable[[tuple[int, ...]], Any]
"""A function from a shape to random values of that shape."""


def dims_of(shape: Any) -> tuple[int, ...]:
    sizes = tuple(ints(np.asarray(shape)))
    for size in sizes:
        if size < 0:
            raise errors.InvalidArgumentError(None, None, f"Dimension {size} must be >= 0")
    return sizes


def _is_seeded(node: KernelNode) -> bool:
    return bool(node.attrs["seed"] or node.attrs["seed2"])


def _generator(node: KernelNode) -> Any:
    """A generator of the device's array module, seeded by the system."""
    return np.random.Generator(np.random.SFC64()) if node.xp is np else node.xp.random.default_rng()


def _stream(node: KernelNode) -> philox.Stream:
    return philox.seeded_stream(node.attrs["seed"], node.attrs["seed2"])


Distribution = Callable[[philox.Stream, int, DType], Any]
"""A function from a stream, a number of samples and their dtype to samples."""


_DISTRIBUTIONS: dict[str, tuple[str, Distribution]] = {
    "RandomUniform": ("uniform", philox.uniform),
    "RandomNormal": ("normal", philox.normal),
    "RandomStandardNormal": ("normal", philox.normal),
    "TruncatedNormal": ("truncated_normal", philox.truncated_normal),
}


def _distribution(op_type: str, xp: Any) -> Distribution:
    """The distribution of an op, computed where the arrays of `xp` are."""
    name, function = _DISTRIBUTIONS[op_type]
    return function if xp is np else CudaSampler(xp, name)


@kernel("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
def random_floats(node: KernelNode) -> Kernel:
    dtype, xp = node.attrs["dtype"], node.xp
    if not _is_seeded(node):
        fill = _fast_fill(node.op, _generator(node), dtype, xp)
        return lambda shape: fill(dims_of(shape))
    distribution, stream = _distribution(node.op, xp), _stream(node)

    def run(shape: Any) -> Any:
        dims = dims_of(shape)
        size = math.prod(dims)
        part = stream.reserve(size * philox.SAMPLES_PER_OUTPUT)
        return xp.asarray(distribution(part, size, dtype).reshape(dims))[()]

    return run


def _fast_fill(op_type: str, generator: Any, dtype: DType, xp: Any) -> Sample:
    made = np.float64 if dtype.size == 8 else np.float32
    wanted = np.dtype(dtype.as_numpy_dtype)
    draw = generator.random if op_type == "RandomUniform" else generator.standard_normal

    def fill(dims: tuple[int, ...]) -> Any:
        values = draw(dims, made) if dims else draw((1,), made).reshape(())[()]
        if op_type == "TruncatedNormal":
            values = xp.array(values)
            while (outside := xp.abs(values) >= 2).any():
                values[outside] = draw((int(outside.sum()),), made)
            values = values[()]
        if made is wanted.type:
            return values
        values = values.astype(wanted)
        if op_type == "RandomUniform":
            # Rounding to fewer digits may give the 1 that the interval excludes.
            values = xp.where(values == 1, wanted.type(0), values)[()]
        return values

    return fill


@kernel("RandomUniformInt")
def random_uniform_int(node: KernelNode) -> Kernel:
    dtype, xp = node.attrs["Tout"], node.xp
    stream = _stream(node) if _is_seeded(node) else None
    generator = None if stream is not None else np.random.Generator(np.random.SFC64())

    def run(shape: Any, low: Any, high: Any) -> Any:
        dims = dims_of(shape)
        low, high = _bounds(low, high)
        size = math.prod(dims)
        if not size:
            return xp.empty(dims, dtype.as_numpy_dtype)
        if high <= low:
            raise errors.InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
        if generator is not None:
            values = np.asarray(generator.integers(low, high, dims, dtype.as_numpy_dtype))
        else:
            assert stream is not None
            part = stream.reserve(size * philox.SAMPLES_PER_OUTPUT)
            values = philox.uniform_int(part, size, low, high, dtype).reshape(dims)
        return xp.asarray(values)[()]

    return run


def _bounds(low: Any, high: Any) -> tuple[int, int]:
    for name, bound in (("minval", low), ("maxval", high)):
        if np.ndim(bound):
            raise errors.InvalidArgumentError(
                None, None, f"{name} must be 0-D, got shape {format_dims(bound.shape)}"
            )
    return int(low), int(high)


_PART = 1 << 16
"""Number of rows that are exchanged at a time."""


@kernel("RandomShuffle")
def random_shuffle(node: KernelNode) -> Kernel:
    stream = _stream(node) if _is_seeded(node) else None
    generator = np.random.Generator(np.random.SFC64())
    xp = node.xp

    def run(value: Any) -> Any:
        count = len(value) if np.ndim(value) else 1
        if count <= 1 or not value.size:
            return value
        order = generator.permutation(count) if stream is None else shuffled(stream, count)
        return in_order(value, order, xp)

    return run


def in_order(value: Any, order: Any, xp: ModuleType) -> Any:
    """The rows of an array in another order; many strings by parts."""
    if not value.dtype.hasobject:
        return value[xp.asarray(order)]
    return value[order] if value.size < LARGE else moved(lambda rows: rows[order], [value])


def shuffled(stream: philox.Stream, count: int) -> Any:
    """The order that TensorFlow shuffles `count` rows into."""
    drawn = -(-count // 4)
    numbers = stream.reserve(drawn).numbers(drawn).reshape(-1)[: count - 1].astype(np.int64)
    here = np.arange(count - 1)
    others = here + numbers % (count - here)
    order = np.arange(count)
    view = order.data  # a list would be made and read by calls that nobody else runs beside
    for begin in range(0, count - 1, _PART):
        for i, j in enumerate(others[begin : begin + _PART].tolist(), begin):
            view[i], view[j] = view[j], view[i]
    return order


@kernel("Multinomial")
def multinomial(node: KernelNode) -> Kernel:
    xp, wanted = node.xp, node.attrs["output_dtype"].as_numpy_dtype
    stream = _stream(node) if _is_seeded(node) else None
    generator = np.random.Generator(np.random.SFC64())

    def run(logits: Any, num_samples: Any) -> Any:
        logits, samples = host_array(logits), _sample_count(num_samples)
        if np.ndim(logits) != 2:
            raise errors.InvalidArgumentError(
                None, None, f"logits should be a matrix, got shape {format_dims(np.shape(logits))}"
            )
        if samples < 0:
            raise errors.InvalidArgumentError(None, None, f"num_samples should be nonnegative, got {samples}")
        rows, classes = logits.shape
        if classes == 0:
            raise errors.InvalidArgumentError(None, None, f"num_classes should be positive, got {classes}")
        if stream is None:
            unit = generator.random((rows, samples))
        else:
            padded = -(-samples // 4) * 4
            part = stream.reserve(rows * padded * 2 * philox.SAMPLES_PER_OUTPUT)
            unit = _simple_doubles(part, rows * samples).reshape(rows, samples)
        return xp.asarray(_categorical(logits, unit).astype(wanted))

    return run


def _sample_count(num_samples: Any) -> int:
    if np.ndim(num_samples):
        raise errors.InvalidArgumentError(
            None, None, f"num_samples should be a scalar, got shape {format_dims(num_samples.shape)}"
        )
    return int(num_samples)


def _simple_doubles(stream: philox.Stream, count: int) -> Any:
    """Numbers in [0, 1), each made of two 32-bit numbers, of which the first is the upper half."""
    return philox._unit_double(stream.numbers(-(-count // 2))).reshape(-1)[:count]


def _categorical(logits: Any, unit: Any) -> Any:
    """The class for each number in [0, 1) of a row: the one in whose share of probability it falls."""
    wide = logits.astype(np.float64)
    finite = np.isfinite(wide)
    largest = np.where(finite, wide, -np.inf).max(axis=1, keepdims=True)
    share = np.where(finite, np.exp(np.where(finite, wide - largest, 0)), 0)
    edges = share.cumsum(axis=1)
    result = np.empty(unit.shape, np.int64)
    for row, (row_edges, row_unit) in enumerate(zip(edges, unit, strict=True)):
        if not row % 256:
            check_step()
        result[row] = np.searchsorted(row_edges, row_unit * row_edges[-1], side="right")
    return np.minimum(result, logits.shape[1] - 1)


@kernel("RandomGamma", "RandomPoissonV2")
def random_by_rate(node: KernelNode) -> Kernel:
    """Samples of shape `shape + rates.shape`."""
    xp, dtype, is_gamma = node.xp, node.output_types[0], node.op == "RandomGamma"
    wanted = dtype.as_numpy_dtype
    generator = np.random.Generator(np.random.SFC64())
    fast = generator.standard_gamma if is_gamma else generator.poisson
    seeded = _is_seeded(node)
    stream = _stream(node) if seeded else philox.seeded_stream(*generator.integers(0, 2**63, 2).tolist())

    def run(shape: Any, rate: Any) -> Any:
        dims = _vector_dims(shape)
        rate = host_array(rate).astype(np.float64, copy=False)
        samples = math.prod(dims)
        if not seeded and ((rate >= 0) & (rate < _FAST_RATES)).all():
            values = fast(rate, dims + rate.shape)
            if not is_gamma:
                values = np.minimum(values, float(dtype.max))
        else:
            part = stream.reserve(samples * rate.size * philox.SAMPLES_PER_OUTPUT)
            if is_gamma:
                values = random_rates.gamma(part, samples, rate)
            else:
                values = random_rates.poisson(part, samples, rate, float(dtype.max))
            values = values.reshape(dims + rate.shape)
        return xp.asarray(np.asarray(values).astype(wanted))[()]

    return run


_FAST_RATES = 1e15
"""The greatest rate that NumPy's generators take."""


def _vector_dims(shape: Any) -> tuple[int, ...]:
    if np.ndim(shape) > 1:
        raise errors.InvalidArgumentError(
            None, None, f"shape must be a vector, got shape {format_dims(shape.shape)}"
        )
    return dims_of(shape)


@kernel("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")
def key_counter(node: KernelNode) -> Kernel:
    with_algorithm = node.op.endswith("Alg")

    def run(seed: Any) -> tuple[Any, ...]:
        key, counter = philox.stateless_key_counter(_seed_pair(seed))
        parts = np.array([key], np.uint64), np.array([counter % 2**64, counter >> 64], np.uint64)
        return (*parts, np.int32(1)) if with_algorithm else parts

    return run


@kernel("StatelessRandomGetAlg")
def algorithm(node: KernelNode) -> Kernel:
    return lambda: np.int32(1)


def _seed_pair(seed: Any) -> Any:
    seed = host_array(seed)
    if np.shape(seed) != (2,):
        raise errors.InvalidArgumentError(
            None, None, f"seed must have shape [2], not {format_dims(np.shape(seed))}"
        )
    return seed


def stateless_stream(inputs: tuple[Any, ...], is_v2: bool) -> philox.Stream:
    """The stream of the inputs after the shape: a seed pair, or key, counter and algorithm."""
    if not is_v2:
        return philox.Stream(*philox.stateless_key_counter(_seed_pair(inputs[0])))
    key, counter = (host_array(value).reshape(-1)[:2].tolist() for value in inputs[:2])
    return philox.Stream(key[0], counter[0] | (counter[1] << 64 if len(counter) > 1 else 0))


@kernel(
    "StatelessRandomUniform",
    "StatelessRandomNormal",
    "StatelessTruncatedNormal",
    "StatelessRandomUniformV2",
    "StatelessRandomNormalV2",
    "StatelessTruncatedNormalV2",
)
def stateless_floats(node: KernelNode) -> Kernel:
    xp, dtype, is_v2 = node.xp, node.attrs["dtype"], node.op.endswith("V2")
    distribution = _distribution(node.op.removeprefix("Stateless").removesuffix("V2"), xp)

    def run(shape: Any, *inputs: Any) -> Any:
        dims = dims_of(shape)
        stream = stateless_stream(inputs, is_v2)
        return xp.asarray(distribution(stream, math.prod(dims), dtype).reshape(dims))[()]

    return run


@kernel("StatelessRandomUniformInt", "StatelessRandomUniformIntV2")
def stateless_uniform_int(node: KernelNode) -> Kernel:
    xp, dtype, is_v2 = node.xp, node.attrs["dtype"], node.op.endswith("V2")

    def run(shape: Any, *inputs: Any) -> Any:
        dims = dims_of(shape)
        low, high = _bounds(*inputs[-2:])
        if high <= low:
            raise errors.InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
        stream = stateless_stream(inputs, is_v2)
        values = philox.uniform_int(stream, math.prod(dims), low, high, dtype)
        return xp.asarray(values.reshape(dims))[()]

    return run


@kernel("StatelessMultinomial")
def stateless_multinomial(node: KernelNode) -> Kernel:
    xp, wanted = node.xp, node.attrs["output_dtype"].as_numpy_dtype

    def run(logits: Any, num_samples: Any, seed: Any) -> Any:
        logits, samples = host_array(logits), _sample_count(num_samples)
        stream = philox.Stream(*philox.stateless_key_counter(_seed_pair(seed)))
        unit = _simple_doubles(stream, len(logits) * samples).reshape(len(logits), samples)
        return xp.asarray(_categorical(logits, unit).astype(wanted))

    return run


@kernel("StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2")
def stateless_full_int(node: KernelNode) -> Kernel:
    """All numbers of the dtype with the same probability: outputs of the generator, of 32 bits each."""
    xp, wanted, is_v2 = node.xp, node.attrs["dtype"].as_numpy_dtype, node.op.endswith("V2")
    words = np.dtype(wanted).itemsize // 4

    def run(shape: Any, *inputs: Any) -> Any:
        dims = dims_of(shape)
        count = math.prod(dims)
        stream = stateless_stream(inputs, is_v2)
        numbers = np.ascontiguousarray(stream.numbers(-(-count * words // 4))).reshape(-1)[: count * words]
        return xp.asarray(numbers.astype("<u4").view(wanted).reshape(dims))[()]

    return run
