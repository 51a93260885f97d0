"""Batch normalization on a GPU: one kernel for the sums of parts of the images, one that applies them.

Images of any format are an array [outer, channels, inner]: with channels last, inner is 1. A block of
threads sees the `count` = outer * inner elements of some channels, `wide` at a time, next to each other in
memory: a power of two where channels are last, else one channel. Its threads are rows of `wide`; a row begins
at the element of its number, and goes on by the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tensorfleet_service.kernels.nn.cuda_numbers import C_TYPES, access, compiled

THREADS = 256
"""The threads of a block. A power of two, as sums are made of halves."""

_BLOCKS = 1024
"""About as many blocks as keep a large GPU busy."""

_MOST_PARTS = 256
"""Limit on the parts of a channel's elements, whose sums each block of the second kernel adds up."""

_LEAST_ROUNDS = 4
"""The least elements for a thread; with fewer, there are fewer parts."""

DTYPES = ("float16", "float32")

_HEAD = """
{access}
#define ROWS ({threads} / wide)
// Where a thread begins and ends: `e` counts a channel's elements, and `at` is the place of one in memory.
#define BEGIN \\
  long long tile = blockIdx.x / parts, part = blockIdx.x % parts, size = (count + parts - 1) / parts; \\
  long long lane = threadIdx.x % wide, row = threadIdx.x / wide, channel = tile * wide + lane; \\
  long long end = size * (part + 1) < count ? size * (part + 1) : count; \\
  bool is_channel = channel < channels;
// Steps from element to element take no division: `i` is the place within `inner`.
#define EACH_ELEMENT \\
  long long e = size * part + row, i = e % inner, skip = ROWS / inner, shift = ROWS % inner; \\
  long long at = (e / inner * channels + channel) * inner + i; \\
  for (; is_channel && e < end; e += ROWS, at += skip * channels * inner + shift, i += shift, \\
       at += i >= inner ? (channels - 1) * inner : 0, i -= i >= inner ? inner : 0)
"""

_MERGE = """
struct moments {{ float count, mean, squares; }};
// Of two sets of numbers: the count, the mean, and the sum of the squared differences from it.
__device__ inline struct moments merged(struct moments a, struct moments b) {{
  struct moments both = a;
  if (b.count == 0) return a;
  float difference = b.mean - a.mean, share;
  both.count += b.count;
  share = b.count / both.count;
  both.mean += difference * share;
  both.squares += b.squares + difference * difference * a.count * share;
  return both;
}}
// Of all rows of threads, for each lane.
__device__ struct moments of_rows(struct moments own, struct moments* shared, int wide) {{
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half_of = {threads} / 2; half_of >= wide; half_of /= 2) {{
    if (threadIdx.x < half_of)
      shared[threadIdx.x] = merged(shared[threadIdx.x], shared[threadIdx.x + half_of]);
    __syncthreads();
  }}
  return shared[threadIdx.x % wide];
}}
"""

_SUMS = """
struct sums {{ float first, second; }};
__device__ struct sums of_rows(struct sums own, struct sums* shared, int wide) {{
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half_of = {threads} / 2; half_of >= wide; half_of /= 2) {{
    if (threadIdx.x < half_of) {{
      shared[threadIdx.x].first += shared[threadIdx.x + half_of].first;
      shared[threadIdx.x].second += shared[threadIdx.x + half_of].second;
    }}
    __syncthreads();
  }}
  return shared[threadIdx.x % wide];
}}
"""

_SIZES = "int channels, long long inner, long long count, int wide, int parts"

