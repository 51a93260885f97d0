"""Random tensors that depend on a seed alone: `tf.random.stateless_uniform`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.shaping import broadcast_dynamic_shape, shape as shape_of
from tensorfleet.ops.random import stateful as _stateful  # noqa: F401  the ops of Generators
from tensorfleet.ops.random.random_ops import shape_tensor

_ALGORITHMS = ("auto_select", "philox")
_PHILOX = 1


def _shape_input(node: RuleNode) -> list[Dims]:
    return [static_dims(node.inputs[0])]


op(
    "StatelessRandomUniformFullInt(shape: T, seed: Tseed) -> (output: dtype)",
    "dtype: {int32, int64, uint32, uint64} = uint64",
    "T: {int32, int64} = int32",
    "Tseed: {int32, int64, uint32, uint64} = int64",
    shape=_shape_input,
)
op(
    "StatelessRandomUniformFullIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
    "(output: dtype)",
    "dtype: {int32, int64, uint32, uint64} = uint64",
    "Tshape: {int32, int64} = int32",
    shape=_shape_input,
)


def _state(seed: Any, alg: str) -> tuple[Tensor, Tensor, int]:
    """Key, counter and algorithm for a seed of two integers."""
    if alg not in _ALGORITHMS:
        raise ValueError(
            f"Argument `alg` got unsupported value {alg!r}. Supported values are 'philox' and 'auto_select'."
        )
    key, counter = apply_op("StatelessRandomGetKeyCounter", seed)
    return key, counter, _PHILOX


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Uniform numbers in [minval, maxval), equal for equal seeds (`tf.random.stateless_uniform`).

    Args:
        seed: int32 or int64 [2].
        minval, maxval: both None for the whole range of an integer dtype; maxval is 1 by default for floats.
        dtype: a floating point dtype, int32 or int64; uint32 and uint64 for the whole range only.
        alg: "philox" or "auto_select", which mean the same.

    Raises:
        ValueError: a dtype or an algorithm that is not supported, or an integer dtype with one bound.
    """
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_floating or dtype.name in ("int32", "int64", "uint32", "uint64")):
        raise ValueError(f"Argument `dtype` got invalid value {dtype}.")
    if dtype.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be both None or not "
            "None."
        )
    if not dtype.is_integer and maxval is None:
        maxval = 1
    with framework.name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        dims = shape_tensor(shape)
        if dtype.is_integer and minval is None:
            state = _state(seed, alg)
            return apply_one("StatelessRandomUniformFullIntV2", dims, *state, dtype=dtype, name=scope)
        low = convert_to_tensor(minval, dtype, "min")
        high = convert_to_tensor(maxval, dtype, "max")
        key, counter, algorithm = _state(seed, alg)
        if dtype.is_integer:
            return apply_one(
                "StatelessRandomUniformIntV2", dims, key, counter, algorithm, low, high, name=scope
            )
        random = apply_one("StatelessRandomUniformV2", dims, key, counter, algorithm, dtype=dtype)
        return apply_one("AddV2", random * (high - low), low, name=scope)


def _scaled(
    op_type: str, default: str, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: Any, alg: str
) -> Tensor:
    with framework.name_scope(name, default, [shape, seed, mean, stddev]) as scope:
        dims = shape_tensor(shape)
        center = convert_to_tensor(mean, dtype, "mean")
        spread = convert_to_tensor(stddev, dtype, "stddev")
        random = apply_one(op_type, dims, *_state(seed, alg), dtype=dtypes.as_dtype(dtype))
        return apply_one("AddV2", random * spread, center, name=scope)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """Normally distributed numbers, equal for equal seeds (`tf.random.stateless_normal`)."""
    default = "stateless_random_normal"
    return _scaled("StatelessRandomNormalV2", default, shape, seed, mean, stddev, dtype, name, alg)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
    alg: str = "auto_select",
) -> Tensor:
    """`stateless_normal` within two standard deviations (`tf.random.stateless_truncated_normal`)."""
    default = "stateless_truncated_normal"
    return _scaled("StatelessTruncatedNormalV2", default, shape, seed, mean, stddev, dtype, name, alg)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Classes drawn by their unnormalized log probabilities (`tf.random.stateless_categorical`).

    Args:
        logits: [batch, classes].

    Returns:
        [batch, num_samples].
    """
    with framework.name_scope(name, "stateless_categorical", [logits, seed]):
        return _classes(logits, num_samples, seed, dtype)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """`stateless_categorical` under its older name (`tf.random.stateless_multinomial`)."""
    with framework.name_scope(name, "stateless_multinomial", [logits, seed]):
        return _classes(logits, num_samples, seed, output_dtype)


def _classes(logits: Any, num_samples: Any, seed: Any, dtype: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    return apply_one("StatelessMultinomial", logits, num_samples, seed, output_dtype=dtypes.as_dtype(dtype))


def split(seed: Any, num: int = 2, alg: str = "auto_select") -> Tensor:
    """`num` new seeds derived from a seed, [num, 2] (`tf.random.split`)."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype.base, alg=alg)


def fold_in(seed: Any, data: Any, alg: str = "auto_select") -> Tensor:
    """A new seed derived from a seed and an integer, [2] (`tf.random.fold_in`)."""
    data = convert_to_tensor(data)
    first = stateless_uniform([1], seed, None, None, data.dtype.base, alg=alg)[0]
    return stack([first, cast(data, first.dtype)])


def stateless_gamma(
    shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Gamma distributed numbers, equal for equal seeds (`tf.random.stateless_gamma`).

    Args:
        shape: the whole shape, which ends with that of `alpha` and `beta`.
        alpha, beta: shape and inverse scale; beta is 1 by default.
    """
    with framework.name_scope(name, "stateless_random_gamma", [shape, seed, alpha, beta]):
        dims = shape_tensor(shape)
        shape_parameter = convert_to_tensor(alpha, dtype, "alpha")
        rate = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        whole = broadcast_dynamic_shape(shape_of(shape_parameter), shape_of(rate))
        alphas = apply_one("BroadcastTo", shape_parameter, whole)
        drawn = apply_one("StatelessRandomGammaV3", dims, *_state(seed, "auto_select"), alphas)
        least = np.finfo(shape_parameter.dtype.base.as_numpy_dtype).tiny
        return apply_one("Maximum", least, apply_one("RealDiv", drawn, rate))


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Poisson distributed numbers, equal for equal seeds (`tf.random.stateless_poisson`).

    Args:
        shape: the whole shape, which ends with that of `lam`.
        lam: the rates.
    """
    with framework.name_scope(name, "stateless_random_poisson", [shape, seed, lam]):
        return apply_one(
            "StatelessRandomPoisson", shape_tensor(shape), seed, lam, dtype=dtypes.as_dtype(dtype)
        )


def stateless_shuffle(value: Any, seed: Any, alg: str = "auto_select", name: str | None = None) -> Tensor:
    """The rows in an order that depends on the seed alone (`tf.random.experimental.stateless_shuffle`)."""
    with framework.name_scope(name, "stateless_shuffle", [value, seed]):
        return apply_one("StatelessShuffle", value, *_state(seed, alg))
