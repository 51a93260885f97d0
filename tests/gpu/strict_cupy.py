"""A strict stand-in for CuPy: arrays over NumPy memory, with the refusals of a GPU.

`module` takes CuPy's place in kernels (`xp`) and, by the fixture `gpus`, in `import cupy`. It has the names
of the release that `cupy_names.txt` describes, no others, with its parameters and the dtypes of its ufuncs.
NumPy computes, but no NumPy array gets in unseen, none of another device, none of objects, strings or times,
and what is of rank 0 stays an array. Copies, and waits of the host, are counted (`machine.counters`); memory
has a limit.

Where CuPy does without a word what is wrong (an index out of range), or what waits (a NumPy array as an
argument), the stand-in refuses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.gpu import strict_capture, strict_cuda
from tests.gpu.cupy_names import FILE
from tests.gpu.strict_array import (
    Unnoticed,
    check_dtype,
    machine,
    ndarray,
    operand,
    read,
    refuse_copy,
    wrap,
    written,
)
from tests.gpu.strict_capture import launched
from tests.gpu.strict_kernels import ElementwiseKernel
from tests.gpu.strict_raw import RawKernel

_OF_SCATTER = frozenset(("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"))
_SCATTERED = {
    "add": frozenset("ieIQLfd"),
    "subtract": frozenset("ieIQLfd"),
    "maximum": frozenset("ilqILQfd"),
    "minimum": frozenset("ilqILQfd"),
}
_WAITS = frozenset(
    ("nonzero", "flatnonzero", "argwhere", "unique", "bincount", "extract", "array_equal", "allclose", "isin")
)
_BY_CUBLAS = frozenset(("dot", "vdot", "inner", "matmul", "tensordot", "einsum"))
_LINALG_DTYPES = frozenset("fdFD")
_WITH_NUMBERS = frozenset(
    ("clip", "full_like", "linspace", "where", "isclose", "searchsorted", "nan_to_num", "pad")
)
_NUMPYS = frozenset(
    (
        *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16"),
        *("float32", "float64", "complex64", "complex128", "pi", "e", "inf", "nan", "newaxis", "iinfo"),
        *("finfo", "dtype", "generic", "integer", "floating", "inexact", "number", "intp"),
    )
)


class Ufunc:
    """A ufunc, with CuPy's loops."""

    def __init__(self, name: str, loops: list[str]) -> None:
        self.__name__ = name
        self.name = f"cupy_{name}"
        self._loops = [(a, b) for a, _, b in (loop.partition("->") for loop in loops)]
        self._function = getattr(np, name, None)

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    @launched
    def __call__(
        self, *args: Any, out: Any = None, where: Any = None, dtype: Any = None, casting: str = "same_kind"
    ) -> Any:
        count = len(self._loops[0][0])
        if len(args) > count:
            args, out = args[:count], args[count]
        if isinstance(out, tuple):
            (out,) = out
        values = [operand(x) for x in args]
        if self._function is None:
            raise NotImplementedError(f"the stand-in has no {self.name}")
        kwargs: dict[str, Any] = {} if dtype is None else {"dtype": check_dtype(dtype)}
        outputs = self._outputs(values, dtype)
        if where is not None:
            kwargs["where"] = read(where)
            if out is not None:
                kwargs["out"] = read(out)
        with np.errstate(all="ignore"):
            found = self._function(*values, **kwargs)
        if isinstance(found, tuple):
            return tuple(wrap(x, ()) for x in found)
        found = np.asarray(found)
        if dtype is None and found.dtype != outputs[0]:
            found = found.astype(outputs[0])
        if out is None:
            return wrap(found, ())
        if not np.can_cast(found.dtype, out.dtype, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast output of {self.name} from {found.dtype} to {out.dtype}")
        if np.broadcast_shapes(found.shape, out.shape) != out.shape:
            raise ValueError(f"Out shape is mismatched: {out.shape} for {found.shape}")
        return written(found, out)

    def _outputs(self, values: list[Any], dtype: Any) -> str:
        """The dtypes of the outputs, as characters. Raises TypeError where there is no loop."""
        for inputs, outputs in self._loops:
            if dtype is not None and outputs[0] == np.dtype(dtype).char:
                return outputs
            if dtype is None and all(map(_fits, values, inputs)):
                return outputs
        kinds = tuple(getattr(x, "dtype", type(x)) for x in values)
        raise TypeError(f"Wrong type {kinds} of arguments for {self.name}")

    @launched
    def at(self, array: Any, indices: Any, values: Any = None) -> None:
        if self.__name__ not in _OF_SCATTER:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        kinds = _SCATTERED.get(self.__name__)
        if kinds is not None and array.dtype.char not in kinds:
            raise TypeError(f"{self.name}.at does not support {array.dtype}")
        parts = tuple(read(x) if isinstance(x, ndarray) else x for x in _as_tuple(indices))
        if any(isinstance(x, ndarray) is False and isinstance(x, np.ndarray) for x in _as_tuple(indices)):
            raise TypeError("an index is a NumPy array")
        assert self._function is not None
        try:
            self._function.at(read(array), parts if isinstance(indices, tuple) else parts[0], operand(values))
        except IndexError as e:
            raise Unnoticed(str(e)) from None
        machine.counters.kernels += 1

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        method = {"add": "sum", "multiply": "prod"}.get(self.__name__)
        if method is None:
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        return getattr(array, method)(axis, dtype, out, keepdims)

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"`{self.name}.outer` is not in the stand-in")


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _fits(value: Any, char: str) -> bool:
    if char == "E":
        return False
    wanted = np.dtype(char)
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return wanted.kind in "iufc"
    if isinstance(value, float):
        return wanted.kind in "fc"
    if isinstance(value, complex):
        return wanted.kind == "c"
    return bool(np.can_cast(value.dtype, wanted, "safe"))


