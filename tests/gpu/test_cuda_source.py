"""The CUDA source of fused groups compiles for two generations of GPUs, and computes what NumPy computes."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.kernels.math.cuda_fusion import OPTIONS, body, c_type, preamble
from tensorfleet_service.kernels.math.formulas import FORMULAS, formula_function, steps
from tensorfleet_service.kernels.math.fusion import FusedOp
from tensorfleet_service.kernels.nn import cuda_batch_norm, cuda_recurrent, cuda_rows
from tensorfleet_service.kernels.random import cuda_philox
from tensorfleet_service.kernels.training.optimizer_updates import RULES
from tests.gpu import update_cases
from tests.gpu.strict_array import Counters, Machine
from tests.gpu.strict_kernels import compiled

TYPES = (np.float32, np.float64)


def _group(op_type: str) -> tuple[FusedOp, int]:
    """A group of one op, and its number of inputs."""
    row = steps(op_type)
    count = 1 + max(x for _, operands in row for x in operands if isinstance(x, int))
    return FusedOp(op_type, row, [(True, i) for i in range(count)]), count


def _function(op_type: str, dtype: Any, head: str) -> str:
    """A function of arrays for an op: `head` begins the loop over `i`."""
    op, count = _group(op_type)
    name = c_type(dtype)
    arguments = [f"const {name}* p{i}" for i in range(count)] + [f"{name}* q", "long n"]
    values = "".join(f" {name} x{i} = p{i}[i];" for i in range(count))
    text = body([op], [0], dtype)
    loop = f"{head} {{{values} {name} o0;\n{text}\nq[i] = o0; }}"
    return f"void {op_type}_{name}({', '.join(arguments)}) {{\n{loop} }}"


def _nvrtc() -> Any:
    """NVRTC of the wheel, or of the system."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [path for root in roots for path in Path(root).glob("cuda_nvrtc/lib/libnvrtc.so*")]
    try:
        return ctypes.CDLL(str(found[0]) if found else "libnvrtc.so")
    except OSError:
        pytest.skip("NVRTC has no wheel for this machine")


_THREAD = "long i = blockIdx.x * (long)blockDim.x + threadIdx.x;"


def _groups(dtype: Any) -> str:
    """The source of a group for each op."""
    functions = [
        f'extern "C" __global__ {_function(name, dtype, f"{_THREAD} if (i < n)")}' for name in FORMULAS
    ]
    return "\n".join([preamble(dtype), *functions])


def _samplers() -> str:
    """The source of all distributions."""
    lines = [cuda_philox.FUNCTIONS]
    head = "unsigned long long key, unsigned long long low, unsigned long long high, long long total"
    for name in cuda_philox.DISTRIBUTIONS:
        for number in ("float", "double"):
            own = cuda_philox.body(name, number == "double")
            lines.append(f"__global__ void {name}_{number}({head}, {number}* y) {{ {_THREAD}\n{own} }}")
    return "\n".join(lines)


def _updates(dtype: Any) -> str:
    """The source of all optimizers' updates."""
    rules = [
        f'extern "C" __global__ {update_cases.function(rule, dtype, f"{_THREAD} if (i < n)")}'
        for rule in RULES
        if rule not in update_cases.OP_BY_OP
    ]
    return "\n".join([preamble(dtype), *rules])


def _rows(dtype: str) -> str:
    """The source of softmax and cross entropy, each kernel in a namespace of its own."""
    kernels = [(name, "int64") for name in cuda_rows._KERNELS] + [("sparse_cross_entropy", "int32")]
    return _apart(cuda_rows.source(name, dtype, index) for name, index in kernels)


def _apart(texts: Iterable[str]) -> str:
    return "\n".join(f"namespace n{i} {{ {text.replace(EXTERN, '')} }}" for i, text in enumerate(texts))