KERNELS = {
    # Means and squares of the parts [parts, channels], after Welford, merged after Chan.
    "moments_of_parts": _MERGE
    + """
extern "C" __global__ void moments_of_parts(const {t}* x, float* means, float* squares, {sizes}) {{
  __shared__ struct moments shared[{threads}];
  BEGIN
  struct moments own = {{0, 0, 0}};
  EACH_ELEMENT {{
    float value = load(x, at), difference = value - own.mean;
    own.count += 1;
    own.mean += difference / own.count;
    own.squares += difference * (value - own.mean);
  }}
  own = of_rows(own, shared, wide);
  if (is_channel && row == 0) {{
    means[part * channels + channel] = own.mean;
    squares[part * channels + channel] = own.squares;
  }}
}}""",
    "normalize_training": _MERGE
    + """
extern "C" __global__ void normalize_training(
    const {t}* x, const float* means, const float* squares, const float* scale, const float* offset,
    const float* old_mean, const float* old_variance, {t}* y, float* new_mean, float* new_variance,
    float* used_mean, float* used_variance, float epsilon, float factor, int old_parts, {sizes}) {{
  __shared__ struct moments shared[{threads}];
  BEGIN
  struct moments own = {{0, 0, 0}};
  long long part_size = (count + old_parts - 1) / old_parts;
  for (long long p = row; is_channel && p < old_parts; p += ROWS) {{
    long long left = count - p * part_size;
    struct moments other = {{0, means[p * channels + channel], squares[p * channels + channel]}};
    other.count = left < part_size ? (left > 0 ? left : 0) : part_size;
    own = merged(own, other);
  }}
  own = of_rows(own, shared, wide);
  if (!is_channel) return;
  float mean = own.mean, variance = own.squares / own.count;
  if (part == 0 && row == 0) {{
    // As in TensorFlow, the variance that is kept is that of the population of which this is a sample.
    float kept = variance * ((float)count / (count > 1 ? count - 1 : 1));
    used_mean[channel] = mean;
    used_variance[channel] = variance;
    new_mean[channel] = factor == 1 ? mean : old_mean[channel] * (1 - factor) + mean * factor;
    new_variance[channel] = factor == 1 ? kept : old_variance[channel] * (1 - factor) + kept * factor;
  }}
  float slope = scale[channel] / sqrtf(variance + epsilon), shift_by = offset[channel];
  EACH_ELEMENT store(y, at, (load(x, at) - mean) * slope + shift_by);
}}""",
    "normalize": """
extern "C" __global__ void normalize(
    const {t}* x, const float* scale, const float* offset, const float* means, const float* variances, {t}* y,
    float epsilon, {sizes}) {{
  BEGIN
  if (!is_channel) return;
  float mean = means[channel], shift_by = offset[channel];
  float slope = scale[channel] / sqrtf(variances[channel] + epsilon);
  EACH_ELEMENT store(y, at, (load(x, at) - mean) * slope + shift_by);
}}""",
    # The sums [parts, channels] of the gradient, and of its products with what was centered.
    "gradient_sums_of_parts": _SUMS
    + """
extern "C" __global__ void gradient_sums_of_parts(
    const {t}* gradient, const {t}* x, const float* means, float* firsts, float* seconds, {sizes}) {{
  __shared__ struct sums shared[{threads}];
  BEGIN
  struct sums own = {{0, 0}};
  float mean = is_channel ? means[channel] : 0;
  EACH_ELEMENT {{
    float value = load(gradient, at);
    own.first += value;
    own.second += value * (load(x, at) - mean);
  }}
  own = of_rows(own, shared, wide);
  if (is_channel && row == 0) {{
    firsts[part * channels + channel] = own.first;
    seconds[part * channels + channel] = own.second;
  }}
}}""",
    "normalize_gradient": _SUMS
    + """
extern "C" __global__ void normalize_gradient(
    const {t}* gradient, const {t}* x, const float* firsts, const float* seconds, const float* scale,
    const float* means, const float* variances, {t}* x_gradient, float* scale_gradient,
    float* offset_gradient, float epsilon, int is_training, int old_parts, {sizes}) {{
  __shared__ struct sums shared[{threads}];
  BEGIN
  struct sums own = {{0, 0}};
  for (long long p = row; is_channel && p < old_parts; p += ROWS) {{
    own.first += firsts[p * channels + channel];
    own.second += seconds[p * channels + channel];
  }}
  own = of_rows(own, shared, wide);
  if (!is_channel) return;
  float inverse = 1 / sqrtf(variances[channel] + epsilon), mean = means[channel];
  if (part == 0 && row == 0) {{
    offset_gradient[channel] = own.first;
    scale_gradient[channel] = own.second * inverse;
  }}
  float slope = scale[channel] * inverse;
  float shift_by = is_training ? own.first / count : 0;
  float along = is_training ? own.second * inverse / count * inverse : 0;
  EACH_ELEMENT store(x_gradient, at, (load(gradient, at) - shift_by - (load(x, at) - mean) * along) * slope);
}}""",
}


