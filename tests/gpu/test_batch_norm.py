"""Batch normalization on a GPU, forward and backward, beside the CPU's kernel: in two launches at most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.kernels.nn import cuda_batch_norm
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import call, make_node

FORMATS: dict[str, list[tuple[int, ...]]] = {
    "NHWC": [(2, 3, 5, 1), (4, 7, 3, 6), (3, 40, 30, 5), (1, 1, 1, 3), (2, 2, 2, 70), (2, 3, 2, 2, 3)],
    "NCHW": [(2, 1, 3, 5), (4, 6, 7, 3), (2, 3, 40, 60), (3, 5, 1, 1), (5, 3, 19, 17)],
    "NDHWC": [(2, 2, 3, 2, 4)],
    "NCDHW": [(2, 4, 2, 3, 5)],
}
"""More and fewer channels than a block takes, elements in one part and in several, of one row and of many."""

CASES = [(data_format, shape) for data_format, shapes in FORMATS.items() for shape in shapes]


def _channels(data_format: str, shape: tuple[int, ...]) -> int:
    return shape[1] if data_format.startswith("NC") else shape[-1]


def _both(xp: Any, op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> tuple[Any, Any]:
    """The outputs of the GPU's kernel, and those of the CPU's."""
    node, values = make_node(op_type, *inputs, **attrs)
    wanted = call(make_kernel(node), values)
    node, _ = make_node(op_type, *inputs, xp=xp, **attrs)
    found = call(make_kernel(node), [xp.asarray(value) for value in values])
    return [xp.asnumpy(value) for value in found], wanted


def _compare(found: Any, wanted: Any, dtype: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        scale = float(np.abs(other).max(initial=1))
        tolerance = 2e-3 if one.dtype == np.float16 or dtype == np.float16 else 2e-5
        np.testing.assert_allclose(one.astype(float), other.astype(float), tolerance, tolerance * scale)


def _values(dtype: Any, data_format: str, shape: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(math.prod(shape))
    channels = _channels(data_format, shape)
    vectors = [random.uniform(0.5, 2, channels).astype(np.float32) for _ in range(4)]
    return [random.normal(3, 2, shape).astype(dtype), *vectors]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("data_format", "shape"), CASES)
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_training(xp: Any, dtype: Any, data_format: str, shape: tuple[int, ...], factor: float) -> None:
    attrs = {"is_training": True, "data_format": data_format, "exponential_avg_factor": factor}
    found, wanted = _both(xp, "FusedBatchNormV3", _values(dtype, data_format, shape), attrs)
    _compare(found, wanted, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("data_format", "shape"), CASES)
def test_inference(xp: Any, dtype: Any, data_format: str, shape: tuple[int, ...]) -> None:
    attrs = {"is_training": False, "data_format": data_format}
    found, wanted = _both(xp, "FusedBatchNormV3", _values(dtype, data_format, shape), attrs)
    _compare(found, wanted, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("data_format", "shape"), CASES)
@pytest.mark.parametrize("is_training", [True, False])
def test_gradients(xp: Any, dtype: Any, data_format: str, shape: tuple[int, ...], is_training: bool) -> None:
    x, scale, mean, variance, _ = _values(dtype, data_format, shape)
    gradient = np.random.default_rng(8).normal(size=shape).astype(dtype)
    inputs = [gradient, x, scale, mean, variance, np.zeros(0, np.float32)]
    attrs = {"is_training": is_training, "data_format": data_format}
    found, wanted = _both(xp, "FusedBatchNormGradV3", inputs, attrs)
    _compare(found, wanted, dtype)


def test_a_mean_far_from_zero_costs_no_precision(xp: Any) -> None:
    x = np.random.default_rng(2).normal(1000, 1, (4, 30, 30, 3)).astype(np.float32)
    scale, offset = xp.asarray(np.ones(3, np.float32)), xp.asarray(np.zeros(3, np.float32))
    found = cuda_batch_norm.train(xp, xp.asarray(x), 3, scale, offset, None, 1e-3, 1)
    mean, variance = map(xp.asnumpy, found[3:])
    exact = x.reshape(-1, 3).astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(0), 1e-6)
    np.testing.assert_allclose(variance, exact.var(0), 1e-4)


def test_a_nan_reaches_its_channel_alone(xp: Any) -> None:
    x = np.random.default_rng(2).normal(size=(4, 5, 5, 3)).astype(np.float32)
    x[2, 3, 1, 1] = np.nan
    attrs = {"is_training": True, "data_format": "NHWC"}
    vectors = [np.ones(3, np.float32) for _ in range(4)]
    found, _ = _both(xp, "FusedBatchNorm", [x, *vectors], attrs)
    for value in found:
        np.testing.assert_array_equal(np.isnan(value.reshape(-1, 3)).all(0), [False, True, False])
        assert not np.isnan(value.reshape(-1, 3)[:, [0, 2]]).any()


def test_images_that_are_not_contiguous(xp: Any) -> None:
    x = np.random.default_rng(2).normal(size=(4, 5, 6, 3)).astype(np.float32)
    vectors = np.random.default_rng(3).uniform(1, 2, (8, 3)).astype(np.float32)
    attrs: dict[str, Any] = {"is_training": False, "data_format": "NHWC"}
    node, values = make_node("FusedBatchNorm", x[:, :, ::2], *vectors[::2], **attrs)
    wanted = call(make_kernel(node), values)
    node, _ = make_node("FusedBatchNorm", *values, xp=xp, **attrs)
    strided = [xp.asarray(x)[:, :, ::2], *xp.asarray(vectors.T.copy()).T[::2]]
    _compare([xp.asnumpy(v) for v in call(make_kernel(node), strided)], wanted, np.float32)


def test_the_number_of_launches(xp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, *vectors = map(xp.asarray, _values(np.float32, "NHWC", (4, 7, 3, 6)))
    scale, offset, mean, variance = vectors
    launched: list[str] = []
    kept = cuda_batch_norm._launch

    def noted(xp: Any, name: str, *rest: Any) -> None:
        launched.append(name)
        kept(xp, name, *rest)

    monkeypatch.setattr(cuda_batch_norm, "_launch", noted)
    cuda_batch_norm.train(xp, x, 3, scale, offset, (mean, variance), 1e-3, 0.5)
    assert launched == ["moments_of_parts", "normalize_training"]
    launched.clear()
    cuda_batch_norm.infer(xp, x, 3, scale, offset, mean, variance, 1e-3)
    assert launched == ["normalize"]
    launched.clear()
    cuda_batch_norm.gradients(xp, x, x, 3, scale, mean, variance, 1e-3, True)
    assert launched == ["gradient_sums_of_parts", "normalize_gradient"]
