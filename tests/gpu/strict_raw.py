"""`cupy.RawKernel` of the stand-in: CUDA source compiled as C, with a thread for each of a block's threads.

Blocks run one after the other. Functions are found by their first line, `extern "C" __global__ void name(…)`.
What is PTX in the source, conversions of half precision, is C here.
"""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any

import numpy as np

from tensorfleet_service.kernels.nn.cuda_numbers import HALF
from tests.gpu.strict_array import machine, ndarray, read
from tests.gpu.strict_capture import launched
from tests.gpu.strict_kernels import compiled

_HEAD = """
#include <tgmath.h>
#include <pthread.h>
#include <stdbool.h>
#define __global__
#define __shared__ static
static _Thread_local struct { unsigned int x; } threadIdx, blockIdx;
static struct { unsigned int x; } blockDim, gridDim;
static pthread_barrier_t _barrier;
#define __syncthreads() pthread_barrier_wait(&_barrier)
"""

_HALF = """
typedef _Float16 half;
static inline float widened(half x) { return x; }
static inline half narrowed(float x) { return (half)x; }
"""

_LAUNCH = """
static struct {{ {members} }} _arguments;
static void* _thread(void* number) {{
  threadIdx.x = (unsigned int)(long)number;
  for (unsigned int block = 0; block < gridDim.x; block++) {{
    blockIdx.x = block;
    {name}({passed});
    __syncthreads();
  }}
  return 0;
}}
int launch(unsigned int blocks, unsigned int threads, {parameters}) {{
  {stored}
  gridDim.x = blocks;
  blockDim.x = threads;
  pthread_t made[1024];
  if (threads > 1024 || pthread_barrier_init(&_barrier, 0, threads)) return 1;
  for (long i = 0; i < threads; i++)
    if (pthread_create(&made[i], 0, _thread, (void*)i)) _Exit(70); // the others would wait for good
  for (long i = 0; i < threads; i++) pthread_join(made[i], 0);
  pthread_barrier_destroy(&_barrier);
  return 0;
}}
"""

_TYPES = {
    **{"half": np.float16, "float": np.float32, "double": np.float64},
    **{"int": np.int32, "long long": np.int64},
}
_lock = threading.Lock()
"""A kernel's arguments are in one place of its library."""


class RawKernel:
    """As `cupy.RawKernel`."""

    def __init__(self, code: str, name: str, options: tuple[str, ...] = ()) -> None:
        found = re.search(rf'extern "C" __global__ void {name}\(([^)]*)\)', code)
        assert found is not None, f"no kernel {name}"
        self.name = name
        self._parameters = [part.split() for part in found[1].split(",")]
        declared = [(" ".join(words[:-1]), words[-1]) for words in self._parameters]
        self._types = [(kind.removeprefix("const ").rstrip("*"), kind.endswith("*")) for kind, _ in declared]
        launch = _LAUNCH.format(
            name=name,
            members=" ".join(f"{kind} {own};" for kind, own in declared),
            passed=", ".join(f"_arguments.{own}" for _, own in declared),
            parameters=", ".join(f"{kind} {own}" for kind, own in declared),
            stored=" ".join(f"_arguments.{own} = {own};" for _, own in declared),
        )
        self._has_fixed_blocks = "blockDim" not in code
        plain = code.replace('extern "C" ', "").replace(HALF, _HALF)
        self._launch = compiled(f"{_HEAD}\n{plain}\n{launch}", "-pthread").launch

    @launched
    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
        assert len(grid) == len(block) == 1
        assert grid[0] > 0
        assert 0 < block[0] <= 1024
        values: list[Any] = []
        for (kind, is_array), (*_, own), value in zip(self._types, self._parameters, args, strict=True):
            wanted = np.dtype(_TYPES[kind])
            if not is_array:
                if isinstance(value, ndarray) or np.dtype(type(value)) != wanted:
                    raise TypeError(f"{own} of {self.name} is {value!r}, not a number of {wanted}")
                values.append(np.ctypeslib.as_ctypes_type(wanted)(value.item()))
                continue
            host = read(value)
            if host.dtype != wanted or not host.flags.c_contiguous:
                raise TypeError(f"{own} of {self.name} is of {host.dtype}, or not contiguous")
            values.append(ctypes.c_void_p(host.ctypes.data))
        # Many blocks of many threads take long here; kernels that ask for the size of a block work with any.
        is_large = grid[0] > 8 and not self._has_fixed_blocks
        threads = min(block[0], 4) if is_large else block[0]
        with _lock:
            assert self._launch(ctypes.c_uint(grid[0]), ctypes.c_uint(threads), *values) == 0
        machine.counters.kernels += 1
