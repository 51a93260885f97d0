"""Kernels that have a compiled form give what NumPy gives, also of NaN, infinity and ties."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes
from tensorfleet_service.devices import native
from tensorfleet_service.kernels.math.compiled import ROW
from tensorfleet_service.kernels.state import scatter
from tensorfleet_service.kernels.training import recording
from tensorfleet_service.kernels.training.optimizer_updates import RULES
from tensorfleet_service.kernels.training.recording import apply_recorded, numbers_key, switches_of
from tests.kernels.harness import run_op

pytestmark = pytest.mark.skipif(native.native is None, reason="no compiled kernels")

Both = Callable[..., None]


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Both:
    """Compares an op's results by compiled code, which must have been called, with those by NumPy."""

    def compare(
        function: str, op: str, *inputs: Any, rtol: float = 2e-6, atol: float = 1e-6, **attrs: Any
    ) -> None:
        calls = []

        class Watched:
            def __getattr__(self, name: str) -> Any:
                calls.append(name)
                return getattr(module, name)

        module = native.native
        with monkeypatch.context() as patch:
            patch.setattr(native, "LEAST", 1)
            for user in ("nn.norm", "nn.cross_entropy", "nn.activation", "nn.pool"):
                patch.setattr(f"tensorfleet_service.kernels.{user}.native", Watched())
            patch.setattr(native, "native", Watched())
            patch.setattr("tensorfleet_service.kernels.math.compiled.native", Watched())
            found = run_op(op, *inputs, **attrs)
        assert function in calls
        with monkeypatch.context() as patch:
            patch.setattr(native, "native", None)
            expected = run_op(op, *inputs, **attrs)
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        for one, other in pairs:
            assert np.shape(one) == np.shape(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)

    return compare


