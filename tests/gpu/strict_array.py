"""The arrays of `strict_cupy`: NumPy memory that only device code may look into."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.gpu.strict_machine import (
    Counters as Counters,
    CUDARuntimeError as CUDARuntimeError,
    Machine as Machine,
    Memory,
    OutOfMemoryError as OutOfMemoryError,
    Pool as Pool,
    PrivatePool as PrivatePool,
    Unnoticed,
    machine,
)


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype. Raises TypeError where a GPU has none such."""
    found = np.dtype(dtype)
    if found.kind not in "biufc" or found.itemsize > (16 if found.kind == "c" else 8):
        raise TypeError(f"Unsupported dtype {found}")
    return found


@dataclass
class Pointer:
    """As `cupy.cuda.MemoryPointer`, of an array's memory."""

    ptr: int
    mem: Any
    host: Any


class ndarray:
    """An array on a device. Only this module and `strict_cupy` may read `_host`."""

    __slots__ = ("__weakref__", "_host", "_memory", "base")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    _host: Any
    _memory: Any
    base: Any

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> None:
        if isinstance(memptr, Pointer):
            assert (shape, dtype, strides) == (memptr.host.shape, memptr.host.dtype, memptr.host.strides)
            self._host, self._memory, self.base = memptr.host.view(), memptr.mem, None
            return
        assert strides is None, "not in the stand-in"
        if memptr is None:
            self._set(np.empty(shape, check_dtype(dtype)), None)
            return
        self._host = memptr._bytes(np.dtype(dtype).itemsize * int(np.prod(shape))).view(dtype).reshape(shape)
        self._memory = memptr.mem
        self.base = None

    def _set(self, host: Any, base: ndarray | None) -> None:
        self._host = host
        self.base = None if base is None else base if base.base is None else base.base
        self._memory = Memory(host.nbytes) if base is None else base._memory
        if base is None and host.nbytes:
            machine.hosts[host.ctypes.data] = host

    # What the host knows without asking the device

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    strides = property(lambda self: self._host.strides)
    flags = property(lambda self: self._host.flags)
    data = property(lambda self: Pointer(self._host.ctypes.data, self._memory, self._host))

    @property
    def device(self) -> Any:
        from tests.gpu import strict_cuda

        return strict_cuda.Device(self._memory.device)

    @property
    def T(self) -> ndarray:
        return wrap(read(self).T, (self,))

    @property
    def real(self) -> ndarray:
        return wrap(read(self).real, (self,))

    @property
    def imag(self) -> ndarray:
        return wrap(read(self).imag, (self,))

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self._host)))

    def __repr__(self) -> str:
        return f"<array of {self.dtype}{list(self.shape)} on device {self._memory.device}>"

    # What waits for the device

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        from tests.gpu import strict_capture

        strict_capture.refuse(
            RuntimeError, "the current stream is capturing, so D2H transfers are disallowed"
        )
        machine.counters.to_host.append(self.shape)
        machine.wait(blocking)
        if out is None:
            return np.array(self._host, order=order)  # type: ignore[call-overload]
        assert (out.shape, out.dtype) == (self.shape, self.dtype)
        out[...] = self._host
        return out

    def tolist(self) -> Any:
        return self.get().tolist()

    def item(self, *at: int) -> Any:
        return self.get().item(*at)

    def tobytes(self, order: str = "C") -> bytes:
        return bytes(self.get().tobytes(order))

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get()[()])

    def __float__(self) -> float:
        return float(self.get()[()])

    def __complex__(self) -> complex:
        return complex(self.get()[()])

    def __array__(self, dtype: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy "
            "array explicitly."
        )

    # NumPy's functions on these arrays are CuPy's

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from tests.gpu import strict_cupy

        own = strict_cupy.module.__dict__.get(function.__name__) or strict_cupy.ufuncs.get(function.__name__)
        if own is None:
            return NotImplemented
        return getattr(own, method)(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from tests.gpu import strict_cupy

        try:
            place = functools.reduce(getattr, function.__module__.split(".")[1:], strict_cupy.module)
            own = getattr(place, function.__name__)
        except AttributeError:
            return NotImplemented
        if any(t not in (ndarray, np.ndarray) for t in types):
            return NotImplemented
        return own(*args, **kwargs)

    # Indices

    def __getitem__(self, at: Any) -> ndarray:
        index, mask = _index(self, at)
        machine.wait(mask)
        try:
            found = np.asarray(read(self)[index])
        except IndexError as e:
            raise _unnoticed(e, index) from None
        return wrap(found, (self,))

    def __setitem__(self, at: Any, value: Any) -> None:
        index, _ = _index(self, at)
        try:
            read(self)[index] = operand(value)
        except IndexError as e:
            raise _unnoticed(e, index) from None
        machine.counters.kernels += 1

    # Methods

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        if not copy and self.dtype == check_dtype(dtype):
            return self
        return wrap(read(self).astype(check_dtype(dtype)), ())

    def view(self, dtype: Any = None) -> ndarray:
        return wrap(read(self).view(self.dtype if dtype is None else check_dtype(dtype)), (self,))

    def reshape(self, *shape: Any, order: str = "C") -> ndarray:
        dims = shape[0] if len(shape) == 1 else shape
        if isinstance(dims, (np.ndarray, ndarray)):
            raise TypeError("a shape is a tuple of integers")
        return wrap(read(self).reshape(dims, order=order), (self,))

    def transpose(self, *axes: Any) -> ndarray:
        return wrap(read(self).transpose(*axes), (self,))

    def swapaxes(self, a: int, b: int) -> ndarray:
        return wrap(read(self).swapaxes(a, b), (self,))

    def squeeze(self, axis: Any = None) -> ndarray:
        return wrap(read(self).squeeze(axis), (self,))

    def ravel(self, order: str = "C") -> ndarray:
        return wrap(read(self).ravel(order), (self,))

    def flatten(self, order: str = "C") -> ndarray:
        return wrap(read(self).flatten(order), ())

    def copy(self, order: str = "C") -> ndarray:
        return wrap(read(self).copy(order), ())

    def fill(self, value: Any) -> None:
        read(self)[...] = operand(value)

    def conj(self) -> ndarray:
        return wrap(read(self).conj(), ())

    def repeat(self, repeats: Any, axis: Any = None) -> ndarray:
        if isinstance(repeats, (ndarray, np.ndarray)):
            raise ValueError("cupy.repeat takes numbers, not arrays")
        return wrap(read(self).repeat(repeats, axis), ())

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        return wrap(read(self).diagonal(offset, axis1, axis2), (self,))

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> ndarray:
        return wrap(_taken(read(self), operand(indices), axis), ())

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> ndarray:
        return wrap(read(self).clip(operand(min), operand(max)), ())

    def round(self, decimals: int = 0, out: Any = None) -> ndarray:
        return wrap(read(self).round(decimals), ())

    def nonzero(self) -> tuple[ndarray, ...]:
        machine.wait()
        return tuple(wrap(part, ()) for part in read(self).nonzero())

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        read(self).sort(axis)

    def argsort(self, axis: int = -1, kind: Any = None) -> ndarray:
        return wrap(read(self).argsort(axis, kind="stable"), ())

    def dot(self, other: ndarray) -> ndarray:
        return wrap(read(self).dot(read(other)), ())


def _reduction(name: str, typed: bool) -> Callable[..., Any]:
    def with_dtype(
        self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        with np.errstate(all="ignore"):
            found = getattr(read(self), name)(axis=axis, dtype=dtype, keepdims=keepdims)
        return written(found, out)

    def without(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return written(getattr(read(self), name)(axis=axis, keepdims=keepdims), out)

    return with_dtype if typed else without


for _name in ("sum", "prod", "mean"):
    setattr(ndarray, _name, _reduction(_name, True))
for _name in ("max", "min", "all", "any"):
    setattr(ndarray, _name, _reduction(_name, False))


def _scan(name: str) -> Callable[..., Any]:
    def scan(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return written(getattr(read(self), name)(axis=axis, dtype=dtype), out)

    return scan


for _name in ("cumsum", "cumprod"):
    setattr(ndarray, _name, _scan(_name))


def _extreme_place(name: str) -> Callable[..., Any]:
    def place(self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return written(np.asarray(getattr(read(self), name)(axis=axis, keepdims=keepdims)), out)

    return place


for _name in ("argmax", "argmin"):
    setattr(ndarray, _name, _extreme_place(_name))


def _operator(ufunc: str, reflected: bool = False, inplace: bool = False) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        from tests.gpu import strict_cupy

        if not isinstance(other, (ndarray, np.generic, bool, int, float, complex)):
            if isinstance(other, np.ndarray):
                raise TypeError(f"Unsupported type {np.ndarray}")
            return NotImplemented
        pair = (other, self) if reflected else (self, other)
        return strict_cupy.ufuncs[ufunc](*pair, out=self if inplace else None)

    return operate


_BINARY = {
    **dict(add="add", sub="subtract", mul="multiply", truediv="true_divide", floordiv="floor_divide"),
    **dict(mod="remainder", pow="power", matmul="matmul", lshift="left_shift", rshift="right_shift"),
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
}
for _name, _ufunc in _BINARY.items():
    setattr(ndarray, f"__{_name}__", _operator(_ufunc))
    setattr(ndarray, f"__r{_name}__", _operator(_ufunc, reflected=True))
    if _name != "matmul":
        setattr(ndarray, f"__i{_name}__", _operator(_ufunc, inplace=True))
for _name, _ufunc in dict(
    eq="equal", ne="not_equal", lt="less", le="less_equal", gt="greater", ge="greater_equal"
).items():
    setattr(ndarray, f"__{_name}__", _operator(_ufunc))


def _unary(ufunc: str) -> Callable[[Any], Any]:
    def operate(self: Any) -> Any:
        from tests.gpu import strict_cupy

        return strict_cupy.ufuncs[ufunc](self)

    return operate


for _name, _ufunc in dict(neg="negative", invert="invert", abs="absolute", pos="positive").items():
    setattr(ndarray, f"__{_name}__", _unary(_ufunc))


def refuse_copy() -> None:
    """Raises an error if what is about to be copied to the device would be captured."""
    from tests.gpu import strict_capture

    strict_capture.refuse(RuntimeError, "the current stream is capturing, so H2D transfers are disallowed")


def read(array: Any) -> Any:
    """The memory of an array, for code that runs on the current device.

    Raises:
        TypeError: it is not an array of a device.
        ValueError: it is one of another device.
    """
    if not isinstance(array, ndarray):
        raise TypeError(f"Unsupported type {type(array)}")
    current = machine.current
    if array._memory.device != current:
        raise ValueError(
            f"Array device must be same as the current device: array device = {array._memory.device} while "
            f"current = {current}"
        )
    return array._host


def operand(value: Any) -> Any:
    """An argument of a kernel: an array, or a number, which travels with the launch."""
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        check_dtype(value.dtype)
        return value
    return read(value)


def wrap(host: Any, sources: tuple[ndarray, ...]) -> Any:
    """An array of what a kernel has computed; a view if it shares the memory of a source."""
    machine.counters.kernels += 1
    array = ndarray.__new__(ndarray)
    host = np.asarray(host)
    check_dtype(host.dtype)
    for source in sources:
        if host.size and np.may_share_memory(host, source._host):
            array._set(host, source)
            return array
    array._set(host if host.base is None else host.copy(), None)
    return array


def written(found: Any, out: ndarray | None) -> ndarray:
    if out is None:
        made: ndarray = wrap(found, ())
        return made
    read(out)[...] = found
    return out


def _index(array: ndarray, at: Any) -> tuple[Any, bool]:
    """The index for NumPy, and whether its result's size depends on values."""
    parts = []
    mask = False
    for part in at if isinstance(at, tuple) else (at,):
        if isinstance(part, ndarray):
            part = read(part)
            mask = mask or part.dtype.kind == "b"
        elif isinstance(part, (np.ndarray, list)):
            part = np.asarray(part)
            refuse_copy()  # CuPy copies it
            machine.counters.to_device.append(part.shape)
        elif not (part is None or part is Ellipsis or isinstance(part, (slice, int, np.integer))):
            raise IndexError(f"Unsupported index {type(part)}")
        elif isinstance(part, slice) and any(
            isinstance(x, ndarray) for x in (part.start, part.stop, part.step)
        ):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        parts.append(part)
    return tuple(parts), mask


def _unnoticed(error: IndexError, index: tuple[Any, ...]) -> Exception:
    return Unnoticed(str(error)) if any(isinstance(part, np.ndarray) for part in index) else error


def _taken(host: Any, indices: Any, axis: Any) -> Any:
    try:
        return np.take(host, indices, axis)
    except IndexError as e:
        raise Unnoticed(str(e)) from None