def source(name: str, dtype: str) -> str:
    """The source of a kernel for images of a dtype."""
    text = (_HEAD + KERNELS[name]).replace("{sizes}", _SIZES)
    return text.format(access=access(dtype), t=C_TYPES[dtype], threads=THREADS)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How images are seen, and divided among blocks."""

    channels: int
    inner: int
    count: int
    wide: int
    parts: int

    @property
    def blocks(self) -> int:
        return -(-self.channels // self.wide) * self.parts

    @property
    def sizes(self) -> tuple[Any, ...]:
        wide, parts = np.int32(self.wide), np.int32(self.parts)
        return np.int32(self.channels), np.int64(self.inner), np.int64(self.count), wide, parts


@lru_cache(maxsize=1024)
def _layout(shape: tuple[int, ...], channel_axis: int) -> _Layout:
    channels, inner = shape[channel_axis], prod(shape[channel_axis + 1 :])
    count = prod(shape) // channels
    wide = 1
    while inner == 1 and wide < 32 and wide < channels:
        wide *= 2
    tiles = -(-channels // wide)
    parts = min(_BLOCKS // tiles, _MOST_PARTS, count * wide // (THREADS * _LEAST_ROUNDS))
    return _Layout(channels, inner, count, wide, max(parts, 1))


def _launch(xp: Any, name: str, dtype: Any, layout: _Layout, args: Iterable[Any]) -> None:
    kernel = compiled(xp, source, name, dtype.name)
    kernel((layout.blocks,), (THREADS,), (*args, *layout.sizes))


def takes(x: Any, *vectors: Any) -> bool:
    """Whether there are kernels for these images, and vectors of channels."""
    return x.dtype.name in DTYPES and x.size > 0 and all(v.dtype.name == "float32" for v in vectors)


def train(
    xp: Any,
    x: Any,
    channel_axis: int,
    scale: Any,
    offset: Any,
    old: tuple[Any, Any] | None,
    epsilon: Any,
    factor: Any,
) -> tuple[Any, ...]:
    """The output, and means and variances [channels]: those that are kept, and those of the batch.

    Args:
        x: images that are not empty, of float16 or float32.
        old: the mean and variance of which `factor` leaves a part; None where that is 1.
    """
    x, scale, offset, *kept = map(xp.ascontiguousarray, (x, scale, offset, *(old or ())))
    layout = _layout(x.shape, channel_axis)
    means, squares = (xp.empty((layout.parts, layout.channels), np.float32) for _ in range(2))
    _launch(xp, "moments_of_parts", x.dtype, layout, (x, means, squares))
    y, made = xp.empty(x.shape, x.dtype), [xp.empty(layout.channels, np.float32) for _ in range(4)]
    arrays = (x, means, squares, scale, offset, *(kept or (scale, offset)), y, *made)
    numbers = (np.float32(epsilon), np.float32(factor), np.int32(layout.parts))
    _launch(xp, "normalize_training", x.dtype, layout, (*arrays, *numbers))
    return (y, *made)


def infer(
    xp: Any, x: Any, channel_axis: int, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: Any
) -> Any:
    """The output for a given mean and variance."""
    inputs = tuple(map(xp.ascontiguousarray, (x, scale, offset, mean, variance)))
    y = xp.empty(x.shape, x.dtype)
    layout = _layout(x.shape, channel_axis)
    _launch(xp, "normalize", x.dtype, layout, (*inputs, y, np.float32(epsilon)))
    return y


def gradients(
    xp: Any,
    gradient: Any,
    x: Any,
    channel_axis: int,
    scale: Any,
    mean: Any,
    variance: Any,
    epsilon: Any,
    is_training: bool,
) -> tuple[Any, Any, Any]:
    """The gradients of the images, the scale and the offset."""
    arrays = map(xp.ascontiguousarray, (gradient, x, scale, mean, variance))
    gradient, x, scale, mean, variance = arrays
    layout = _layout(x.shape, channel_axis)
    sums = [xp.empty((layout.parts, layout.channels), np.float32) for _ in range(2)]
    _launch(xp, "gradient_sums_of_parts", x.dtype, layout, (gradient, x, mean, *sums))
    made = [xp.empty(layout.channels, np.float32) for _ in range(2)]
    x_gradient = xp.empty(x.shape, x.dtype)
    passed = (gradient, x, *sums, scale, mean, variance, x_gradient, *made)
    numbers = (np.float32(epsilon), np.int32(is_training), np.int32(layout.parts))
    _launch(xp, "normalize_gradient", x.dtype, layout, (*passed, *numbers))
    return (x_gradient, *made)