SHAPES = [(2, 3, 5, 1), (4, 7, 3, 3), (8, 8, 4, 16), (2, 5, 5, 70), (64, 16, 16, 16), (1, 1, 1, 5)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_training", [True, False])
def test_batch_norm(shape: tuple[int, ...], is_training: bool, both: Both) -> None:
    x, channels = floats(*shape) * 3 + 100, shape[-1:]
    statistics = (floats(*channels, seed=3), np.abs(floats(*channels, seed=4)) + 0.5)
    empty = np.zeros(0, np.float32)
    inputs = (x, floats(*channels, seed=1), floats(*channels, seed=2))
    mean = (empty, empty) if is_training else statistics
    both("batch_norm", "FusedBatchNormV3", *inputs, *mean, is_training=is_training, rtol=2e-4, atol=2e-4)
    gradient = floats(*shape, seed=5)
    statistics = (x.mean((0, 1, 2)), x.var((0, 1, 2)) + np.float32(0.1))
    both(
        "batch_norm_grad", "FusedBatchNormGradV3", gradient, x, inputs[1], *statistics, empty,
        is_training=is_training, rtol=2e-4, atol=2e-3,
    )  # fmt: skip


def test_batch_norm_of_nan_and_infinity(both: Both) -> None:
    x = floats(4, 6, 6, 8)
    x[0, 0, 0, 1], x[1, 2, 3, 2] = np.nan, np.inf
    empty = np.zeros(0, np.float32)
    both(
        "batch_norm",
        "FusedBatchNormV3",
        x,
        np.ones(8, np.float32),
        np.zeros(8, np.float32),
        empty,
        empty,
        rtol=1e-5,
    )


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 1024), (7, 10_001)])
def test_softmax_and_cross_entropy(shape: tuple[int, int], both: Both) -> None:
    logits, targets = floats(*shape) * 20, np.abs(floats(*shape, seed=1))
    labels = np.random.default_rng(2).integers(0, shape[1], shape[0])
    for op in ("Softmax", "LogSoftmax"):
        both("softmax", op, logits, rtol=1e-5)
    both("cross_entropy", "SoftmaxCrossEntropyWithLogits", logits, targets, rtol=1e-4, atol=1e-5)
    for dtype in (np.int32, np.int64):
        both(
            "cross_entropy",
            "SparseSoftmaxCrossEntropyWithLogits",
            logits,
            labels.astype(dtype),
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_cross_entropy_of_special_values(special: float, both: Both) -> None:
    logits, targets = floats(4, 9), np.abs(floats(4, 9, seed=1))
    logits[1, 2] = logits[2, 3] = special
    targets[1, 2] = 0
    both("cross_entropy", "SoftmaxCrossEntropyWithLogits", logits, targets, rtol=1e-5)
    both(
        "cross_entropy",
        "SparseSoftmaxCrossEntropyWithLogits",
        logits,
        np.array([0, 2, 2, 8], np.int32),
        rtol=1e-5,
    )
    both("softmax", "Softmax", logits, rtol=1e-5)


@pytest.mark.parametrize("padding", [b"SAME", b"VALID"])
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 2), (3, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("depth", [5, 53])
def test_max_pooling(padding: bytes, window: int, stride: int, depth: int, both: Both) -> None:
    images = np.round(floats(3, 9, 8, depth) * 2)  # many maxima are there twice
    images[1, 2, 3, 4], images[2, 0, 0, 0] = np.nan, -np.inf
    attrs = {"ksize": [1, window, window, 1], "strides": [1, stride, stride, 1], "padding": padding}
    both("max_pool", "MaxPool", images, **attrs)
    pooled = run_op("MaxPool", images, **attrs)
    gradient = floats(*pooled.shape)
    both("max_pool_grad", "MaxPoolGrad", images, pooled, gradient, **attrs)
    gradient[0, 0, 0, :2] = np.inf, np.nan
    both("max_pool_grad", "MaxPoolGrad", images, pooled, gradient, **attrs)


@pytest.mark.parametrize("padding", [b"SAME", b"VALID"])
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 2), (3, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("data_format", [b"NHWC", b"NCHW"])
def test_average_pooling(padding: bytes, window: int, stride: int, data_format: bytes, both: Both) -> None:
    images = floats(3, 9, 8, 5)
    images[1, 2, 3, 4], images[2, 0, 0, 0] = np.nan, -np.inf
    sizes = [1, window, window, 1], [1, stride, stride, 1]
    if data_format == b"NCHW":
        images, sizes = np.moveaxis(images, -1, 1).copy(), ([1, 1, window, window], [1, 1, stride, stride])
    attrs = {"ksize": sizes[0], "strides": sizes[1], "padding": padding, "data_format": data_format}
    both("average_pool", "AvgPool", images, rtol=0, atol=0, **attrs)
    gradient = floats(*run_op("AvgPool", images, **attrs).shape, seed=1)
    shape = np.array(images.shape, np.int32)
    both("average_pool_grad", "AvgPoolGrad", shape, gradient, rtol=0, atol=0, **attrs)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(40, 3), (40,), (40, 2, 5)])
def test_rows_are_added(index_type: Any, shape: tuple[int, ...], both: Both) -> None:
    ids = np.random.default_rng(0).integers(-1, 7, 40).astype(index_type)
    count = np.array(7, np.int32)
    both("add_rows", "UnsortedSegmentSum", floats(*shape), ids, count)
    both("add_rows", "UnsortedSegmentSum", floats(*shape), np.sort(ids), count)


def test_rows_that_there_are_not_are_refused() -> None:
    table, updates = np.zeros((3, 2), np.float32), floats(2, 2)
    for places in ([0, 3], [-1, 0]):
        with pytest.raises(ValueError, match="no row"):
            native.native.add_rows(table, np.array(places), updates, 3, 2, 2, False, 1)
    with pytest.raises(ValueError, match="elements instead"):
        native.native.add_rows(table, np.array([0, 1]), updates, 3, 2, 3, False, 1)
    assert not table.any()


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (70, 3, 16), (4100, 2, 3), (2, 3, 9000)])
@pytest.mark.parametrize("axes", [[0, 1, 2], [0], [0, 1], [2], [1, 2]])
@pytest.mark.parametrize("keep", [True, False])
def test_reductions(shape: tuple[int, ...], axes: list[int], keep: bool, both: Both) -> None:
    x = floats(*shape) + 1
    for op in ("Sum", "Mean"):
        function = "column_sums" if 0 in axes and len(axes) < 3 else "row_reduce"
        both(function, op, x, np.array(axes, np.int32), keep_dims=keep, rtol=1e-5, atol=1e-4)
    if axes[-1] == 2:
        x[0, 0, 0] = np.nan
        both("row_reduce", "Max", x, np.array(axes, np.int32), keep_dims=keep)


