"""Initializers: functions from a shape to the initial value of a variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import eye, ones, zeros
from tensorfleet.ops.random import random_ops


class Initializer:
    """The base class of initializers, which are called with a shape and can be serialized."""

    _settings: tuple[str, ...] = ()
    dtype: DType

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = {name: getattr(self, name) for name in self._settings}
        return {**config, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """An initializer with the arguments of `get_config`."""
        return cls(**config)

    def _dtype(self, dtype: Any) -> DType:
        return self.dtype if dtype is None else dtypes.as_dtype(dtype)


def _floating(dtype: Any) -> DType:
    wanted = dtypes.as_dtype(dtype)
    if not wanted.is_floating:
        raise ValueError(f"Argument `dtype` expected to be numeric or boolean. Received {wanted}.")
    return wanted


class zeros_initializer(Initializer):
    """Zeros, empty strings or False, by the dtype (`tf.zeros_initializer`)."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros(shape, self._dtype(dtype))


class ones_initializer(Initializer):
    """Ones (`tf.ones_initializer`)."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones(shape, self._dtype(dtype))


class constant_initializer(Initializer):
    """A constant, repeated to the shape as by `tf.constant` (`tf.constant_initializer`)."""

    _settings = ("value",)

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected Python "
                "scalar, "
                "list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, self._dtype(dtype), shape, verify_shape=verify)


class random_uniform_initializer(Initializer):
    """Uniform in [minval, maxval) (`tf.random_uniform_initializer`)."""

    _settings = ("minval", "maxval", "seed")

    def __init__(
        self, minval: Any = 0.0, maxval: Any = None, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_ops.random_uniform(shape, self.minval, self.maxval, self._dtype(dtype), seed=self.seed)


class random_normal_initializer(Initializer):
    """Normally distributed (`tf.random_normal_initializer`)."""

    _settings = ("mean", "stddev", "seed")

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_ops.random_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Normally distributed within two standard deviations (`tf.truncated_normal_initializer`)."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_ops.truncated_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


class uniform_unit_scaling_initializer(Initializer):
    """Uniform, in a range that keeps a linear layer's scale (`tf.uniform_unit_scaling_initializer`)."""

    _settings = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.factor, self.seed = factor, seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        full = partition_info.full_shape if partition_info is not None else shape
        input_size = math.prod(float(size) for size in list(full)[:-1])
        limit = math.sqrt(3 / max(input_size, 1.0)) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, self._dtype(dtype), seed=self.seed)


class variance_scaling_initializer(Initializer):
    """Random numbers whose variance depends on the shape (`tf.variance_scaling_initializer`).

    Args:
        scale: the variance is `scale / n`.
        mode: what n is: "fan_in", "fan_out", or "fan_avg", their mean.
        distribution: "truncated_normal" (also called "normal"), "untruncated_normal" or "uniform".
    """

    _settings = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                f"Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: {mode}"
            )
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                "Argument `distribution` should be one of ('normal', uniform', 'truncated_normal', "
                f"'untruncated_normal'). Received: {distribution}"
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = self._dtype(dtype)
        fan_in, fan_out = fans(partition_info.full_shape if partition_info is not None else shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        # The standard deviation of a standard normal distribution truncated at ±2.
        stddev = math.sqrt(variance) / 0.87962566103423978
        return random_ops.truncated_normal(shape, 0.0, stddev, dtype, seed=self.seed)


def fans(shape: Any) -> tuple[int, int]:
    """The numbers of inputs and outputs of a layer with weights of this shape."""
    sizes = [int(size) for size in shape]
    if not sizes:
        return 1, 1
    if len(sizes) == 1:
        return sizes[0], sizes[0]
    field = math.prod(sizes[:-2])
    return sizes[-2] * field, sizes[-1] * field


class _named_scaling(variance_scaling_initializer):
    """Base class of variance scaling with fixed settings."""

    _scaling: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(*self._scaling, seed=seed, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class glorot_uniform_initializer(_named_scaling):
    """Uniform within sqrt(6 / (fan_in + fan_out)) (`tf.glorot_uniform_initializer`)."""

    _scaling = (1.0, "fan_avg", "uniform")


class glorot_normal_initializer(_named_scaling):
    """Truncated normal of variance 2 / (fan_in + fan_out) (`tf.glorot_normal_initializer`)."""

    _scaling = (1.0, "fan_avg", "truncated_normal")


def he_normal(seed: int | None = None) -> Initializer:
    """Truncated normal of variance 2 / fan_in (`tf.initializers.he_normal`)."""
    return variance_scaling_initializer(2.0, "fan_in", "truncated_normal", seed=seed)


def he_uniform(seed: int | None = None) -> Initializer:
    """Uniform within sqrt(6 / fan_in) (`tf.initializers.he_uniform`)."""
    return variance_scaling_initializer(2.0, "fan_in", "uniform", seed=seed)


def lecun_normal(seed: int | None = None) -> Initializer:
    """Truncated normal of variance 1 / fan_in (`tf.initializers.lecun_normal`)."""
    return variance_scaling_initializer(1.0, "fan_in", "truncated_normal", seed=seed)


def lecun_uniform(seed: int | None = None) -> Initializer:
    """Uniform within sqrt(3 / fan_in) (`tf.initializers.lecun_uniform`)."""
    return variance_scaling_initializer(1.0, "fan_in", "uniform", seed=seed)


class orthogonal_initializer(Initializer):
    """A matrix with orthogonal rows or columns (`tf.orthogonal_initializer`).

    A tensor of higher rank is treated as a matrix whose columns are its last dimension.
    """

    _settings = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        self.gain, self.seed = gain, seed
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        from tensorfleet.ops.array.rearranging import matrix_transpose

        dtype = self._dtype(dtype)
        sizes = [int(size) for size in shape]
        if len(sizes) < 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least two-dimensional. "
                f"Received shape={shape}"
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        normal = random_ops.random_normal(
            (max(rows, columns), min(rows, columns)), dtype=dtype, seed=self.seed
        )
        q, r = apply_op("Qr", normal, full_matrices=False)
        # With the signs of R's diagonal the factors are unique, and Q is uniformly distributed.
        q = q * apply_op("Sign", apply_op("DiagPart", r))
        if rows < columns:
            q = matrix_transpose(q)
        result: Tensor = self.gain * apply_op("Reshape", q, sizes)
        return result


class identity_initializer(Initializer):
    """The identity matrix (`tf.initializers.identity`)."""

    _settings = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        full = [int(size) for size in (partition_info.full_shape if partition_info is not None else shape)]
        if len(full) != 2:
            raise ValueError(
                f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. "
                f"Received shape={shape}"
            )
        return self.gain * eye(full[0], full[1], dtype=self._dtype(dtype))


BY_NAME: dict[str, Callable[[], Any]] = {
    "zeros": zeros_initializer,
    "ones": ones_initializer,
    "constant": constant_initializer,
    "random_uniform": random_uniform_initializer,
    "random_normal": random_normal_initializer,
    "truncated_normal": truncated_normal_initializer,
    "uniform_unit_scaling": uniform_unit_scaling_initializer,
    "variance_scaling": variance_scaling_initializer,
    "orthogonal": orthogonal_initializer,
    "glorot_uniform": glorot_uniform_initializer,
    "glorot_normal": glorot_normal_initializer,
    "identity": identity_initializer,
    "he_normal": he_normal,
    "he_uniform": he_uniform,
    "lecun_normal": lecun_normal,
    "lecun_uniform": lecun_uniform,
}
"""The initializers by their names in `tf.initializers`."""
