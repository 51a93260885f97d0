"""Random numbers with a seed on a GPU: the numbers of `philox`, each group of them by a thread of its own.

One kernel for each distribution and dtype. What is exact on the CPU is the same here; normal numbers may
differ in the last place, where CUDA's functions round otherwise than the CPU's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet_service.state.philox import SAMPLES_PER_OUTPUT, Stream

if TYPE_CHECKING:
    from tensorfleet.core.dtypes import DType

OPTIONS = ("--fmad=false",)

PARAMETERS = "uint64 key, uint64 low, uint64 high, int64 total"
"""The stream, and the number of outputs, of which a thread writes a group."""

FUNCTIONS = """
__device__ inline void philox(
    unsigned long long key, unsigned long long low, unsigned long long high, unsigned long long offset,
    unsigned int* words) {
  unsigned long long l = low + offset, h = high + (l < offset);
  unsigned int x0 = (unsigned int)l, x1 = (unsigned int)(l >> 32);
  unsigned int x2 = (unsigned int)h, x3 = (unsigned int)(h >> 32);
  unsigned int key0 = (unsigned int)key, key1 = (unsigned int)(key >> 32);
  for (int round = 0; round < 10; round++) {
    unsigned long long product0 = x0 * 0xD2511F53ull, product1 = x2 * 0xCD9E8D57ull;
    x0 = (unsigned int)(product1 >> 32) ^ x1 ^ key0;
    x2 = (unsigned int)(product0 >> 32) ^ x3 ^ key1;
    x1 = (unsigned int)product1;
    x3 = (unsigned int)product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  words[0] = x0; words[1] = x1; words[2] = x2; words[3] = x3;
}
__device__ inline void uniform_float32(const unsigned int* words, float* values) {
  for (int c = 0; c < 4; c++) values[c] = (words[c] & 0x7FFFFFu) * 1.1920928955078125e-07f;
}
__device__ inline void uniform_float64(const unsigned int* words, double* values) {
  for (int c = 0; c < 2; c++) {
    unsigned long long mantissa = (unsigned long long)(words[2 * c] & 0xFFFFFu) << 32 | words[2 * c + 1];
    values[c] = mantissa * 2.220446049250313e-16;
  }
}
__device__ inline void normal_float32(const unsigned int* words, float* values) {
  uniform_float32(words, values);
  for (int c = 0; c < 4; c += 2) {
    float unit = values[c] > 1e-7f ? values[c] : 1e-7f;
    float radius = sqrtf(-2.0f * (float)log((double)unit));
    double angle = (float)(6.283185307179586 * values[c + 1]);
    values[c] = (float)sin(angle) * radius;
    values[c + 1] = (float)cos(angle) * radius;
  }
}
__device__ inline void normal_float64(const unsigned int* words, double* values) {
  uniform_float64(words, values);
  double radius = sqrt(-2.0 * log(values[0] > 1e-7 ? values[0] : 1e-7));
  double angle = 6.283185307179586 * values[1];
  values[0] = sin(angle) * radius;
  values[1] = cos(angle) * radius;
}
"""

_PLAIN = """
unsigned int words[4];
{type} values[4];
philox(key, low, high, (unsigned long long)i, words);
{distribution}_{name}(words, values);
for (int c = 0; c < {group}; c++) if (i * {group} + c < total) y[i * {group} + c] = values[c];
"""

_TRUNCATED = """
unsigned int words[4];
{type} values[4];
int found = 0;
for (unsigned long long drawn = 0; found < {group}; drawn++) {{
  philox(key, low, high, (unsigned long long)i * {apart}ull + drawn, words);
  normal_{name}(words, values);
  for (int c = 0; c < {group}; c++) {{
    if (found < {group} && fabs(values[c]) < 2) {{
      if (i * {group} + found < total) y[i * {group} + found] = values[c];
      found++;
    }}
  }}
}}
"""

DISTRIBUTIONS = ("uniform", "normal", "truncated_normal")


def body(distribution: str, is_double: bool) -> str:
    """What thread `i` does, in CUDA and in C."""
    group = 2 if is_double else 4
    template = _TRUNCATED if distribution == "truncated_normal" else _PLAIN
    return template.format(
        distribution=distribution,
        type="double" if is_double else "float",
        name="float64" if is_double else "float32",
        group=group,
        apart=group * SAMPLES_PER_OUTPUT // 4,
    )


class CudaSampler:
    """A distribution of `philox` on the GPU of the array module `xp`, with the same signature."""

    def __init__(self, xp: Any, distribution: str) -> None:
        self._xp = xp
        self._distribution = distribution
        self._kernels: dict[bool, Any] = {}

    def __call__(self, stream: Stream, size: int, dtype: DType) -> Any:
        """`size` numbers of the dtype, in the device's memory."""
        is_double = dtype.size == 8
        made, group = (np.float64, 2) if is_double else (np.float32, 4)
        values = self._xp.empty((size,), made)
        if size:
            low, high = stream.counter & (2**64 - 1), stream.counter >> 64
            self._kernel(is_double)(
                *map(np.uint64, (stream.key, low, high)), np.int64(size), values, size=-(-size // group)
            )
        wanted = np.dtype(dtype.as_numpy_dtype)
        if dtype.name == "float16" and self._distribution == "uniform":
            # A half has the ten lowest of the bits that a float has 23 of.
            steps = self._xp.remainder(values * np.float32(2**23), np.float32(1024))
            return (steps * np.float32(1 / 1024)).astype(wanted)
        return values if values.dtype == wanted else values.astype(wanted)

    def _kernel(self, is_double: bool) -> Any:
        found = self._kernels.get(is_double)
        if found is None:
            name = "float64" if is_double else "float32"
            found = self._kernels[is_double] = self._xp.ElementwiseKernel(
                PARAMETERS,
                f"raw {name} y",
                body(self._distribution, is_double),
                f"tensorfleet_{self._distribution}_{name}",
                preamble=FUNCTIONS,
                options=OPTIONS,
            )
        return found
