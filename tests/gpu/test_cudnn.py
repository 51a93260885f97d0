"""Convolutions on a GPU by cuDNN, on a stand-in for its frontend, beside the CPU's kernels."""

from __future__ import annotations

import inspect
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core.environment import SettingsError
from tensorfleet_service.devices import cudnn
from tensorfleet_service.devices.cudnn import Convolution
from tensorfleet_service.kernels.nn import cudnn_conv
from tensorfleet_service.kernels.nn.patches import Geometry, convolution_windows
from tensorfleet_service.kernels.registry import make_kernel
from tests.gpu import strict_cudnn
from tests.gpu.strict_array import Machine
from tests.gpu.test_graphs import trained
from tests.gpu.test_training import cnn
from tests.kernels.harness import call, make_node

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 6, 7, 3), (3, 3, 3, 4), {"padding": "SAME"}),
    ((2, 6, 7, 3), (3, 2, 3, 4), {"padding": "VALID", "strides": [1, 2, 3, 1]}),
    ((1, 8, 9, 4), (3, 3, 4, 2), {"padding": "SAME", "strides": [1, 2, 2, 1]}),
    ((2, 9, 9, 2), (2, 4, 2, 3), {"padding": "SAME", "dilations": [1, 2, 1, 1]}),
    ((2, 5, 5, 4), (1, 1, 4, 3), {"padding": "VALID"}),
    ((2, 5, 6, 6), (3, 3, 2, 9), {"padding": "SAME"}),
    (
        (2, 5, 6, 2),
        (3, 3, 2, 3),
        {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]},
    ),
    ((2, 4, 5, 6, 3), (2, 3, 3, 3, 4), {"padding": "SAME", "strides": [1, 1, 2, 2, 1]}),
]
"""Images and weights, with channels last."""


