"""Convolutions on GPUs by cuDNN, where nvidia-cudnn-frontend and a library of cuDNN 9 are installed.

A convolution of given shapes becomes a graph of one operation. cuDNN chooses an engine for it by its
heuristics, which makes a plan: those are kept. Where cuDNN cannot be loaded, or has no engine for some
shapes, callers compute the convolution themselves; the log says so once, and `tensorfleet status` what a task
uses.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tensorfleet.core.environment import choice

log = logging.getLogger(__name__)

SWITCH = "TENSORFLEET_CUDNN"

MOST_PLANS = 512
"""Limit on the kept plans of a GPU; those that were not used for longest are made anew when they are."""

_ALIGNMENT = 16
"""The least alignment of a tensor, in bytes, that plans are made for."""

_MOST_WORKSPACE = 4 << 30
"""The most memory that a plan may take while it runs, in bytes: TensorFlow's limit."""

_TYPES = {"float16": "HALF", "float32": "FLOAT", "float64": "DOUBLE"}

_INPUTS = {
    "fprop": (("image", "images"), ("weight", "filters")),
    "dgrad": (("loss", "out"), ("filter", "filters")),
    "wgrad": (("image", "images"), ("loss", "out")),
}
_RESULTS = {"fprop": "out", "dgrad": "images", "wgrad": "filters"}


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution, or one of its gradients, of shapes [batch or filters, channels, *space].

    Attributes:
        kind: "fprop", "dgrad" (the gradient of the images) or "wgrad" (of the filters).
        dtype: float16, float32 or float64.
        channels_first: how all three tensors are in memory; else their channels are last.
        filters: fewer channels than the images have mean groups.
        padding: along each dimension of space, the same before and after.
    """

    kind: str
    dtype: str
    channels_first: bool
    images: tuple[int, ...]
    filters: tuple[int, ...]
    out: tuple[int, ...]
    padding: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]


@dataclass(slots=True)
class _Plan:
    """A graph that is ready to run, the numbers of its inputs and its result, and the bytes that it needs."""

    graph: Any
    tensors: tuple[int, int, int]
    workspace: int


def run(xp: Any, wanted: Convolution, first: Any, second: Any, result: Any) -> bool:
    """Queues a convolution on the current stream; False where cuDNN does not compute it.

    Args:
        first, second: contiguous, in the order of the kind: images and filters, the gradient of the output
            and filters, images and the gradient of the output.
        result: an array that is written.
    """
    engine = _engine(xp)
    plan = None if engine is None else engine.plan(wanted)
    if engine is None or plan is None:
        return False
    workspace = xp.empty(plan.workspace, np.uint8)
    arrays = (_aligned(first), _aligned(second), result)
    pointers = {uid: array.data.ptr for uid, array in zip(plan.tensors, arrays, strict=True)}
    engine.execute(plan, pointers, workspace.data.ptr, xp.cuda.get_current_stream())
    return True


def _aligned(array: Any) -> Any:
    """The array, or its copy where it begins within another one."""
    return array.copy() if array.data.ptr % _ALIGNMENT else array


def description() -> str:
    """How the convolutions of this process's GPUs are computed, for people."""
    module, why = _load()
    if module is None or _failed:
        return f"convolutions as products of patches ({why or _failed[0]})"
    version: int = module.backend_version()
    return f"cuDNN {version // 10000}.{version // 100 % 100}.{version % 100}"


@lru_cache(maxsize=1)
def _load() -> tuple[Any, str]:
    """The module of cudnn-frontend; or None, and the reason."""
    if choice(SWITCH) == "off":
        return None, f"{SWITCH}=off"
    if importlib.util.find_spec("cudnn") is None:
        return None, "nvidia-cudnn-frontend is not installed"
    try:
        module = importlib.import_module("cudnn")
        module.backend_version()
    except Exception as e:  # of its own types, of the dynamic linker's, and of what it imports
        log.warning("cuDNN cannot be loaded, convolutions are products of patches: %s", e)
        return None, f"cuDNN cannot be loaded: {e}"
    return module, ""


_engines: dict[int, _Engine | None] = {}
_failed: list[str] = []
_building = threading.Lock()
"""One thread at a time makes handles and plans; those that have theirs do not wait for it."""


def _engine(xp: Any) -> _Engine | None:
    """cuDNN on the GPU that is current, if it is to be had."""
    number = xp.cuda.runtime.getDevice()
    try:
        return _engines[number]
    except KeyError:
        pass
    module, _ = _load()
    with _building:
        if number not in _engines:
            _engines[number] = None if module is None else _started(module, number)
    return _engines[number]


