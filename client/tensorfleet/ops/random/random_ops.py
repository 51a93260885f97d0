"""Random tensors: `tf.random_uniform`, `tf.random_normal`, … and `tf.set_random_seed`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dimension import dimension_value
from tensorfleet.core.dims import Dims
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.seeds import get_seed
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import scalar, unchanged


def _shape_input(op: RuleNode) -> list[Dims]:
    given = op.inputs[0].dims
    if given is not None and len(given) > 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(given)}")
    return [static_dims(op.inputs[0])]


def _shape_and_rate(op: RuleNode) -> list[Dims]:
    return [dims_module.concatenate(static_dims(op.inputs[0]), op.inputs[1].dims)]


def _multinomial(op: RuleNode) -> list[Dims]:
    logits = op.inputs[0].dims
    if logits is not None and len(logits) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(logits)}")
    samples = static_value(op.inputs[1])
    return [(None if logits is None else logits[0], None if samples is None else int(samples))]


def _key_counter(op: RuleNode) -> list[Dims]:
    outputs: list[Dims] = [(1,), (2,), ()]
    return outputs[: len(op.outputs)]


op(
    "RandomUniform(shape: T) -> (output: dtype)",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {float16, bfloat16, float32, float64}",
    "T: {int32, int64}",
    shape=_shape_input,
    stateful=True,
)
op(
    "RandomStandardNormal(shape: T) -> (output: dtype)",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {float16, bfloat16, float32, float64}",
    "T: {int32, int64}",
    shape=_shape_input,
    stateful=True,
)
op(
    "TruncatedNormal(shape: T) -> (output: dtype)",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {float16, bfloat16, float32, float64}",
    "T: {int32, int64}",
    shape=_shape_input,
    stateful=True,
)
op(
    "RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
    "seed: int = 0",
    "seed2: int = 0",
    "Tout: {int32, int64}",
    "T: {int32, int64}",
    shape=_shape_input,
    stateful=True,
)
op(
    "RandomShuffle(value: T) -> (output: T)",
    "seed: int = 0",
    "seed2: int = 0",
    "T: type",
    shape=unchanged,
    stateful=True,
)
op(
    "Multinomial(logits: T, num_samples: int32) -> (output: output_dtype)",
    "seed: int = 0",
    "seed2: int = 0",
    "T: {realnumber}",
    "output_dtype: {int32, int64} = int64",
    shape=_multinomial,
    stateful=True,
)
op(
    "RandomGamma(shape: S, alpha: T) -> (output: T)",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "T: {float16, float32, float64}",
    shape=_shape_and_rate,
    stateful=True,
)
op(
    "RandomPoissonV2(shape: S, rate: R) -> (output: dtype)",
    "seed: int = 0",
    "seed2: int = 0",
    "S: {int32, int64}",
    "R: {float16, float32, float64, int32, int64} = float64",
    "dtype: {float16, float32, float64, int32, int64} = int64",
    shape=_shape_and_rate,
    stateful=True,
)
op(
    "StatelessRandomUniform(shape: T, seed: Tseed) -> (output: dtype)",
    "dtype: {float16, bfloat16, float32, float64} = float32",
    "T: {int32, int64} = int32",
    "Tseed: {int32, int64} = int64",
    shape=_shape_input,
)
op(
    "StatelessRandomNormal(shape: T, seed: Tseed) -> (output: dtype)",
    "dtype: {float16, bfloat16, float32, float64} = float32",
    "T: {int32, int64} = int32",
    "Tseed: {int32, int64} = int64",
    shape=_shape_input,
)
op(
    "StatelessTruncatedNormal(shape: T, seed: Tseed) -> (output: dtype)",
    "dtype: {float16, bfloat16, float32, float64} = float32",
    "T: {int32, int64} = int32",
    "Tseed: {int32, int64} = int64",
    shape=_shape_input,
)
op(
    "StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)",
    "dtype: {int32, int64}",
    "T: {int32, int64}",
    "Tseed: {int32, int64} = int64",
    shape=_shape_input,
)
op(
    "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)",
    "T: {realnumber}",
    "Tseed: {int32, int64} = int64",
    "output_dtype: {int32, int64} = int64",
    shape=_multinomial,
)
op(
    "StatelessRandomGetKeyCounter(seed: Tseed) -> (key: uint64, counter: uint64)",
    "Tseed: {int32, int64} = int64",
    shape=_key_counter,
)
op(
    "StatelessRandomGetKeyCounterAlg(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)",
    "Tseed: {int32, int64} = int64",
    shape=_key_counter,
)
op("StatelessRandomGetAlg() -> (alg: int32)", shape=scalar, stateful=True)
op(
    "StatelessRandomUniformV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
    "dtype: {float16, bfloat16, float32, float64} = float32",
    "Tshape: {int32, int64} = int32",
    shape=_shape_input,
)
op(
    "StatelessRandomNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
    "dtype: {float16, bfloat16, float32, float64} = float32",
    "Tshape: {int32, int64} = int32",
    shape=_shape_input,
)
op(
    "StatelessTruncatedNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)",
    "dtype: {float16, bfloat16, float32, float64} = float32",
    "Tshape: {int32, int64} = int32",
    shape=_shape_input,
)
op(
    "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, "
    "maxval: dtype) -> (output: dtype)",
    "dtype: {int32, int64, uint32, uint64}",
    "Tshape: {int32, int64} = int32",
    shape=_shape_input,
)


def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the default graph, for random ops made later (`tf.set_random_seed`)."""
    get_default_graph().seed = seed


