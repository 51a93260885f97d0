"""Products of matrices on a GPU by cuBLAS, called by ctypes, for work that is captured as a CUDA graph.

CuPy refuses to call cuBLAS while its stream is captured. cuBLAS itself allows it, if its workspace is memory
that the caller has given to it. So captures have a handle of their own (`Cublas`), with a workspace; all
other products are CuPy's. `matmul` is what kernels call.

The numbers are those of NVIDIA's headers `cublas_api.h` and `library_types.h`, the same in CUDA 12 and 13.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from tensorfleet_service.devices.blas import batch_product
from tensorfleet_service.threads import unlocked

_SUCCESS = 0
_OP_N, _OP_T = 0, 1
_GEMM_DEFAULT = -1
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _COMPUTE_64F = 68, 77, 70
_MAX_INT = 2**31 - 1

_TYPES: dict[str, tuple[int, int, Any]] = {
    "e": (2, _COMPUTE_32F, ctypes.c_float),
    "f": (0, _COMPUTE_32F, ctypes.c_float),
    "d": (1, _COMPUTE_64F, ctypes.c_double),
    "F": (4, _COMPUTE_32F, ctypes.c_float * 2),
    "D": (5, _COMPUTE_64F, ctypes.c_double * 2),
}
"""By the dtype: cudaDataType, the type to compute with, and that of the factors alpha and beta."""

_SMALL_WORKSPACE, _LARGE_WORKSPACE = 4 << 20, 32 << 20
"""What NVIDIA advises for GPUs before and from compute capability 9.0 on, in bytes."""

_int, _pointer, _longlong = ctypes.c_int, ctypes.c_void_p, ctypes.c_longlong
_MATRIX = (_pointer, _int, _int)  # its address, its type, its leading dimension
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (ctypes.POINTER(_pointer),),
    "cublasDestroy_v2": (_pointer,),
    "cublasSetStream_v2": (_pointer, _pointer),
    "cublasSetWorkspace_v2": (_pointer, _pointer, ctypes.c_size_t),
    "cublasGemmEx": (
        *(_pointer, _int, _int, _int, _int, _int, _pointer),
        *(*_MATRIX, *_MATRIX, _pointer, *_MATRIX, _int, _int),
    ),
    "cublasGemmStridedBatchedEx": (
        *(_pointer, _int, _int, _int, _int, _int, _pointer),
        *(*_MATRIX, _longlong, *_MATRIX, _longlong, _pointer, *_MATRIX, _longlong, _int, _int, _int),
    ),
}
"""The arguments of the functions; all return a status."""


class CublasError(RuntimeError):
    """cuBLAS is not there, or has refused a call."""


@cache
def library() -> Any:
    """The library that CuPy uses, with the signatures of its functions.

    Raises:
        CublasError: it is not found.
    """
    return declared(ctypes.CDLL(_path()))


def _path() -> str:
    try:
        from cuda import pathfinder  # CuPy depends on it, and finds its libraries by it
    except ImportError as e:
        raise CublasError(f"cuBLAS is found by cuda-pathfinder, which comes with CuPy 14: {e}") from None
    try:
        return str(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except (OSError, RuntimeError) as e:
        raise CublasError(f"cuBLAS is not found: {e}") from None


def declared(loaded: ctypes.CDLL) -> ctypes.CDLL:
    """The library, with the signatures of the functions that are called."""
    for name, arguments in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, _int
    loaded.cublasGetStatusString.argtypes = (_int,)
    loaded.cublasGetStatusString.restype = ctypes.c_char_p
    return loaded


class Cublas:
    """A handle for one stream of the device that is current, with a workspace of its own.

    It is used by one thread at a time.

    Raises:
        CublasError: cuBLAS is not found, or finds no device.
    """

    def __init__(self, xp: Any, stream: int) -> None:
        self._xp = xp
        self._library = library()
        self._handle = _pointer()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        try:
            major = int(xp.cuda.runtime.getDeviceProperties(xp.cuda.runtime.getDevice())["major"])
            size = _LARGE_WORKSPACE if major >= 9 else _SMALL_WORKSPACE
            self._workspace = xp.empty(size, np.uint8)
            self._call("cublasSetStream_v2", self._handle, stream)
            # After the stream, as setting that puts the library's own workspace back.
            self._call("cublasSetWorkspace_v2", self._handle, self._workspace.data.ptr, size)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the handle back, while its device is current; waits for the device."""
        if self._handle:
            self._call("cublasDestroy_v2", self._handle)
            self._handle = _pointer()
        self._workspace = None

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """The product of matrices, or of batches of them, as `cupy.matmul`, queued on the stream.

        Args:
            a: [..., M, K], of a float or complex dtype.
            b: [..., K, N], of the same dtype; dimensions of the batch are broadcast.
            out: [..., M, N], contiguous, where the product goes; None for a new array.
        """
        m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
        if b.shape[-2] != k:
            raise ValueError(f"matmul of {a.shape} and {b.shape}")
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        if out is None:
            out = self._xp.empty((*batch, m, n), a.dtype)
        elif out.shape != (*batch, m, n) or out.dtype != a.dtype or not out.flags.c_contiguous:
            raise ValueError(f"the product is of {a.dtype}{[*batch, m, n]}, contiguous")
        if not out.size:
            return out
        if not k:
            out.fill(0)
            return out
        # In cuBLAS matrices are stored by columns, so the transposed product is computed: outᵀ = bᵀ aᵀ.
        count = int(np.prod(batch, dtype=np.int64))
        (left, op_left, ld_left, step_left), (right, op_right, ld_right, step_right) = (
            self._operand(b, batch, count),
            self._operand(a, batch, count),
        )
        if max(m, n, k, ld_left, ld_right, count) > _MAX_INT:
            raise ValueError(f"matmul of {a.shape} and {b.shape}: a dimension is too large for cuBLAS")
        kind, compute, one, zero = _factors(a.dtype.char)
        sizes = (op_left, op_right, n, m, k, ctypes.byref(one))
        first, second = (left.data.ptr, kind, ld_left), (right.data.ptr, kind, ld_right)
        third, how = (out.data.ptr, kind, n), (compute, _GEMM_DEFAULT)
        if count == 1:
            matrices: tuple[Any, ...] = (*first, *second, ctypes.byref(zero), *third)
            self._call("cublasGemmEx", self._handle, *sizes, *matrices, *how)
        else:
            matrices = (*first, step_left, *second, step_right, ctypes.byref(zero), *third, m * n, count)
            self._call("cublasGemmStridedBatchedEx", self._handle, *sizes, *matrices, *how)
        return out

    def _operand(self, x: Any, batch: tuple[int, ...], count: int) -> tuple[Any, int, int, int]:
        """An operand as cuBLAS takes it: (array, op, leading dimension, elements to the next matrix).

        The array is a copy where the strides are other ones.
        """
        rows, columns = x.shape[-2:]
        if x.size == rows * columns:  # one matrix for the whole batch
            step = 0
            x = x.reshape(rows, columns)
        else:
            if x.shape[:-2] != batch:
                x = self._xp.broadcast_to(x, (*batch, rows, columns))
            x = x.reshape(count, rows, columns)
            step = x.strides[0] // x.itemsize
        by_row, by_column = (stride // x.itemsize for stride in x.strides[-2:])
        if (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1) and step >= 0:
            return x, _OP_N, max(by_row, columns), step
        if (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1) and step >= 0:
            return x, _OP_T, max(by_column, rows), step
        x = self._xp.ascontiguousarray(x)
        return x, _OP_N, columns, rows * columns if step else 0

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status != _SUCCESS:
            text = self._library.cublasGetStatusString(status).decode()
            raise CublasError(f"{function}: status {status}, {text}")


@cache
def _factors(char: str) -> tuple[int, int, Any, Any]:
    """By a dtype: cudaDataType, the type to compute with, one and zero; TF32 by CuPy's setting for it."""
    kind, compute, factor = _TYPES[char]
    if compute == _COMPUTE_32F and char in "fF" and int(os.environ.get("CUPY_TF32", "0")) > 0:
        compute = _COMPUTE_32F_FAST_TF32
    return kind, compute, factor(1), factor(0)


_of_thread = threading.local()


@contextmanager
def products_by(own: Cublas) -> Iterator[None]:
    """Lets `matmul` of this thread use a handle, inside of `with`."""
    outer = getattr(_of_thread, "cublas", None)
    _of_thread.cublas = own
    try:
        yield
    finally:
        _of_thread.cublas = outer


def matmul(xp: Any, a: Any, b: Any, out: Any = None) -> Any:
    """As `xp.matmul`, and on a GPU also while the stream is captured."""
    if xp is not np:
        own: Cublas | None = getattr(_of_thread, "cublas", None)
        if own is not None and a.dtype == b.dtype and a.dtype.char in _TYPES and a.ndim >= 2 <= b.ndim:
            return own.matmul(a, b, out)
    elif a.ndim == 2 == b.ndim:
        return unlocked.matmul(a, b, out)
    elif out is None:
        return batch_product(a, b)
    return xp.matmul(a, b, out=out)