@pytest.mark.parametrize("count", [3, 16, 17, 40])
def test_sums_of_many_arrays(count: int, both: Both) -> None:
    both("evaluate", "AddN", [floats(70, 33, seed=i) for i in range(count)], rtol=0, atol=0)


def test_the_gradient_of_a_bias(both: Both) -> None:
    both("column_sums", "BiasAddGrad", floats(6, 7, 40), rtol=1e-5)
    both("column_sums", "BiasAddGrad", floats(4000, 3), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("name", sorted({*RULES} - {"ProximalAdagrad"}))
def test_updates_are_those_of_numpy_bit_by_bit(name: str, nesterov: bool) -> None:
    rule = RULES[name]
    attrs = {"use_nesterov": nesterov, "update_slots": True, "multiply_linear_by_lr": nesterov}
    prepare = rule.build(np, attrs)
    parameters = inspect.signature(prepare).parameters
    numbers = [np.float32(x) for x in (0.1, 0.3, 0.25, 0.2, 0.15, 0.05)[: len(parameters)]]
    if name.startswith("Ftrl"):
        numbers[-1] = np.float32(-0.5)  # another power is NumPy's
    variables = [np.abs(floats(3000, seed=i)) + 2 * (i == 2) for i in range(rule.variables)]
    gradient = floats(3000, seed=9)
    expected = [variable.copy() for variable in variables]
    prepare(*numbers)([np.empty_like(gradient) for _ in range(rule.scratch)], *expected, gradient)
    assert apply_recorded(rule, switches_of(attrs), numbers, variables, gradient)
    for one, other in zip(variables, expected, strict=True):
        if name == "PowerSign":
            np.testing.assert_allclose(one, other, rtol=1e-6)
        else:
            np.testing.assert_array_equal(one, other)


UPDATES = [
    ("Adagrad", 1, {"update_slots": True}, "adagrad"),
    ("AdagradV2", 2, {"update_slots": True}, "adagrad_v2"),
    ("Adam", 6, {"use_nesterov": False}, "adam"),
    ("Adam", 6, {"use_nesterov": True}, "adam_nesterov"),
    ("GradientDescent", 1, {}, None),  # one step
    ("Momentum", 2, {"use_nesterov": False}, "momentum"),
    ("Momentum", 2, {"use_nesterov": True}, "momentum_nesterov"),
    ("RMSProp", 4, {}, "rms_prop"),
]


@pytest.mark.parametrize(("name", "count", "attrs", "loop"), UPDATES)
def test_the_updates_that_are_one_loop(
    name: str, count: int, attrs: dict[str, bool], loop: str | None
) -> None:
    numbers = numbers_key([np.float32(0.1 + 0.1 * i) for i in range(count)])
    recorded = recording._recorded(RULES[name], switches_of(attrs), numbers)
    assert recorded is not None
    code, forms = recorded[0]._code, recorded[0]._forms
    assert native.native.update_name(code, forms) == loop
    assert native.native.update_name(code[:-16], forms) is None
    assert native.native.update_name(code, forms[:-1]) is None
    assert native.native.update_name(code, bytes([ROW, *forms[1:]])) is None


@pytest.mark.parametrize("size", [1, 7, 16, 100, 4099])
@pytest.mark.parametrize(("name", "count", "attrs", "loop"), UPDATES)
def test_updates_of_special_numbers(
    name: str, count: int, attrs: dict[str, bool], loop: str | None, size: int
) -> None:
    """Bit by bit, but for which of two NaNs it is."""
    rule, special = RULES[name], np.resize(_special(), size)
    numbers = [np.float32(0.1 + 0.1 * i) for i in range(count)]
    for shift in range(rule.variables):
        variables = [np.roll(special, shift + i).copy() for i in range(rule.variables)]
        gradient = np.roll(special, -shift).copy()
        expected = [variable.copy() for variable in variables]
        with np.errstate(all="ignore"):
            temporaries = [np.empty_like(gradient) for _ in range(rule.scratch)]
            rule.build(np, attrs)(*numbers)(temporaries, *expected, gradient)
        assert apply_recorded(rule, switches_of(attrs), numbers, variables, gradient)
        for one, other in zip(variables, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert (np.signbit(one) == np.signbit(other))[~np.isnan(other)].all()


def test_each_call_of_an_update_takes_its_own_numbers() -> None:
    rule, gradient = RULES["GradientDescent"], np.ones(10, np.float32)
    for rate in (0.5, 2.0, 0.0, -0.0, float("nan"), 0.5):
        variables = [np.full(10, -0.0, np.float32)]
        assert apply_recorded(rule, (), [np.float32(rate)], variables, gradient)
        expected = np.float32(-0.0) - gradient * np.float32(rate)
        assert variables[0].tobytes() == expected.tobytes()


def test_a_number_that_is_an_array_may_change() -> None:
    rule, gradient, rate = RULES["GradientDescent"], np.ones(10, np.float32), np.array(0.5, np.float32)
    for expected in (0.5, -1.5):
        variables = [np.ones(10, np.float32)]
        assert apply_recorded(rule, (), [rate], variables, gradient)
        np.testing.assert_array_equal(variables[0], np.full(10, expected, np.float32))
        rate[...] = 2.5


def test_powers_are_left_to_numpy() -> None:
    numbers = [np.float32(x) for x in (0.1, 0.2, 0.3, -0.4)]
    arrays = [np.abs(floats(10, seed=i)) for i in range(3)]
    before = [array.copy() for array in arrays]
    switches = (("multiply_linear_by_lr", False),)
    assert not apply_recorded(RULES["Ftrl"], switches, numbers, arrays, floats(10))
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_small_floats_stay_with_numpy() -> None:
    x = floats(3, 5).astype(dtypes.bfloat16.np)
    assert not native.takes(x)
    assert run_op("Softmax", x).dtype == x.dtype


def test_rows_of_a_variable_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, as np.add.at does it, also where a row comes more than once."""
    places, updates = np.array([[2, 0], [2, 1]], np.int32), floats(2, 2, 3)
    expected = floats(4, 3, seed=1)
    table = expected.copy()
    np.add.at(expected, places, updates)
    monkeypatch.setattr(native, "LEAST", 1)
    scatter._apply_at(np.add, table, places, updates)
    assert table.tobytes() == expected.tobytes()


def _special() -> Any:
    x = floats(3, 40) * 4
    x[0, :8] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-44, 6.0, 1e38
    return x


@pytest.mark.parametrize("op", ["Selu", "LeakyRelu"])
def test_activations(op: str, both: Both) -> None:
    attrs = {"alpha": 0.2} if op == "LeakyRelu" else {}
    both("evaluate", op, _special(), **attrs)
    both("evaluate", f"{op}Grad", floats(3, 40, seed=1), _special(), **attrs)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5, 3.0])
def test_slopes(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    x = _special()
    monkeypatch.setattr(native, "LEAST", 1)
    np.testing.assert_array_equal(
        run_op("LeakyRelu", x, alpha=alpha), np.where(x > 0, x, x * np.float32(alpha))
    )
    gradient = floats(3, 40, seed=1)
    expected = np.where(x > 0, gradient, gradient * np.float32(alpha))
    np.testing.assert_array_equal(run_op("LeakyReluGrad", gradient, x, alpha=alpha), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8])
def test_relu6_grad(dtype: Any) -> None:
    x = (floats(5, 8) * 30).astype(dtype)
    if dtype != np.int8:
        tiny = np.finfo(dtype).smallest_subnormal
        below = np.nextafter(dtype(6), dtype(0))
        x[0] = np.nan, np.inf, -np.inf, tiny, -tiny, below, 6, 0
    gradient = (floats(5, 8, seed=1) * 9).astype(dtype)
    expected = gradient * ((x > 0) & (x < 6))
    np.testing.assert_array_equal(run_op("Relu6Grad", gradient, x), expected.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, dtypes.bfloat16.np])
def test_ftrl_keeps_weights_at_zero_that_nothing_moves(dtype: Any) -> None:
    zero, rule = np.zeros(8, dtype), RULES["Ftrl"]
    prepare = rule.build(np, {"multiply_linear_by_lr": False})
    variables = [zero.copy() for _ in range(3)]
    update = prepare(*(np.dtype(dtype).type(x) for x in (0.1, 0, 0, -0.5)))
    update([np.empty_like(zero) for _ in range(rule.scratch)], *variables, zero)
    assert not any(variable.any() for variable in variables)
    assert not np.signbit(variables[0].astype(np.float32)).any()