def _unwrapped(value: Any, numbers: bool) -> Any:
    if isinstance(value, ndarray):
        return read(value)
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {np.ndarray}")
    if isinstance(value, np.generic) and not numbers and not isinstance(value, (np.integer, np.bool_)):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (list, tuple)):
        return type(value)(_unwrapped(x, numbers) for x in value)
    return value


def _arrays(value: Any) -> list[ndarray]:
    if isinstance(value, (list, tuple)):
        return [array for x in value for array in _arrays(x)]
    return [value] if isinstance(value, ndarray) else []


def _rewrapped(found: Any, sources: tuple[ndarray, ...]) -> Any:
    if isinstance(found, (np.ndarray, np.generic)):
        return wrap(found, sources)
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*(_rewrapped(x, sources) for x in found))
    if isinstance(found, (list, tuple)):
        return type(found)(_rewrapped(x, sources) for x in found)
    return found


def _function(name: str, function: Callable[..., Any], parameters: list[str]) -> Callable[..., Any]:
    positional = [p for p in parameters if not p.endswith("=") and not p.startswith("*")]
    names = {p.rstrip("=") for p in parameters}
    any_count = any(p.startswith("*") and not p.startswith("**") for p in parameters)
    any_name = any(p.startswith("**") for p in parameters) or "?" in parameters
    short = name.rpartition(".")[2]

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(positional) and not any_count and "?" not in parameters:
            raise TypeError(f"cupy.{name} takes {len(positional)} arguments, not {len(args)}")
        unknown = set(kwargs) - names
        if unknown and not any_name:
            raise TypeError(f"cupy.{name} has no arguments {sorted(unknown)}")
        numbers = short in _WITH_NUMBERS
        machine.wait(short in _WAITS)
        out = kwargs.pop("out", None)
        sources = tuple(_arrays(list(args) + list(kwargs.values())))
        # Of two vectors the product is a reduction of CuPy's own.
        if name.startswith("linalg.") or (short in _BY_CUBLAS and any(x.ndim > 1 for x in sources)):
            refuse_cublas()
        if name.startswith("linalg.") and any(a.dtype.char not in _LINALG_DTYPES for a in sources):
            raise TypeError(f"cupy.{name} does not support {[a.dtype.name for a in sources]}")
        plain = [_unwrapped(x, numbers) for x in args]
        named = {key: _unwrapped(x, numbers) for key, x in kwargs.items()}
        if "dtype" in named and named["dtype"] is not None:
            check_dtype(named["dtype"])
        try:
            with np.errstate(all="ignore"):
                found = function(*plain, **named)
        except np.linalg.LinAlgError as e:
            if "ingular" not in str(e) and "positive definite" not in str(e):
                raise
            raise Unnoticed(f"cupy.{name} would not tell: {e}") from None
        except np.exceptions.AxisError:
            raise
        except IndexError as e:
            raise Unnoticed(str(e)) from None
        return _rewrapped(found, sources) if out is None else written(found, out)

    call.__name__ = short
    return call