def _started(module: Any, number: int) -> _Engine | None:
    try:
        return _Engine(module, module.create_handle(), module.create_handle())
    except Exception as e:  # a module of C++ raises several types
        log.warning("cuDNN cannot be used on GPU %d, convolutions are products of patches: %s", number, e)
        _failed.append(f"cuDNN cannot be used: {e}")
        return None


@dataclass(slots=True)
class _Engine:
    """cuDNN on one GPU.

    Neither handles nor plans may be used by two threads at a time: one handle is for making plans, the other
    one for running them, under `_lock`, which takes as long as to queue kernels.
    """

    module: Any
    handle: Any
    building_handle: Any
    _plans: OrderedDict[Convolution, _Plan | None] = field(default_factory=OrderedDict)
    _captured: dict[int, _Plan] = field(default_factory=dict)
    """What CUDA graphs replay, and so has to stay loaded."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, wanted: Convolution) -> _Plan | None:
        """The plan for a convolution; None if cuDNN has none."""
        with self._lock:
            if wanted in self._plans:
                self._plans.move_to_end(wanted)
                return self._plans[wanted]
        with _building:
            with self._lock:
                if wanted in self._plans:  # another thread was faster
                    return self._plans[wanted]
            made = self._made(wanted)
            with self._lock:
                self._plans[wanted] = made
                if len(self._plans) > MOST_PLANS:
                    self._plans.popitem(last=False)
        return made

    def _made(self, wanted: Convolution) -> _Plan | None:
        try:
            return _build(self.module, self.building_handle, wanted)
        except Exception as e:  # cudnnGraphNotSupportedError, and RuntimeError of many texts
            log.info("cuDNN does not compute %s, which is done as products of patches: %s", wanted, e)
            return None

    def execute(self, plan: _Plan, pointers: dict[int, int], workspace: int, stream: Any) -> None:
        with self._lock:
            if stream.is_capturing():
                self._captured[id(plan)] = plan
            self.module.set_stream(handle=self.handle, stream=stream.ptr)
            plan.graph.execute(pointers, workspace, handle=self.handle)


def _build(cudnn: Any, handle: Any, wanted: Convolution) -> _Plan:
    """Makes a plan. Raises exceptions of cuDNN's where it has no engine."""
    dtype = getattr(cudnn.data_type, _TYPES[wanted.dtype])
    # Half precision is summed in single.
    inner = cudnn.data_type.DOUBLE if wanted.dtype == "float64" else cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=dtype, intermediate_data_type=inner, compute_data_type=inner, handle=handle
    )
    tensors = {}
    for name, which in _INPUTS[wanted.kind]:
        dims = getattr(wanted, which)
        strides = _strides(dims, wanted.channels_first)
        tensors[name] = graph.tensor(name=name, dim=list(dims), stride=strides, data_type=dtype)
    result = getattr(graph, f"conv_{wanted.kind}")(
        **tensors,
        pre_padding=list(wanted.padding),
        post_padding=list(wanted.padding),
        stride=list(wanted.strides),
        dilation=list(wanted.dilations),
        compute_data_type=inner,
    )
    dims = getattr(wanted, _RESULTS[wanted.kind])
    result.set_output(True)
    result.set_data_type(dtype)
    result.set_dim(list(dims))
    result.set_stride(_strides(dims, wanted.channels_first))
    for uid, tensor in enumerate((*tensors.values(), result), 1):
        tensor.set_uid(uid)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.deselect_numeric_notes([getattr(cudnn.numerical_note, name) for name in _refused(wanted.dtype)])
    graph.deselect_workspace_greater_than(_MOST_WORKSPACE)
    graph.check_support()
    graph.build_plans(cudnn.build_plan_policy.HEURISTICS_CHOICE)
    return _Plan(graph, (1, 2, 3), graph.get_workspace_size())


def _refused(dtype: str) -> list[str]:
    """The properties of engines that are not wanted."""
    refused = ["DOWN_CONVERT_INPUTS"]
    if dtype == "float32" and os.environ.get("CUPY_TF32") != "1":
        refused.append("TENSOR_CORE")  # of float32 they read TF32
    if os.environ.get("TF_CUDNN_DETERMINISTIC", "").lower() in ("1", "true"):
        refused.append("NONDETERMINISTIC")
    return refused


def _strides(dims: tuple[int, ...], channels_first: bool) -> list[int]:
    """The distances of elements in memory, along [batch or filters, channels, *space]."""
    order = range(len(dims)) if channels_first else [0, *range(2, len(dims)), 1]
    strides, step = [0] * len(dims), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= dims[axis]
    return strides
