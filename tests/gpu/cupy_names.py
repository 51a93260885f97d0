"""CuPy's functions and their parameters, ufuncs with their loops, methods of arrays, and what is in
`cupy.cuda`, one a line.

`python -m tests.gpu.cupy_names`, where CuPy and NCCL are installed (a GPU is not needed), writes
`cupy_names.txt` anew.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).with_name("cupy_names.txt")
SUBMODULES = ("linalg", "fft", "lib.stride_tricks")


def describe(cupy: ModuleType) -> list[str]:
    """The lines for a version of CuPy."""
    lines = [*_of(cupy, "")]
    for name in SUBMODULES:
        module: Any = cupy
        for part in name.split("."):
            module = getattr(module, part)
        lines += _of(module, f"{name}.")
    lines += [f"method {name}" for name in dir(cupy.ndarray) if not name.startswith("_") or name in _SPECIAL]
    return sorted([*lines, *_of_cuda(cupy.cuda)])


CUDA_CLASSES = (
    *("Device", "Event", "Graph", "Memory", "MemoryPointer", "MemoryPool", "Stream", "UnownedMemory"),
    "nccl.NcclCommunicator",
)


def has_nccl() -> bool:
    """Whether CuPy finds NCCL, whose names it tells only then."""
    from cupy.cuda import nccl

    return bool(nccl.available)


def _of_cuda(cuda: Any) -> Iterator[str]:
    for place in ("", "runtime", "memory", "nccl", *CUDA_CLASSES):
        if place.startswith("nccl") and not has_nccl():
            continue
        found = cuda
        for part in filter(None, place.split(".")):
            found = getattr(found, part)
        for name in dir(found):
            if not name.startswith("_"):
                yield f"cuda {place}{place and '.'}{name}"


_SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        *[
            "abs",
            "add",
            "and",
            "bool",
            "complex",
            "divmod",
            "eq",
            "float",
            "floordiv",
            "ge",
            "getitem",
            "gt",
            "iadd",
            "iand",
            "ifloordiv",
            "ilshift",
        ],
        *[
            "imod",
            "imul",
            "index",
            "int",
            "invert",
            "ior",
            "ipow",
            "irshift",
            "isub",
            "iter",
            "itruediv",
            "ixor",
            "le",
            "len",
            "lshift",
            "lt",
            "matmul",
        ],
        *[
            "mod",
            "mul",
            "ne",
            "neg",
            "or",
            "pos",
            "pow",
            "radd",
            "rand",
            "rdivmod",
            "rfloordiv",
            "rlshift",
            "rmatmul",
            "rmod",
            "rmul",
            "ror",
            "rpow",
        ],
        *["rrshift", "rshift", "rsub", "rtruediv", "rxor", "setitem", "sub", "truediv", "xor", "imatmul"],
    )
)


def _of(module: Any, prefix: str) -> Iterator[str]:
    import cupy

    for name in dir(module):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        if isinstance(value, cupy.ufunc):
            yield f"ufunc {prefix}{name} {' '.join(value.types)}"
        elif isinstance(value, (ModuleType, type)) or not callable(value):
            continue
        else:
            try:
                parameters = inspect.signature(value).parameters.values()
            except (ValueError, TypeError):
                yield f"function {prefix}{name} ?"
                continue
            yield f"function {prefix}{name} " + " ".join(_parameter(p) for p in parameters)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    keyword = "=" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else ""
    return stars.get(parameter.kind, "") + parameter.name + keyword


if __name__ == "__main__":
    import cupy

    FILE.write_text("\n".join(describe(cupy)) + "\n")
    print(f"{FILE}: CuPy {cupy.__version__}", file=sys.stderr)
