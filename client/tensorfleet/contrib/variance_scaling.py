"""The initializers of `tf.contrib.layers` whose variance depends on the shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.random.random_ops import random_uniform, truncated_normal


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> Callable[..., Tensor]:
    """Random numbers of variance factor / n (`tf.contrib.layers.variance_scaling_initializer`).

    Args:
        mode: n is "FAN_IN", the number of inputs; "FAN_OUT", that of outputs; or "FAN_AVG", their mean.
        uniform: whether numbers are uniform, instead of normal within two standard deviations.

    Returns:
        A function (shape, dtype=…, partition_info=None).

    Raises:
        TypeError: an unknown mode, or a dtype that is not floating point.
    """
    default = dtypes.as_dtype(dtype)
    if not default.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initialize(shape: Any, dtype: Any = default, partition_info: Any = None) -> Tensor:
        wanted = dtypes.as_dtype(dtype)
        if not wanted.is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        full = [float(size) for size in (shape if partition_info is None else partition_info.full_shape)]
        field = math.prod(full[:-2])
        fan_in = field * (full[-2] if len(full) > 1 else full[-1] if full else 1.0)
        fan_out = field * (full[-1] if full else 1.0)
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, wanted, seed=seed)
        # The factor approximately compensates for the truncation at two standard deviations.
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), wanted, seed=seed)

    return initialize


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Callable[..., Tensor]:
    """Glorot and Bengio's initializer (`tf.contrib.layers.xavier_initializer`).

    Raises:
        TypeError: a dtype that is not floating point.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)
