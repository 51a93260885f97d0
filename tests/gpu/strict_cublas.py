"""cuBLAS of the stand-in: what `devices/cublas.py` calls of the library, on addresses of arrays.

Arguments are converted as ctypes does by the declared signatures. Matrices are stored by columns, as cuBLAS
has them, and what lies outside of an array's memory is refused.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from tensorfleet_service.devices.cublas import _SIGNATURES as SIGNATURES
from tests.gpu import strict_capture, strict_cuda
from tests.gpu.strict_array import Unnoticed, machine

_DTYPES = {2: np.float16, 0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
_COMPUTED = {68: "efF", 77: "fF", 70: "dD"}
_INVALID = 7


class _Handle:
    def __init__(self) -> None:
        self.device = strict_cuda.current_device()
        self.stream = 0
        self.workspace: Any = None


class Library:
    """The library; `calls` counts its functions' calls."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1 << 20)
        self.handles: dict[int, _Handle] = {}
        self.calls: dict[str, int] = {}
        self.fails = False

    def __getattr__(self, name: str) -> Any:
        own, types = getattr(type(self), f"_{name.removeprefix('cublas')}"), SIGNATURES[name]

        def call(*arguments: Any) -> int:
            for kind, value in zip(types, arguments, strict=True):
                kind.from_param(value)
            self.calls[name] = self.calls.get(name, 0) + 1
            status = _INVALID if self.fails else own(self, *arguments)
            return int(status or 0)

        return call

    def cublasGetStatusString(self, status: int) -> bytes:
        return f"the stand-in's status {status}".encode()

    def _Create_v2(self, place: Any) -> None:
        place._obj.value = next(self._numbers)
        self.handles[place._obj.value] = _Handle()

    def _Destroy_v2(self, handle: Any) -> None:
        del self.handles[handle.value]

    def _SetStream_v2(self, handle: Any, stream: int) -> None:
        found = self.handles[handle.value]
        found.stream, found.workspace = stream, None

    def _SetWorkspace_v2(self, handle: Any, place: int, size: int) -> None:
        self.handles[handle.value].workspace = _memory(place, size)

    def _GemmEx(
        self, handle: Any, op_a: int, op_b: int, m: int, n: int, k: int, alpha: Any, *rest: Any
    ) -> int:
        a, kind_a, ld_a, b, kind_b, ld_b, beta, c, kind_c, ld_c, compute, algorithm = rest
        steps = (0, 0, 0)
        matrices = ((a, kind_a, ld_a), (b, kind_b, ld_b), (c, kind_c, ld_c))
        sizes = (op_a, op_b, m, n, k)
        return self._product(handle, sizes, alpha, beta, matrices, steps, 1, compute, algorithm)

    def _GemmStridedBatchedEx(
        self, handle: Any, op_a: int, op_b: int, m: int, n: int, k: int, alpha: Any, *rest: Any
    ) -> int:
        a, kind_a, ld_a, step_a, b, kind_b, ld_b, step_b, beta, *rest_c = rest
        c, kind_c, ld_c, step_c, count, compute, algorithm = rest_c
        matrices = ((a, kind_a, ld_a), (b, kind_b, ld_b), (c, kind_c, ld_c))
        sizes, steps = (op_a, op_b, m, n, k), (step_a, step_b, step_c)
        return self._product(handle, sizes, alpha, beta, matrices, steps, count, compute, algorithm)

    def _product(
        self,
        handle: Any,
        sizes: tuple[int, ...],
        alpha: Any,
        beta: Any,
        matrices: tuple[tuple[int, int, int], ...],
        steps: tuple[int, ...],
        count: int,
        compute: int,
        algorithm: int,
    ) -> int:
        own = self.handles[handle.value]
        op_a, op_b, m, n, k = sizes
        shapes = ((m, k) if op_a == 0 else (k, m), (k, n) if op_b == 0 else (n, k), (m, n))
        if algorithm != -1 or own.device != strict_cuda.current_device():
            return _INVALID
        views, hosts = [], []
        for (place, kind, ld), step, (rows, columns) in zip(matrices, steps, shapes, strict=True):
            dtype = np.dtype(_DTYPES[kind])
            if ld < max(rows, 1) or dtype.char not in _COMPUTED[compute] or kind != matrices[0][1]:
                return _INVALID
            elements = step * (count - 1) + ld * (columns - 1) + rows
            host = _memory(place, elements * dtype.itemsize)
            flat = np.frombuffer((ctypes.c_char * (elements * dtype.itemsize)).from_address(place), dtype)
            strides = (step * dtype.itemsize, dtype.itemsize, ld * dtype.itemsize)
            views.append(np.lib.stride_tricks.as_strided(flat, (count, rows, columns), strides))
            hosts.append(host)
        one, zero = _number(alpha), _number(beta)
        a, b, c = views

        def run() -> None:
            left = a if op_a == 0 else a.swapaxes(1, 2)
            right = b if op_b == 0 else b.swapaxes(1, 2)
            with np.errstate(all="ignore"):
                product = np.matmul(left, right) * np.asarray(one, c.dtype)
            c[...] = product if not zero else product + c * np.asarray(zero, c.dtype)
            assert all(host is not None for host in hosts)

        recording = strict_capture.of_stream(own.stream)
        if recording is None:
            machine.counters.kernels += 1
            run()
        elif own.workspace is None:
            raise Unnoticed("cuBLAS would take memory while the stream is captured")
        else:
            recording.launches.append(run)
        return 0


def _number(place: Any) -> Any:
    value = place._obj
    return value.value if hasattr(value, "value") else complex(*value)


def _memory(place: int, size: int) -> Any:
    """The memory of the array that has these bytes."""
    for start, host in list(machine.hosts.items()):
        if start <= place and place + size <= start + host.nbytes:
            return host
    raise Unnoticed(f"cuBLAS is given {size} bytes that are no array's")
