"""A stand-in for nvidia-cudnn-frontend: graphs of one convolution over the memory of `strict_array`.

It takes what the package takes by the names that it has there, in the order in which it wants to be called,
and refuses what cuDNN refuses: a handle of another device, a stream that is not the current one, pointers
that are not aligned, tensors without a number, shapes that do not fit each other.
"""

from __future__ import annotations

import ctypes
import functools
from enum import Enum
from importlib.machinery import ModuleSpec
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

from tests.gpu import strict_capture, strict_cuda

data_type = Enum("data_type", "NOT_SET HALF FLOAT DOUBLE BFLOAT16")
heur_mode = Enum("heur_mode", "A B FALLBACK")
numerical_note = Enum("numerical_note", "TENSOR_CORE DOWN_CONVERT_INPUTS NONDETERMINISTIC")
build_plan_policy = Enum("build_plan_policy", "HEURISTICS_CHOICE ALL")

_DTYPES = {data_type.HALF: np.float16, data_type.FLOAT: np.float32, data_type.DOUBLE: np.float64}

WORKSPACE = 64


class cudnnGraphNotSupportedError(Exception):
    """As `cudnn.cudnnGraphNotSupportedError`."""


class Machine:
    """What the library was asked for, and what it is told to refuse."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.ran: list[str] = []
        self.refused_notes: list[set[Any]] = []
        self.handles = 0
        self.unsupported: set[str] = set()
        self.is_broken = False


machine = Machine()
_streams: dict[int, int] = {}
_devices: dict[int, int] = {}


def backend_version() -> int:
    return 91002


def create_handle() -> int:
    if machine.is_broken:
        raise RuntimeError("cudnnHandle Create failed")
    machine.handles += 1
    _devices[machine.handles] = strict_cuda.current_device()
    return machine.handles


def set_stream(handle: int, stream: int) -> None:
    assert _devices[handle] == strict_cuda.current_device()
    _streams[handle] = stream


class Tensor:
    def __init__(self, name: str, dim: Any, stride: Any, dtype: Any) -> None:
        self.name, self.dim, self.stride, self.dtype = name, dim, stride, dtype
        self.uid = 0
        self.is_output = False

    def set_output(self, value: bool) -> Tensor:
        self.is_output = value
        return self

    def set_data_type(self, data_type: Any) -> Tensor:
        self.dtype = data_type
        return self

    def set_dim(self, dim: list[int]) -> Tensor:
        self.dim = dim
        return self

    def set_stride(self, stride: list[int]) -> Tensor:
        self.stride = stride
        return self

    def set_uid(self, uid: int) -> Tensor:
        self.uid = uid
        return self

    def view(self, pointer: int) -> Any:
        """The memory as an array of the tensor's dimensions."""
        assert pointer % 16 == 0
        dtype = np.dtype(_DTYPES[self.dtype])
        size = 1 + sum((n - 1) * step for n, step in zip(self.dim, self.stride, strict=True))
        assert size == int(np.prod(self.dim)), "there are gaps"
        flat = np.frombuffer((ctypes.c_char * (size * dtype.itemsize)).from_address(pointer), dtype)
        steps = [step * dtype.itemsize for step in self.stride]
        return np.lib.stride_tricks.as_strided(flat, self.dim, steps)