def _kernels(module: Any, dtype: str) -> str:
    """The source of all kernels of a module, each in a namespace of its own."""
    return _apart(module.source(name, dtype) for name in module.KERNELS)


EXTERN = 'extern "C" '

SOURCES = {
    "batch norm of half": lambda: _kernels(cuda_batch_norm, "float16"),
    "batch norm of float": lambda: _kernels(cuda_batch_norm, "float32"),
    "cells of half": lambda: _kernels(cuda_recurrent, "float16"),
    "cells of float": lambda: _kernels(cuda_recurrent, "float32"),
    "groups of float": lambda: _groups(np.float32),
    "groups of double": lambda: _groups(np.float64),
    "random numbers": _samplers,
    "rows of float": lambda: _rows("float32"),
    "rows of double": lambda: _rows("float64"),
    "updates of float": lambda: _updates(np.float32),
    "updates of double": lambda: _updates(np.float64),
}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("which", SOURCES)
def test_the_source_compiles(which: str, architecture: str) -> None:
    nvrtc = _nvrtc()
    source = SOURCES[which]()
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"source.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}".encode(), *(option.encode() for option in OPTIONS)]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()


def _as_c(dtype: Any) -> ctypes.CDLL:
    """The same source as C."""
    functions = [_function(name, dtype, "for (long i = 0; i < n; i++)") for name in FORMULAS]
    return compiled("\n".join(["#include <tgmath.h>", preamble(dtype, "static"), *functions]))


@pytest.mark.parametrize("dtype", TYPES)
def test_it_computes_what_numpy_computes(dtype: Any) -> None:
    library = _as_c(dtype)
    corners = [0.0, -0.0, 1, -1, 0.5, -2.5, 3.5, 6, 7, 100, -100, np.inf, -np.inf, np.nan]
    grid = np.array([(a, b) for a in corners for b in corners], dtype).T
    inputs = [np.ascontiguousarray(row) for row in grid]
    differing = []
    for op_type in FORMULAS:
        _, count = _group(op_type)
        function = formula_function(op_type, np, tf.as_dtype(dtype))  # type: ignore[arg-type]
        with np.errstate(all="ignore"):
            wanted = function(*inputs[:count])
        found = np.empty_like(wanted)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs[:count], found)]
        getattr(library, f"{op_type}_{c_type(dtype)}")(*pointers, ctypes.c_long(found.size))
        if not np.allclose(found, wanted, 1e-6 if dtype is np.float32 else 1e-14, 0, equal_nan=True):
            differing.append(op_type)
        elif not np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0])):
            differing.append(f"{op_type}: the sign of zeros")
    assert differing == []


def test_a_group_is_one_launch(gpus: Callable[..., Machine]) -> None:
    machine = gpus()
    x, b = tf.placeholder(tf.float32, [None, 3]), tf.constant([1.0, 2.0, 3.0])
    y = tf.nn.relu(tf.tanh(x * 2.0 + b) - tf.square(x)) * 0.5
    value = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    with tf.Session() as session:
        session.run(y, {x: value})
        machine.counters = Counters()
        found = session.run(y, {x: value})
        # The copy of the feed, and the group.
        assert machine.counters.kernels == 2
        assert session.run(y, {x: np.zeros((0, 3))}).shape == (0, 3)
    wanted = np.maximum(np.tanh(value * 2 + [1, 2, 3]) - value**2, 0) * 0.5
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)


def test_shapes_that_a_group_leaves_to_its_ops(gpus: Callable[..., Machine]) -> None:
    gpus()
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    total = tf.exp(tf.add(x, y, name="sum")) * 2.0
    with tf.Session() as session:
        assert session.run(total, {x: np.zeros((2, 1)), y: np.zeros((1, 3))}).shape == (2, 3)
        assert session.run(total, {x: np.float32(0), y: np.float32(0)}) == 2
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\](?s:.*)node sum"
        ):
            session.run(total, {x: np.zeros(2), y: np.zeros(3)})
