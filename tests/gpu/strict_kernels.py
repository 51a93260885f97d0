"""`cupy.ElementwiseKernel` of the stand-in: bodies that are Python but for types, and bodies in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gpu.strict_array import machine, ndarray, operand, read, wrap
from tests.gpu.strict_capture import launched


def ElementwiseKernel(
    in_params: str, out_params: str, operation: str, name: str = "kernel", **options: Any
) -> Any:
    """As `cupy.ElementwiseKernel`: of numbers and raw arrays, the body is compiled as C."""
    assert set(options) <= {"preamble", "options", "return_tuple", "reduce_dims"}
    if "raw " in out_params:
        return _CompiledKernel(in_params, out_params, operation, name, options.get("preamble", ""))
    return _PythonKernel(in_params, out_params, operation, name)


class _PythonKernel:
    """A body that is Python once the names of types are left out."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str) -> None:
        self.name = name
        self._inputs = [part.split() for part in in_params.split(",")]
        self._outputs = [part.split() for part in out_params.split(",")]
        lines = [line.removeprefix("float ").removeprefix("double ") for line in operation.splitlines()]
        self._code = compile("\n".join(line.removesuffix(";") for line in lines), name, "exec")

    @launched
    def __call__(self, *args: Any) -> tuple[Any, ...]:
        names: dict[str, Any] = dict(_C_FUNCTIONS)
        count = len(self._inputs)
        updated = [read(x) for x in args[count:]]
        values = [operand(x) for x in args[:count]]
        if updated and np.broadcast_shapes(*(np.shape(x) for x in (*values, *updated))) != updated[0].shape:
            raise ValueError(f"Out shape is mismatched in {self.name}")
        for (dtype, name), value in zip(self._inputs, np.broadcast_arrays(*values), strict=True):
            if value.dtype != dtype:
                raise TypeError(f"{name} of {self.name} is of {value.dtype}, not {dtype}")
            names[name] = value
        for (dtype, name), host in zip(self._outputs, updated, strict=False):
            if host.dtype != dtype:
                raise TypeError(f"{name} of {self.name} is of {host.dtype}, not {dtype}")
            names[name] = host.copy()
        names["number"] = np.dtype(self._inputs[0][0]).type
        with np.errstate(all="ignore"):
            exec(self._code, names)
        machine.counters.kernels += 1 - len(self._outputs)  # one launch for all outputs
        if updated:
            machine.counters.kernels += len(self._outputs)
            for (_, name), host in zip(self._outputs, updated, strict=True):
                host[...] = names[name]
            return args[count:]
        return tuple(wrap(np.array(names[name], dtype), ()) for dtype, name in self._outputs)


_C_FUNCTIONS = {
    name: getattr(np, name)
    for name in (
        *("negative", "absolute", "square", "reciprocal", "sign", "maximum", "minimum", "power", "logaddexp"),
        *(
            "sqrt",
            "exp",
            "expm1",
            "log",
            "log1p",
            "sin",
            "cos",
            "tanh",
            "ceil",
            "floor",
            "rint",
            "fmax",
            "fmin",
            "arctan",
            "arctan2",
        ),
    )
}


class _CompiledKernel:
    """A body in C, run for one thread after the other: numbers come in, and it writes to arrays."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str, preamble: str) -> None:
        self.name = name
        self._inputs = [part.split() for part in in_params.split(",")]
        self._outputs = [part.split()[1:] for part in out_params.split(",")]
        parameters = [f"{_C_TYPES[dtype]} {argument}" for dtype, argument in self._inputs]
        parameters += [f"{_C_TYPES[dtype]}* {argument}" for dtype, argument in self._outputs]
        head = f"void kernel(long _size, {', '.join(parameters)})"
        loop = f"for (long i = 0; i < _size; i++) {{\n{operation}\n}}"
        self._function = compiled(f"{preamble}\n{head} {{\n{loop}\n}}").kernel

    @launched
    def __call__(self, *args: Any, size: int) -> Any:
        numbers, arrays = args[: len(self._inputs)], args[len(self._inputs) :]
        values: list[Any] = [ctypes.c_long(size)]
        for (dtype, argument), value in zip(self._inputs, numbers, strict=True):
            if isinstance(value, ndarray) or np.dtype(type(value)) != dtype:
                raise TypeError(f"{argument} of {self.name} is {value!r}, not a number of {dtype}")
            values.append(_CTYPES[dtype](int(value)))
        for (dtype, argument), array in zip(self._outputs, arrays, strict=True):
            host = read(array)
            if host.dtype != dtype or not host.flags.c_contiguous:
                raise TypeError(f"{argument} of {self.name} is of {host.dtype}, not {dtype}")
            values.append(ctypes.c_void_p(host.ctypes.data))
        self._function(*values)
        machine.counters.kernels += 1
        return arrays[0] if len(arrays) == 1 else arrays


_C_TYPES = {
    **dict(uint64="unsigned long long", int64="long long", float32="float", float64="double"),
}
_CTYPES = {"uint64": ctypes.c_uint64, "int64": ctypes.c_int64}
_libraries: dict[str, ctypes.CDLL] = {}


def compiled(text: str, *options: str) -> ctypes.CDLL:
    """CUDA source as a library of this process. Skips the test where there is no C compiler."""
    found = _libraries.get(text)
    if found is not None:
        return found
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    head = "#include <math.h>\n#define __device__ static\n"
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        source.write_text(head + text)
        command = [compiler, "-std=gnu11", "-O1", "-ffp-contract=off", "-shared", "-fPIC", *options]
        subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True, timeout=100)
        found = _libraries[text] = ctypes.CDLL(str(library))
    return found