class pygraph:
    """A graph, whose methods have to be called in the order of `_STEPS`."""

    _STEPS = (
        *("new", "validate", "build_operation_graph", "create_execution_plans", "deselect_numeric_notes"),
        *("deselect_workspace_greater_than", "check_support", "build_plans"),
    )

    def __init__(
        self,
        *,
        io_data_type: Any = None,
        intermediate_data_type: Any = None,
        compute_data_type: Any = None,
        handle: Any = None,
    ) -> None:
        assert handle is not None
        assert _devices[handle] == strict_cuda.current_device()
        self._handle = handle
        self._done = 0

    def _step(self, name: str) -> None:
        self._done += 1
        assert self._STEPS[self._done] == name, f"{name} is called where {self._STEPS[self._done]} should be"

    def tensor(self, *, dim: list[int], stride: list[int], data_type: Any, name: str) -> Tensor:
        assert len(dim) == len(stride) in (4, 5)
        assert all(type(n) is int and n > 0 for n in (*dim, *stride))
        return Tensor(name, dim, stride, data_type)

    def conv_fprop(self, *, image: Tensor, weight: Tensor, **geometry: Any) -> Tensor:
        return self._convolution("fprop", (image, weight), **geometry)

    def conv_dgrad(self, *, loss: Tensor, filter: Tensor, **geometry: Any) -> Tensor:
        return self._convolution("dgrad", (loss, filter), **geometry)

    def conv_wgrad(self, *, image: Tensor, loss: Tensor, **geometry: Any) -> Tensor:
        return self._convolution("wgrad", (image, loss), **geometry)

    def _convolution(
        self,
        kind: str,
        inputs: tuple[Tensor, Tensor],
        *,
        pre_padding: list[int],
        post_padding: list[int],
        stride: list[int],
        dilation: list[int],
        compute_data_type: Any,
    ) -> Tensor:
        assert pre_padding == post_padding
        self._kind, self._inputs = kind, inputs
        self._padding, self._strides, self._dilations = pre_padding, stride, dilation
        self._result = Tensor("result", None, None, None)
        return self._result

    def validate(self) -> None:
        self._step("validate")
        first, second, result = (*self._inputs, self._result)
        assert len({t.uid for t in (first, second, result)} - {0}) == 3
        assert result.is_output
        assert result.dtype is first.dtype is second.dtype
        x, w, y = {
            "fprop": (first.dim, second.dim, result.dim),
            "dgrad": (result.dim, second.dim, first.dim),
            "wgrad": (first.dim, result.dim, second.dim),
        }[self._kind]
        assert x[0] == y[0]
        assert x[1] % w[1] == 0
        assert w[0] == y[1]
        assert w[0] % (x[1] // w[1]) == 0
        places = zip(x[2:], w[2:], y[2:], self._padding, self._strides, self._dilations, strict=True)
        for size, window, out, padding, stride, dilation in places:
            assert out == (size + 2 * padding - (window - 1) * dilation - 1) // stride + 1

    def build_operation_graph(self) -> None:
        self._step("build_operation_graph")

    def create_execution_plans(self, heuristics: list[Any]) -> None:
        self._step("create_execution_plans")
        assert heuristics

    def deselect_numeric_notes(self, notes: list[Any]) -> None:
        self._step("deselect_numeric_notes")
        machine.refused_notes.append(set(notes))

    def deselect_workspace_greater_than(self, workspace_limit: int) -> None:
        self._step("deselect_workspace_greater_than")
        assert workspace_limit >= WORKSPACE

    def check_support(self) -> None:
        self._step("check_support")
        if self._kind in machine.unsupported:
            raise cudnnGraphNotSupportedError("No execution plans support the graph.")

    def build_plans(self, policy: Any) -> None:
        self._step("build_plans")
        machine.built.append(self._kind)

    def get_workspace_size(self) -> int:
        assert self._done == len(self._STEPS) - 1
        return WORKSPACE

    def execute(self, tensor_to_device_buffer: dict[int, int], workspace: int, handle: Any = None) -> None:
        assert _devices[handle] == strict_cuda.current_device()
        assert _streams[handle] == strict_cuda.get_current_stream().ptr != 0
        assert workspace
        tensors = {t.uid: t for t in (*self._inputs, self._result)}
        assert set(tensors) == set(tensor_to_device_buffer)
        assert all(type(pointer) is int for pointer in tensor_to_device_buffer.values())
        recording = strict_capture.current()
        if recording is None:
            self._run(tensor_to_device_buffer)
        else:
            recording.launches.append(functools.partial(self._run, tensor_to_device_buffer))

    def _run(self, tensor_to_device_buffer: dict[int, int]) -> None:
        machine.ran.append(self._kind)
        tensors = {t.uid: t for t in (*self._inputs, self._result)}
        views = {uid: tensors[uid].view(pointer) for uid, pointer in tensor_to_device_buffer.items()}
        first, second, result = (views[t.uid] for t in (*self._inputs, self._result))
        result[...] = self._computed(first.astype(np.float64), second.astype(np.float64), result.shape)

    def _computed(self, first: Any, second: Any, shape: tuple[int, ...]) -> Any:
        """The result in double precision, from one position of the windows after the other."""
        made = np.zeros(shape)
        x, w, y = {
            "fprop": (first, second, made),
            "dgrad": (made, second, first),
            "wgrad": (first, made, second),
        }[self._kind]
        pads = [(0, 0), (0, 0), *((n, n) for n in self._padding)]
        padded = np.pad(x, pads)
        groups, depth, filters = x.shape[1] // w.shape[1], w.shape[1], w.shape[0]
        own = filters // groups
        for position in product(*map(range, w.shape[2:])):
            ends = zip(position, self._dilations, self._strides, y.shape[2:], strict=True)
            at = tuple(slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, s, n in ends)
            for group in range(groups):
                seen = padded[(slice(None), slice(group * depth, (group + 1) * depth), *at)]
                mine = slice(group * own, (group + 1) * own)
                weights, outputs = w[(mine, slice(None), *position)], y[:, mine]
                if self._kind == "fprop":
                    outputs += np.einsum("nc...,fc->nf...", seen, weights)
                elif self._kind == "dgrad":
                    seen += np.einsum("nf...,fc->nc...", outputs, weights)
                else:
                    flat = (part.reshape(*part.shape[:2], -1) for part in (seen, outputs))
                    weights += np.einsum("ncs,nfs->fc", *flat)
        if self._kind == "dgrad":
            space = [slice(n, n + size) for n, size in zip(self._padding, shape[2:], strict=True)]
            return padded[(slice(None), slice(None), *space)]
        return made


def module() -> ModuleType:
    """The stand-in as a module, for `import cudnn`."""
    made = ModuleType("cudnn")
    made.__spec__ = ModuleSpec("cudnn", None)
    names = (
        *(
            "data_type",
            "heur_mode",
            "numerical_note",
            "build_plan_policy",
            "backend_version",
            "create_handle",
        ),
        *("set_stream", "pygraph", "cudnnGraphNotSupportedError"),
    )
    made.__dict__.update({name: globals()[name] for name in names})
    return made
