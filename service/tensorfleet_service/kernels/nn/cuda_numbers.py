"""The numbers of kernels in CUDA: how arrays of a dtype are declared, read and written."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

OPTIONS = ("--fmad=false",)
"""Sums of products are not contracted, so that results are the CPU's but for the last places."""

C_TYPES = {"float16": "half", "float32": "float", "float64": "double", "int32": "int", "int64": "long long"}

HALF = """
typedef unsigned short half;
__device__ inline float widened(half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
__device__ inline half narrowed(float x) {
  half y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
"""
"""Half precision without CUDA's headers, which a compiler at run time may not find: instructions of PTX."""

_PLAIN = """
__device__ inline {t} load(const {t}* p, long long i) {{ return p[i]; }}
__device__ inline void store({t}* p, long long i, {t} x) {{ p[i] = x; }}
"""
_OF_HALF = """
__device__ inline float load(const half* p, long long i) { return widened(p[i]); }
__device__ inline void store(half* p, long long i, float x) { p[i] = narrowed(x); }
"""


def number(dtype: str) -> str:
    """The type in which numbers of a dtype are computed: half precision in single."""
    return "double" if dtype == "float64" else "float"


def access(dtype: str) -> str:
    """The functions `load(array, i)` and `store(array, i, number)` for arrays of a dtype."""
    return HALF + _OF_HALF if dtype == "float16" else _PLAIN.format(t=C_TYPES[dtype])


@lru_cache(maxsize=256)
def compiled(xp: Any, source: Callable[[str, str], str], name: str, dtype: str) -> Any:
    """The kernel of a source, for arrays of a dtype; it is compiled at its first launch on a device."""
    return xp.RawKernel(source(name, dtype), name, options=OPTIONS)