def shape_tensor(shape: Any) -> Tensor:
    """A shape as an integer vector: int32, unless it is an array or a tensor of another dtype."""
    if isinstance(shape, TensorShape) and shape.is_fully_defined():
        shape = shape.as_list()
    dtype = None
    if isinstance(shape, (list, tuple)):
        shape = [dimension_value(size) for size in shape]
        if all(isinstance(size, int) for size in shape):
            dtype = dtypes.int64 if any(size >= 2**31 for size in shape) else dtypes.int32
    return convert_to_tensor(shape, dtype, "shape")


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniformly distributed numbers in [minval, maxval) (`tf.random_uniform`).

    Args:
        maxval: 1 by default for floating point dtypes; required for integers.
        seed: see `tf.set_random_seed`.

    Raises:
        ValueError: an integer dtype without `maxval`, or a dtype that is not supported.

    Example:
        >>> tf.Session().run(tf.random_uniform([2, 3])).shape
        (2, 3)
    """
    dtype = dtypes.as_dtype(dtype)
    accepted = (
        dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64,
    )  # fmt: skip
    if dtype not in accepted:
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are {accepted!r}.")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with framework.name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        dims = shape_tensor(shape)
        # The default interval needs no arithmetic.
        is_zero = isinstance(minval, (int, float)) and not isinstance(minval, bool) and minval == 0
        is_one = isinstance(maxval, int) and not isinstance(maxval, bool) and maxval == 1
        plain = not dtype.is_integer and isinstance(minval, int) and is_zero and is_one
        if not plain:
            minval = convert_to_tensor(minval, dtype, "min")
            maxval = convert_to_tensor(maxval, dtype, "max")
        first, second = get_seed(seed)
        if dtype.is_integer:
            return apply_one("RandomUniformInt", dims, minval, maxval, seed=first, seed2=second, name=scope)
        random = apply_one("RandomUniform", dims, dtype=dtype, seed=first, seed2=second)
        if plain:
            return random
        span = maxval - minval
        return apply_one("AddV2", random * span, minval, name=scope)


def _scaled_normal(
    op_type: str, default_name: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: Any, name: Any
) -> Tensor:
    with framework.name_scope(name, default_name, [shape, mean, stddev]) as scope:
        dims = shape_tensor(shape)
        mean_tensor = convert_to_tensor(mean, dtype, "mean")
        stddev_tensor = convert_to_tensor(stddev, dtype, "stddev")
        first, second = get_seed(seed)
        random = apply_op(op_type, dims, dtype=dtype, seed=first, seed2=second)
        return apply_one("AddV2", random * stddev_tensor, mean_tensor, name=scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers (`tf.random_normal`).

    Example:
        >>> tf.Session().run(tf.random_normal([2, 3])).shape
        (2, 3)
    """
    return _scaled_normal("RandomStandardNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers within two standard deviations of the mean (`tf.truncated_normal`)."""
    return _scaled_normal("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """`value` with its first dimension in a random order (`tf.random_shuffle`)."""
    first, second = get_seed(seed)
    return apply_one("RandomShuffle", value, seed=first, seed2=second, name=name)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A slice of shape `size` at a random place of `value` (`tf.random_crop`).

    Raises:
        InvalidArgumentError: `size` is larger than `value`; raised in a run if a shape is not static.
    """
    from tensorfleet.ops.array.shaping import shape as shape_of
    from tensorfleet.ops.control_flow.control import with_dependencies
    from tensorfleet.ops.io.logging import Assert
    from tensorfleet.ops.math.reduction import reduce_all

    with framework.name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, "size")
        dims = shape_of(value)
        check = Assert(
            reduce_all(dims >= size), ["Need value.shape >= size, got ", dims, size], summarize=1000
        )
        dims = with_dependencies([check], dims)
        limit = dims - size + 1
        offset = random_uniform(shape_of(dims), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        return apply_one("Slice", value, offset, size, name=scope)


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Gamma distributed numbers (`tf.random_gamma`).

    Args:
        alpha, beta: the distributions' shapes and inverse scales; they broadcast against each other.

    Returns:
        A tensor of shape `shape` + that of alpha and beta.
    """
    from tensorfleet.ops.array.shaping import broadcast_dynamic_shape, broadcast_to, shape as shape_of
    from tensorfleet.ops.math.arithmetic import maximum

    with framework.name_scope(name, "random_gamma", [shape, alpha, beta]):
        dims = convert_to_tensor(shape, dtypes.int32, "shape")
        alpha = convert_to_tensor(alpha, dtype, "alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        alpha = broadcast_to(alpha, broadcast_dynamic_shape(shape_of(alpha), shape_of(beta)))
        first, second = get_seed(seed)
        random = apply_op("RandomGamma", dims, alpha, seed=first, seed2=second)
        return maximum(_tiny(alpha.dtype), random / beta)


def _tiny(dtype: dtypes.DType) -> Any:
    import numpy as np

    return np.finfo(dtype.as_numpy_dtype).tiny


def random_poisson(
    lam: Any, shape: Any, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Poisson distributed numbers of the rates `lam`, [*shape, *lam.shape] (`tf.random_poisson`)."""
    with framework.name_scope(name, "random_poisson", [lam, shape]):
        dims = convert_to_tensor(shape, dtypes.int32, "shape")
        first, second = get_seed(seed)
        return apply_one("RandomPoissonV2", dims, lam, dtype=dtype, seed=first, seed2=second)


def _draw_classes(
    default_name: str, logits: Any, num_samples: Any, dtype: Any, seed: int | None, name: str | None
) -> Tensor:
    with framework.name_scope(name, default_name, [logits]):
        logits = convert_to_tensor(logits, name="logits")
        wanted = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
        first, second = get_seed(seed)
        return apply_one("Multinomial", logits, num_samples, seed=first, seed2=second, output_dtype=wanted)


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Classes drawn by their unnormalized log probabilities (`tf.multinomial`).

    Args:
        logits: [batch, classes].

    Returns:
        [batch, num_samples] of int64, or of `output_dtype`.
    """
    return _draw_classes("multinomial", logits, num_samples, output_dtype, seed, name)


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """`tf.multinomial` under its newer name (`tf.random.categorical`)."""
    return _draw_classes("categorical", logits, num_samples, dtype, seed, name)