@pytest.fixture
def library(
    gpus: Callable[..., Machine], is_stand_in: bool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[strict_cudnn.Machine]:
    """Makes `import cudnn` give the stand-in, whose memory is the host's."""
    if not is_stand_in:
        pytest.skip("only the stand-in tells what it does")
    gpus()
    monkeypatch.setitem(sys.modules, "cudnn", strict_cudnn.module())
    machine = strict_cudnn.machine
    machine.__init__()  # type: ignore[misc]
    _forget()
    yield machine
    _forget()


def _forget() -> None:
    cudnn._load.cache_clear()
    cudnn._engines.clear()
    cudnn._failed.clear()


@pytest.fixture
def either(request: pytest.FixtureRequest, xp: Any, is_stand_in: bool) -> None:
    """The stand-in or, on a GPU, the package."""
    if is_stand_in:
        request.getfixturevalue("library")
        return
    pytest.importorskip("cudnn", reason="nvidia-cudnn-frontend is not installed")
    _forget()


@pytest.fixture
def computed(either: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of convolutions that cuDNN has computed."""
    kinds: list[str] = []
    run = cudnn.run

    def noted(xp: Any, wanted: Convolution, *arrays: Any) -> bool:
        done = run(xp, wanted, *arrays)
        kinds.extend([wanted.kind] * done)
        return done

    monkeypatch.setattr(cudnn, "run", noted)
    return kinds


def _formatted(array: Any, channels_first: bool) -> Any:
    return np.ascontiguousarray(np.moveaxis(array, -1, 1)) if channels_first else array


def _compare(xp: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any], tolerance: float) -> Any:
    """Compares both kernels' output, and returns the CPU's."""
    node, values = make_node(op_type, *inputs, **attrs)
    wanted = call(make_kernel(node), values)
    node, _ = make_node(op_type, *inputs, xp=xp, **attrs)
    # Shapes are the host's.
    moved = [value if value.dtype == np.int32 else xp.asarray(value) for value in values]
    with xp.cuda.Stream(non_blocking=True):
        found = call(make_kernel(node), moved)
    assert found.flags.c_contiguous
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(xp.asnumpy(found).astype(float), wanted.astype(float), tolerance, tolerance)
    return wanted


def _attrs(shape: tuple[int, ...], attrs: dict[str, Any], channels_first: bool) -> dict[str, Any]:
    """The attributes of a case, in its data format."""
    rank = len(shape)
    made = {"strides": [1] * rank, **attrs}
    made["data_format"] = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank][channels_first]
    if channels_first:
        order = [0, rank - 1, *range(1, rank - 1)]
        for name in made.keys() & {"strides", "dilations"}:
            made[name] = [made[name][i] for i in order]
        if "explicit_paddings" in made:
            pairs = [made["explicit_paddings"][2 * i : 2 * i + 2] for i in order]
            made["explicit_paddings"] = [n for pair in pairs for n in pair]
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_convolution_and_its_gradients(
    xp: Any, computed: list[str], is_stand_in: bool, case: Any, channels_first: bool, dtype: Any
) -> None:
    shape, weight_shape, attrs = case
    random = np.random.default_rng(5)
    images = _formatted(random.normal(size=shape), channels_first).astype(dtype)
    weights = random.normal(size=weight_shape).astype(dtype)
    attrs = _attrs(shape, attrs, channels_first)
    name = "Conv2D" if len(shape) == 4 else "Conv3D"
    tolerance = {np.float16: 1e-2, np.float32: 1e-4, np.float64: 1e-10}[dtype]
    out = _compare(xp, name, [images, weights], attrs, tolerance)
    gradient = random.normal(size=out.shape).astype(dtype)
    version = "" if len(shape) == 4 else "V2"
    sizes = np.array(images.shape, np.int32)
    _compare(xp, f"{name}BackpropInput{version}", [sizes, weights, gradient], attrs, tolerance)
    sizes = np.array(weights.shape, np.int32)
    _compare(xp, f"{name}BackpropFilter{version}", [images, sizes, gradient], attrs, 4 * tolerance)
    # Which engines there are for other dtypes and groups, cuDNN decides by the GPU.
    if is_stand_in or (dtype == np.float32 and shape[-1] == weight_shape[-2]):
        assert computed == ["fprop", "dgrad", "wgrad"]


def _convolve(xp: Any, images: Any, weights: Any) -> Any:
    node, _ = make_node("Conv2D", xp.asnumpy(images), xp.asnumpy(weights), xp=xp, **_PLAIN)
    with xp.cuda.Stream(non_blocking=True):
        return call(make_kernel(node), [images, weights])


_PLAIN: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def _values(xp: Any, *shape: int) -> Any:
    return xp.asarray(np.random.default_rng(1).normal(size=shape).astype(np.float32))


def test_plans_are_kept_by_shape_up_to_a_limit(
    xp: Any, library: strict_cudnn.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cudnn, "MOST_PLANS", 2)
    weights = _values(xp, 3, 3, 2, 4)
    for size in (5, 6, 5, 7, 5):
        _convolve(xp, _values(xp, 1, size, 5, 2), weights)
    assert len(library.built) == 3
    _convolve(xp, _values(xp, 1, 6, 5, 2), weights)  # the one that was not used for longest
    assert len(library.built) == 4
    assert len(library.ran) == 6


def test_what_cudnn_does_not_compute_is_a_product_of_patches(
    xp: Any, library: strict_cudnn.Machine, caplog: pytest.LogCaptureFixture
) -> None:
    library.unsupported.add("fprop")
    caplog.set_level("INFO")
    images, weights = _values(xp, 1, 5, 5, 2), _values(xp, 3, 3, 2, 4)
    for _ in range(2):
        found = _convolve(xp, images, weights)
    node, values = make_node("Conv2D", xp.asnumpy(images), xp.asnumpy(weights), **_PLAIN)
    np.testing.assert_allclose(xp.asnumpy(found), call(make_kernel(node), values), 1e-4, 1e-5)
    assert library.ran == []
    told = [r.message for r in caplog.records if "No execution plans support the graph" in r.message]
    assert len(told) == 1
    assert "images=(1, 2, 5, 5)" in told[0]


def test_a_library_that_cannot_be_used_is_told_once(
    xp: Any, library: strict_cudnn.Machine, caplog: pytest.LogCaptureFixture
) -> None:
    library.is_broken = True
    for size in (5, 6):
        assert _convolve(xp, _values(xp, 1, size, 5, 2), _values(xp, 3, 3, 2, 4)).shape == (1, size, 5, 4)
    assert [r.message for r in caplog.records if "cuDNN" in r.message] == [
        "cuDNN cannot be used on GPU 0, convolutions are products of patches: cudnnHandle Create failed"
    ]
    assert "cudnnHandle Create failed" in cudnn.description()


def test_a_library_that_cannot_be_loaded(
    xp: Any, library: strict_cudnn.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise RuntimeError("Unable to find symbol cudnnGetVersion")

    monkeypatch.setattr(sys.modules["cudnn"], "backend_version", fail)
    assert _convolve(xp, _values(xp, 1, 5, 5, 2), _values(xp, 3, 3, 2, 4)).shape == (1, 5, 5, 4)
    assert "cudnnGetVersion" in cudnn.description()
    assert library.ran == []


def test_the_switch(xp: Any, library: strict_cudnn.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cudnn.description() == "cuDNN 9.10.2"
    _forget()
    monkeypatch.setenv("TENSORFLEET_CUDNN", "off")
    _convolve(xp, _values(xp, 1, 5, 5, 2), _values(xp, 3, 3, 2, 4))
    assert library.ran == []
    assert cudnn.description() == "convolutions as products of patches (TENSORFLEET_CUDNN=off)"
    _forget()
    monkeypatch.setenv("TENSORFLEET_CUDNN", "on")
    with pytest.raises(SettingsError, match="TENSORFLEET_CUDNN is 'on': set it to auto or off"):
        cudnn.description()


def test_engines_of_less_precision_are_not_taken(
    xp: Any, library: strict_cudnn.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = strict_cudnn.numerical_note
    monkeypatch.delenv("CUPY_TF32", raising=False)
    _convolve(xp, _values(xp, 1, 5, 5, 2), _values(xp, 3, 3, 2, 4))
    monkeypatch.setenv("CUPY_TF32", "1")
    monkeypatch.setenv("TF_CUDNN_DETERMINISTIC", "1")
    _convolve(xp, _values(xp, 1, 6, 5, 2), _values(xp, 3, 3, 2, 4))
    assert library.refused_notes == [
        {notes.DOWN_CONVERT_INPUTS, notes.TENSOR_CORE},
        {notes.DOWN_CONVERT_INPUTS, notes.NONDETERMINISTIC},
    ]


def test_images_that_begin_within_an_array_are_copied(xp: Any, library: strict_cudnn.Machine) -> None:
    images, weights = _values(xp, 2, 5, 5, 1), _values(xp, 3, 3, 1, 4)
    found = _convolve(xp, images[1:], weights)
    node, values = make_node("Conv2D", xp.asnumpy(images)[1:], xp.asnumpy(weights), **_PLAIN)
    np.testing.assert_allclose(xp.asnumpy(found), call(make_kernel(node), values), 1e-4, 1e-5)
    assert library.ran == ["fprop"]


def test_each_gpu_has_handles_of_its_own(gpus: Callable[..., Machine], library: strict_cudnn.Machine) -> None:
    gpus(2)
    found = []
    images, weights = tf.placeholder(tf.float32, [1, 5, 5, 2]), tf.placeholder(tf.float32, [3, 3, 2, 4])
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            found.append(tf.nn.conv2d(images, weights, [1, 1, 1, 1], "SAME"))
    random = np.random.default_rng(4)
    feeds = {images: random.normal(size=(1, 5, 5, 2)), weights: random.normal(size=(3, 3, 2, 4))}
    with tf.Session() as session:
        first, second = session.run(found, feeds)
    np.testing.assert_array_equal(first, second)
    assert library.ran == ["fprop", "fprop"]
    assert library.handles == 4


def test_a_plan_that_a_cuda_graph_replays_is_kept(
    xp: Any, library: strict_cudnn.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cudnn, "MOST_PLANS", 1)
    weights, graphs = _values(xp, 3, 3, 2, 4), []
    for size, is_captured in ((5, True), (6, False), (7, False)):
        monkeypatch.setattr(xp.cuda.Stream, "is_capturing", lambda stream, answer=is_captured: answer)
        _convolve(xp, _values(xp, 1, size, 5, 2), weights)
        (plan,) = cudnn._engines[0]._plans.values()  # type: ignore[union-attr]
        graphs.append(weakref.ref(plan.graph))  # type: ignore[union-attr]
    del plan
    assert [graph() is not None for graph in graphs] == [True, False, True]


def test_a_step_that_is_captured(
    gpus: Callable[..., Machine], library: strict_cudnn.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLEET_GPU_GRAPHS", "auto")
    losses, variables, ran = trained(cnn, gpus(), "adagrad")
    assert sum(ran) >= 4
    assert library.ran.count("wgrad") == 2 * len(ran)
    expected, expected_variables, _ = trained(cnn, None, "adagrad")
    np.testing.assert_allclose(losses, expected, 1e-4)
    for found, wanted in zip(variables, expected_variables, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-3, 1e-5)


NAMES = {
    "pygraph": "io_data_type intermediate_data_type compute_data_type handle",
    "pygraph.tensor": "dim stride data_type name",
    "pygraph.conv_fprop": "image weight pre_padding post_padding stride dilation compute_data_type",
    "pygraph.conv_dgrad": "loss filter pre_padding post_padding stride dilation compute_data_type",
    "pygraph.conv_wgrad": "image loss pre_padding post_padding stride dilation compute_data_type",
    "pygraph.execute": "handle",
    "set_stream": "handle stream",
    **dict.fromkeys(
        (
            *("backend_version", "create_handle", "cudnnGraphNotSupportedError", "build_plan_policy"),
            *("pygraph.validate", "pygraph.build_operation_graph", "pygraph.create_execution_plans"),
            *("pygraph.deselect_numeric_notes", "pygraph.deselect_workspace_greater_than"),
            *("pygraph.check_support", "pygraph.build_plans", "pygraph.get_workspace_size"),
            *("tensor.set_output", "tensor.set_data_type", "tensor.set_dim", "tensor.set_stride"),
            *("tensor.set_uid", "build_plan_policy.HEURISTICS_CHOICE", "heur_mode.A", "heur_mode.FALLBACK"),
            *("numerical_note.TENSOR_CORE", "numerical_note.DOWN_CONVERT_INPUTS"),
            *("numerical_note.NONDETERMINISTIC", "data_type.HALF", "data_type.FLOAT", "data_type.DOUBLE"),
        ),
        "",
    ),
}
"""What is used of the package, with the names of arguments."""


@pytest.mark.parametrize("name", NAMES)
def test_the_package_has_what_is_used_of_it(name: str) -> None:
    package: Any = pytest.importorskip("cudnn", reason="nvidia-cudnn-frontend is not installed")
    found = package
    for part in name.split("."):
        found = getattr(found, part)
    for argument in NAMES[name].split():
        assert _takes(found, argument), argument


def _takes(function: Any, argument: str) -> bool:
    """Whether a function or class has a parameter, as far as it tells."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # functions of C++ tell their parameters in their documentation alone
        target = function.__init__ if inspect.isclass(function) else function
        return re.search(rf"\b{argument}\b", target.__doc__) is not None
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return takes_any or argument in parameters  # what takes any is tried with graphs, below


class _Taken(Exception):
    """The package has accepted a graph, and would want a GPU next."""


@pytest.mark.parametrize("kind", ["fprop", "dgrad", "wgrad"])
@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_package_accepts_the_graphs(
    case: Any, channels_first: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package: Any = pytest.importorskip("cudnn", reason="nvidia-cudnn-frontend is not installed")
    try:
        package.backend_version()
    except RuntimeError as e:
        pytest.skip(f"there is no library of cuDNN: {e}")
    shape, weights, attrs = case
    images = _formatted(np.zeros(shape, np.float32), channels_first)
    node, _ = make_node(
        "Conv2D" if len(shape) == 4 else "Conv3D",
        *(images, np.zeros(weights, np.float32)),
        **_attrs(shape, attrs, channels_first),
    )
    geometry = Geometry(convolution_windows(node.attrs), shape[1:-1], weights[:-2])
    gradient = _formatted(np.zeros((shape[0], *geometry.out, weights[-1]), np.float32), channels_first)
    of_gradient = kind == "dgrad"
    wanted = cudnn_conv._convolution(
        kind,
        gradient if of_gradient else images,
        weights,
        geometry,
        channels_first,
        shape[-1] if of_gradient else None,
    )
    assert wanted is not None
    graph_of = package.pygraph

    class Graph:
        """A graph without a handle, which takes a GPU to make."""

        def __init__(self, *, handle: Any, **types: Any) -> None:
            self._graph = graph_of(**types)

        def __getattr__(self, name: str) -> Any:
            if name == "build_operation_graph":
                raise _Taken
            return getattr(self._graph, name)

    monkeypatch.setattr(package, "pygraph", Graph)
    with pytest.raises(_Taken):
        cudnn._build(package, 0, wanted)
