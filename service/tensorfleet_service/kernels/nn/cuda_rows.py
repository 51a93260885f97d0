"""Softmax and cross entropy on a GPU: one kernel, in which a block of threads computes a row at a time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

OPTIONS = ("--fmad=false",)

THREADS = 256
"""The most threads of a row. A power of two, as sums are made of halves."""

_REDUCTIONS = """
__device__ {t} sum_of_all({t} value, {t}* shared) {{
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {{
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }}
  value = shared[0];
  __syncthreads();
  return value;
}}
__device__ {t} highest_of_all({t} value, {t}* shared) {{
  shared[threadIdx.x] = value;
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {{
    if (threadIdx.x < half) shared[threadIdx.x] = fmax(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }}
  value = shared[0];
  __syncthreads();
  return value;
}}
"""

_SUMMED = """
  __shared__ {t} shared[{threads}];
  const {t}* x = logits + blockIdx.x * classes;
  {t} highest = x[0], total = 0;
  for (long long j = threadIdx.x; j < classes; j += blockDim.x) highest = fmax(highest, x[j]);
  highest = highest_of_all(highest, shared);
  for (long long j = threadIdx.x; j < classes; j += blockDim.x) total += exp(x[j] - highest);
  total = sum_of_all(total, shared);
"""
"""The greatest logit of a row, and the sum of the exponentials of the differences from it."""

_KERNELS = {
    "softmax": """
extern "C" __global__ void softmax(const {t}* logits, {t}* result, long long classes) {{
{summed}
  {t}* y = result + blockIdx.x * classes;
  for (long long j = threadIdx.x; j < classes; j += blockDim.x) y[j] = exp(x[j] - highest) / total;
}}""",
    "log_softmax": """
extern "C" __global__ void log_softmax(const {t}* logits, {t}* result, long long classes) {{
{summed}
  {t}* y = result + blockIdx.x * classes;
  {t} share = log(total);
  for (long long j = threadIdx.x; j < classes; j += blockDim.x) y[j] = x[j] - highest - share;
}}""",
    # Where a label is 0, a logit of minus infinity does not count.
    "cross_entropy": """
extern "C" __global__ void cross_entropy(
    const {t}* logits, const {t}* labels, {t}* losses, {t}* gradient, long long classes) {{
{summed}
  const {t}* label = labels + blockIdx.x * classes;
  {t} loss = 0, share = log(total);
  for (long long j = threadIdx.x; j < classes; j += blockDim.x)
    if (label[j] != 0) loss += label[j] * (share - (x[j] - highest));
  loss = sum_of_all(loss, shared);
  if (threadIdx.x == 0) losses[blockIdx.x] = loss;
  {t}* y = gradient + blockIdx.x * classes;
  for (long long j = threadIdx.x; j < classes; j += blockDim.x) y[j] = exp(x[j] - highest) / total - label[j];
}}""",
    # As in TensorFlow, a GPU does not wait to refuse labels: the loss of one that is no class is NaN.
    "sparse_cross_entropy": """
extern "C" __global__ void sparse_cross_entropy(
    const {t}* logits, const {index}* labels, {t}* losses, {t}* gradient, long long classes) {{
{summed}
  long long label = labels[blockIdx.x];
  bool is_class = label >= 0 && label < classes;
  {t} wrong = ({t})nan("");
  if (threadIdx.x == 0) losses[blockIdx.x] = is_class ? log(total) - (x[label] - highest) : wrong;
  {t}* y = gradient + blockIdx.x * classes;
  for (long long j = threadIdx.x; j < classes; j += blockDim.x)
    y[j] = is_class ? exp(x[j] - highest) / total - (j == label ? 1 : 0) : wrong;
}}""",
}

_C_TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}

DTYPES = ("float32", "float64")


def source(name: str, dtype: str, index: str = "int64") -> str:
    """The source of a kernel for logits of a dtype and, where they are indices, labels of another."""
    t = _C_TYPES[dtype]
    summed = _SUMMED.format(t=t, threads=THREADS)
    return _REDUCTIONS.format(t=t) + _KERNELS[name].format(t=t, index=_C_TYPES[index], summed=summed)


@lru_cache(maxsize=64)
def _kernel(xp: Any, name: str, dtype: str, index: str) -> Any:
    return xp.RawKernel(source(name, dtype, index), name, options=OPTIONS)


def _launch(
    xp: Any, name: str, logits: Any, labels: tuple[Any, ...], results: tuple[Any, ...], index: str = "int64"
) -> None:
    rows, classes = logits.shape
    threads = 32
    while threads < THREADS and threads * 4 < classes:
        threads *= 2
    arrays = [xp.ascontiguousarray(a) for a in (logits, *labels)]
    _kernel(xp, name, logits.dtype.name, index)((rows,), (threads,), (*arrays, *results, np.int64(classes)))


def softmax(xp: Any, logits: Any, logarithm: bool) -> Any:
    """The softmax of the rows of a matrix of float32 or float64, not empty, or its logarithm."""
    result = xp.empty(logits.shape, logits.dtype)
    _launch(xp, "log_softmax" if logarithm else "softmax", logits, (), (result,))
    return result


def cross_entropy(xp: Any, logits: Any, labels: Any) -> tuple[Any, Any]:
    """Losses [rows] and gradient [rows, classes] of two matrices of one shape and dtype, not empty."""
    losses, gradient = xp.empty(logits.shape[:1], logits.dtype), xp.empty(logits.shape, logits.dtype)
    _launch(xp, "cross_entropy", logits, (labels,), (losses, gradient))
    return losses, gradient


def sparse_cross_entropy(xp: Any, logits: Any, labels: Any) -> tuple[Any, Any]:
    """The same for labels [rows] of int32 or int64 that are classes."""
    losses, gradient = xp.empty(logits.shape[:1], logits.dtype), xp.empty(logits.shape, logits.dtype)
    _launch(xp, "sparse_cross_entropy", logits, (labels,), (losses, gradient), labels.dtype.name)
    return losses, gradient
