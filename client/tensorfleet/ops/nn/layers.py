"""Functions of `tf.nn` that are composed of other ops: dropout, relu_layer, xw_plus_b, zero_fraction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.reduction import reduce_mean
from tensorfleet.ops.random.random_ops import random_uniform
from tensorfleet.ops.random.stateless import stateless_uniform


@takes_composites
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """`x` with random elements set to zero and the others scaled to keep the mean (`tf.nn.dropout`).

    Args:
        x: floating point.
        keep_prob: the probability that an element is kept, 1 - `rate`.
        noise_shape: the shape of the random choices, broadcast to that of `x`.
        rate: the probability that an element is set to zero.

    Raises:
        ValueError: neither or both of `keep_prob` and `rate`, a probability outside of [0, 1), or an `x` that
            is not floating point.

    Example:
        >>> tf.Session().run(tf.nn.dropout(tf.ones([2, 3]), rate=0.5)).shape
        (2, 3)
    """
    if keep_prob is not None and rate is not None:
        raise ValueError("Cannot specify both 'keep_prob' and 'rate'.")
    if keep_prob is None and rate is None:
        raise ValueError("`rate` must be provided. Received: rate=None")
    if rate is None:
        try:
            rate = 1 - keep_prob
        except TypeError:
            text = f"`keep_prob` must be a floating point number or Tensor. Received: keep_prob={keep_prob}"
            raise ValueError(text) from None

    def noise(shape: Any, dtype: Any) -> Tensor:
        return random_uniform(shape, seed=seed, dtype=dtype)

    return _dropped(x, rate, noise, noise_shape, name, "dropout")


def general_dropout(
    x: Any, rate: Any, uniform_sampler: Callable[..., Any], noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """`dropout` with random numbers of one's own (`tf.nn.experimental.general_dropout`).

    Args:
        x: floating point.
        rate: the probability that an element is set to zero.
        uniform_sampler: uniform_sampler(shape, dtype) gives numbers in [0, 1).
        noise_shape: the shape of the random choices, broadcast to that of `x`.
    """
    return _dropped(x, rate, uniform_sampler, noise_shape, name, "general_dropout")


def stateless_dropout(
    x: Any, rate: Any, seed: Any, rng_alg: Any = None, noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """`dropout` that makes the same choices each time (`tf.nn.experimental.stateless_dropout`).

    Args:
        x: floating point.
        rate: the probability that an element is set to zero.
        seed: two integers, on which the choices depend alone.
        rng_alg: the algorithm of the random numbers, as of `tf.random.stateless_uniform`.
        noise_shape: the shape of the random choices, broadcast to that of `x`.
    """
    alg = "auto_select" if rng_alg is None else rng_alg

    def noise(shape: Any, dtype: Any) -> Tensor:
        return stateless_uniform(shape, seed=seed, dtype=dtype, alg=alg)

    return _dropped(x, rate, noise, noise_shape, name, "stateless_dropout")


def _dropped(
    x: Any, rate: Any, sampler: Callable[..., Any], noise_shape: Any, name: str | None, scope: str
) -> Tensor:
    with name_scope(name, scope, [x]):
        if isinstance(rate, (int, float)) and not 0 <= rate < 1:
            raise ValueError(
                "`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate=" + str(rate)
            )
        values: Any = convert_to_tensor(x, name="x")
        dtype = values.dtype.base
        if not dtype.is_floating:
            raise ValueError(
                "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x.dtype="
                f"{dtype!r}"
            )
        if isinstance(rate, (int, float)) and rate == 0:
            return convert_to_tensor(values)
        probability: Any = convert_to_tensor(rate, dtype=dtype, name="rate")
        shape = _noise_shape(values, noise_shape)
        noise = sampler(shape, dtype)
        scale = 1 / (1 - probability)
        kept = apply_one("GreaterEqual", noise, probability)
        # A product, as programs for TensorFlow 1 know the result as "dropout/mul_1".
        result: Tensor = values * scale * cast(kept, dtype)
        result.set_shape(values.dims)
        return result


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        if x.dims is not None and None not in x.dims:
            return list(x.dims)
        return apply_one("Shape", x)
    if isinstance(noise_shape, (list, tuple)) and x.dims is not None and len(noise_shape) == len(x.dims):
        # None stands for the size of x.
        merged = [size if n is None else n for n, size in zip(noise_shape, x.dims, strict=True)]
        return merged if None not in merged else noise_shape
    return noise_shape


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """relu(x · weights + biases) (`tf.nn.relu_layer`)."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return apply_one("Relu", _affine(x, weights, biases), name=scope)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """x · weights + biases (`tf.nn.xw_plus_b`)."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return _affine(x, weights, biases, scope)


def _affine(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    x = convert_to_tensor(x, name="x")
    weights = convert_to_tensor(weights, name="weights")
    biases = convert_to_tensor(biases, name="biases")
    return apply_one("BiasAdd", apply_one("MatMul", x, weights), biases, name=name)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The fraction of elements that are zero, a float32 (`tf.nn.zero_fraction`)."""
    with name_scope(name, "zero_fraction", [value]):
        x = convert_to_tensor(value, name="value")
        zeros = apply_one("Equal", x, cast(0, x.dtype.base))
        return reduce_mean(cast(zeros, "float32"), name="fraction")
