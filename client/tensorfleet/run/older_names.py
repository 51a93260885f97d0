"""Names that NumPy and Python have taken away since TensorFlow 1's time, put back for a program.

Programs of that time ran on Python 3.5 to 3.7 and NumPy 1.11 to 1.18. Only names that are absent are put
back, and NumPy's scalars are printed as then, in the process of `tensorfleet run` alone.
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import fractions
import functools
import inspect
import math
import threading
import time
from typing import Any

import numpy as np

# NumPy's names: those that were Python's types, other names of its own, and functions that have another name.
_NUMPY: dict[str, Any] = {
    **{"int": int, "float": float, "bool": bool, "complex": complex, "object": object, "str": str},
    **{"long": int, "unicode": str, "bool8": np.bool_, "int0": np.intp, "uint0": np.uintp},
    **{"float_": np.float64, "complex_": np.complex128, "cfloat": np.complex128},
    **{"singlecomplex": np.complex64, "longfloat": np.longdouble, "longcomplex": np.clongdouble},
    **{"clongfloat": np.clongdouble, "string_": np.bytes_, "unicode_": np.str_},
    **{"object0": np.object_, "str0": np.str_, "bytes0": np.bytes_},
    **{"Inf": np.inf, "Infinity": np.inf, "PINF": np.inf, "infty": np.inf, "NINF": -np.inf},
    **{"NaN": np.nan, "NAN": np.nan, "PZERO": 0.0, "NZERO": -0.0},
    **{"alltrue": np.all, "sometrue": np.any, "product": np.prod, "cumproduct": np.cumprod},
    **{"round_": np.round, "row_stack": np.vstack, "mat": np.asmatrix},
}


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _asscalar(a: Any) -> Any:
    return np.asarray(a).item()


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


def _reshape() -> Any:
    """`numpy.reshape`, which takes the shape by its older name `newshape` as well."""
    own = np.reshape
    if "newshape" in inspect.signature(own).parameters:
        return own

    @functools.wraps(own)
    def reshape(a: Any, *args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs:
            kwargs["shape"] = kwargs.pop("newshape")
        return own(a, *args, **kwargs)

    parameters = [
        *inspect.signature(own).parameters.values(),
        inspect.Parameter("newshape", inspect.Parameter.KEYWORD_ONLY, default=None),
    ]
    reshape.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return reshape


def _stacking(own: Any) -> Any:
    """A function such as `numpy.hstack` that takes generators as well, as in NumPy 1.18."""
    if hasattr(own, "takes_generators"):
        return own

    @functools.wraps(own)
    def stacking(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        return own(list(arrays) if isinstance(arrays, collections.abc.Iterator) else arrays, *args, **kwargs)

    stacking.takes_generators = True  # type: ignore[attr-defined]
    return stacking


def _put(module: Any, name: str, value: Any) -> None:
    # NumPy's module answers for absent names with warnings, so its names are looked up without it.
    if name not in vars(module):
        setattr(module, name, value)


def put_back() -> None:
    """Puts the absent names and the older printing back; a second call changes nothing."""
    for name, value in _NUMPY.items():
        _put(np, name, value)
    for function in (_in1d, _asfarray, _asscalar, _msort):
        _put(np, function.__name__.removeprefix("_"), function)
    if hasattr(np, "trapezoid"):
        _put(np, "trapz", np.trapezoid)
    np.reshape = _reshape()
    for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack", "stack"):
        setattr(np, name, _stacking(getattr(np, name)))
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        # Lists and dicts of what sessions and estimators return are printed as {"accuracy": 0.9}, without
        # types, which those who read a program's output rely on. NumPy keeps this option per thread.
        np.set_printoptions(legacy="1.25")
    for name in collections.abc.__all__:
        _put(collections, name, getattr(collections.abc, name))
    _put(fractions, "gcd", math.gcd)
    _put(time, "clock", time.perf_counter)
    _put(threading.Thread, "isAlive", threading.Thread.is_alive)
    _put(base64, "encodestring", base64.encodebytes)
    _put(base64, "decodestring", base64.decodebytes)
    if not hasattr(inspect, "getargspec"):
        from tensorfleet.run.python.tf_inspect import getargspec

        inspect.getargspec = getargspec  # type: ignore[attr-defined]