class _Generator:
    """As `cupy.random.Generator`."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng()

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        refuse_cublas()
        return wrap(self._generator.random(size, dtype), ())

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        refuse_cublas()
        return wrap(self._generator.standard_normal(size, dtype), ())


# Functions that make arrays, and copy them


def _array(obj: Any, dtype: Any = None, copy: Any = True, order: str = "K", **_: Any) -> Any:
    if isinstance(obj, ndarray):
        if not copy and obj._memory.device == machine.current and dtype in (None, obj.dtype):
            return obj
        if obj._memory.device != machine.current:
            machine.counters.peer.append(obj.shape)
            found = obj._host.copy() if dtype is None else obj._host.astype(check_dtype(dtype))
            return wrap(found, ())
        return wrap(np.array(read(obj), dtype), ())
    if isinstance(obj, (list, tuple)) and _arrays(obj):
        return wrap(np.array([read(x) for x in obj], dtype), ())
    host = np.array(obj, dtype)
    check_dtype(host.dtype)
    refuse_copy()
    machine.counters.to_device.append(host.shape)
    return wrap(host, ())


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False
) -> Any:
    return _array(a, dtype, copy=False)


def _ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    if isinstance(a, ndarray) and a.flags.c_contiguous and dtype in (None, a.dtype):
        return a if a.ndim else a.reshape(1)
    return wrap(np.ascontiguousarray(read(a) if isinstance(a, ndarray) else read(_array(a)), dtype), ())


def _asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    return a.get(stream, order, out, blocking) if isinstance(a, ndarray) else np.asarray(a)


def _made(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(shape: Any, dtype: Any = float, order: str = "C") -> Any:
        if isinstance(shape, (np.ndarray, ndarray)):
            raise TypeError("a shape is a tuple of integers")
        return wrap(make(shape, check_dtype(dtype)), ())

    return call


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    value = operand(fill_value)
    return wrap(np.full(shape, value, check_dtype(np.asarray(value).dtype if dtype is None else dtype)), ())


def _like(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
        return wrap(make(read(a), dtype, shape=shape), ())

    return call


def _full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", **_: Any) -> Any:
    return wrap(np.full_like(read(a), operand(fill_value), dtype), ())


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return condition.nonzero()
    with np.errstate(all="ignore"):
        return wrap(np.where(read(condition).astype(bool), operand(x), operand(y)), ())


def _as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    return wrap(np.lib.stride_tricks.as_strided(read(x), shape, strides), (x,))


def _einsum(*operands: Any, **kwargs: Any) -> Any:
    unknown = set(kwargs) - {"out", "optimize", "dtype", "order", "casting"}
    if unknown:
        raise TypeError(f"einsum() got an unexpected keyword argument {sorted(unknown)}")
    refuse_cublas()
    return wrap(np.einsum(*(x if isinstance(x, (str, list)) else read(x) for x in operands), **kwargs), ())


def refuse_cublas() -> None:
    """Raises an error if CuPy would call a library that it does not call in a capture."""
    strict_capture.refuse(
        NotImplementedError, "calling cuBLAS API during stream capture is currently unsupported"
    )


def _matmul(a: Any, b: Any, out: Any = None) -> Any:
    refuse_cublas()
    if a.dtype.char not in "?bBhHiIlLqQefdFD":
        raise TypeError(f"matmul does not support {a.dtype}")
    with np.errstate(all="ignore"):
        return written(np.matmul(read(a), read(b)), out)


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    for x in (start, stop, step):
        if isinstance(x, (ndarray, np.ndarray)):
            raise TypeError("arange takes numbers")
    return wrap(np.arange(start, stop, step, dtype), ())


_OWN: dict[str, Callable[..., Any]] = {
    **dict(array=_array, asarray=_asarray, ascontiguousarray=_ascontiguousarray, asnumpy=_asnumpy),
    **dict(zeros=_made(np.zeros), ones=_made(np.ones), empty=_made(np.empty), full=_full, arange=_arange),
    **dict(zeros_like=_like(np.zeros_like), ones_like=_like(np.ones_like), empty_like=_like(np.empty_like)),
    **dict(full_like=_full_like, where=_where, einsum=_einsum),
    "lib.stride_tricks.as_strided": _as_strided,
}

ufuncs: dict[str, Any] = {}


def _build() -> ModuleType:
    made = ModuleType("cupy")
    spaces = {"": made}
    for space in ("linalg", "fft", "lib", "lib.stride_tricks"):
        inner = spaces[space] = ModuleType(f"cupy.{space}")
        outer, _, last = space.rpartition(".")
        setattr(spaces[outer], last, inner)
    value: Any
    for line in FILE.read_text().splitlines():
        kind, name, *rest = line.split(" ")
        if kind == "method":
            continue
        space, _, short = name.rpartition(".")
        if kind == "ufunc":
            value = ufuncs[short] = Ufunc(short, rest)
        elif name in _OWN:
            value = launched(_OWN[name])
        else:
            target: Any = np
            for part in name.split("."):
                target = getattr(target, part, None)
            if target is None:
                continue
            value = launched(_function(name, target, rest))
        setattr(spaces[space], short, value)
    made.matmul = ufuncs["matmul"] = launched(_matmul)  # type: ignore[attr-defined]
    for name in _NUMPYS:
        setattr(made, name, getattr(np, name))
    made.random = SimpleNamespace(default_rng=_Generator)  # type: ignore[attr-defined]
    made.ElementwiseKernel = ElementwiseKernel  # type: ignore[attr-defined]
    made.RawKernel = RawKernel  # type: ignore[attr-defined]
    made.ndarray = ndarray  # type: ignore[attr-defined]
    made.ufunc = Ufunc  # type: ignore[attr-defined]
    made.cuda = strict_cuda  # type: ignore[attr-defined]
    made.__version__ = "14.2.0"  # type: ignore[attr-defined]
    pool = strict_cuda.DefaultPool()
    made.get_default_memory_pool = lambda: pool  # type: ignore[attr-defined]
    made.__spec__ = sys.modules[__name__].__spec__
    return made


for _name, _value in list(vars(ndarray).items()):
    if callable(_value) and _name not in ("__init__", "_set", "__array_ufunc__", "__array_function__"):
        setattr(ndarray, _name, launched(_value))

module: Any = _build()
