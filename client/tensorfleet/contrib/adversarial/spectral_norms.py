"""Spectral norms of weights, by power iteration (Miyato et al., arXiv:1802.05957)."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.logging import info
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.identity import identity, stop_gradient
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.math.arithmetic import multiply
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.norm import l2_normalize
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import random_normal_initializer
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.ops.state.variable_scope import variable_scope

_VECTOR = "spectral_norm_u"
_DTYPES = (dtypes.float16, dtypes.float32, dtypes.float64)


def compute_spectral_norm(w_tensor: Any, power_iteration_rounds: int = 1, name: str | None = None) -> Any:
    """The largest singular value of weights, about (`tf.contrib.gan.features.compute_spectral_norm`).

    A variable keeps the singular vector, from which each run goes on.

    Args:
        w_tensor: `[…, outputs]`, which stands for a matrix with a column for each output.
        power_iteration_rounds: how many rounds are added to those of earlier runs.
    """
    with variable_scope(name, "spectral_norm"):
        w = reshape(w_tensor, [-1, w_tensor.shape.as_list()[-1]])
        kept: Any = get_variable(
            _VECTOR,
            [w.shape.as_list()[0], 1],
            w.dtype.base_dtype,
            random_normal_initializer(),
            trainable=False,
        )
        u: Any = kept
        for _ in range(power_iteration_rounds):
            v = l2_normalize(matmul(transpose(w), u))
            u = l2_normalize(matmul(w, v))
        with framework.control_dependencies([assign(kept, u, name="update_u")]):
            u = identity(u)
        u, v = stop_gradient(u), stop_gradient(v)
        return matmul(matmul(transpose(u), w), v)[0][0]


def spectral_normalize(w: Any, power_iteration_rounds: int = 1, name: str | None = None) -> Any:
    """Weights divided by their spectral norm (`tf.contrib.gan.features.spectral_normalize`)."""
    with variable_scope(name, "spectral_normalize"):
        return reshape(w / compute_spectral_norm(w, power_iteration_rounds), w.shape.as_list())


def spectral_norm_regularizer(
    scale: float, power_iteration_rounds: int = 1, scope: str | None = None
) -> Callable[..., Any]:
    """A regularizer: `scale` times the spectral norm (`tf.contrib.gan.features.spectral_norm_regularizer`).

    Raises:
        ValueError: the scale is an integer, or negative.
    """
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0.0:
            info("Scale of 0 disables regularizer.")
            return lambda weights, name=None: None

    def regularizer(weights: Any, name: str | None = None) -> Any:
        with framework.name_scope(scope, "SpectralNormRegularizer", [weights]) as full:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return multiply(factor, compute_spectral_norm(weights, power_iteration_rounds), name=full)

    return regularizer


def _is_kernel(name: str) -> bool:
    return re.match(r"(.*\/)?(depthwise_|pointwise_)?(weights|kernel)$", name) is not None


def spectral_normalization_custom_getter(
    name_filter: Callable[[str], bool] = _is_kernel, power_iteration_rounds: int = 1
) -> Callable[..., Any]:
    """A `custom_getter` of variable scopes that normalizes weights
    (`tf.contrib.gan.features.spectral_normalization_custom_getter`).

    Args:
        name_filter: of a variable's name; by default those of the kernels of layers.

    Raises:
        ValueError: `name_filter` is no function. The getter: the variable is of rank 1 or no float.
    """
    if not callable(name_filter):
        raise ValueError("name_filter must be callable")

    def normalizing(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if not name_filter(name):
            return getter(name, *args, **kwargs)
        if name.endswith(_VECTOR):
            raise ValueError(f"Spectral normalization is not for its own variables, such as {name}.")
        weights = getter(name, *args, **kwargs)
        if weights.dtype.base_dtype not in _DTYPES:
            raise ValueError(f"Disallowed data type {weights.dtype.base_dtype}")
        if weights.shape.ndims is None or weights.shape.ndims < 2:
            raise ValueError("Spectral norm can only be applied to multi-dimensional tensors")
        return spectral_normalize(weights, power_iteration_rounds, name=f"{name}/spectral_normalize")

    return normalizing
